"""Captured conversations, played again: a server must answer each as the real server of the release did."""

from harness.captures import Corpus, Transcript, replay
from harness.case import SERVERS, case, transcripts
from harness.failure import LiveServerFailure, MockDriftFailure
from harness.judge import Judge
from harness.targets import Server

CITES = tuple(f"LM-SRV-{number:03d}" for number in range(1, 16))


@case(*CITES, targets=SERVERS, variants=transcripts, judges="server")
def test_replay(judge: Judge, server: Server, vector: Transcript, corpus: Corpus) -> None:
    """A server gives the captured answers to a captured conversation, byte for byte."""
    for difference in replay(server.host, server.port, vector, corpus):
        judge.fail(
            f"{vector.title} {difference}",
            kind=LiveServerFailure if server.mock is None else MockDriftFailure,
            source=vector,
            expected=dict(difference.expected),
            got=dict(difference.got),
        )
