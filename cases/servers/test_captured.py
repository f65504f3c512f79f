"""Captured conversations held with a server that need not be the real one: good requests must be answered as they were."""

from harness.captures import Corpus, Transcript
from harness.case import SERVERS, case
from harness.conversations import MUST, SHOULD, demanded, hold, requirement_of, understood
from harness.judge import Judge
from harness.leaks import blame
from harness.targets import Server
from harness.values import Keys
from wire.release import Release


@case(*MUST, targets=SERVERS, judges="server", runs=("server",), variants=demanded)
def test_demanded(judge: Judge, server: Server, release: Release, keys: Keys, vector: Transcript, corpus: Corpus) -> None:
    """Requests that the release can write get the captured answers, byte for byte, and leave the connection in step."""
    _hold(judge, server, release, keys, vector, corpus)


@case(*SHOULD, targets=SERVERS, judges="server", runs=("server",), variants=understood)
def test_understood(judge: Judge, server: Server, release: Release, keys: Keys, vector: Transcript, corpus: Corpus) -> None:
    """Other spellings of a key, a dtype of 1 and a connection closed on one side are taken as the real server takes them."""
    _hold(judge, server, release, keys, vector, corpus)


def _hold(judge: Judge, server: Server, release: Release, keys: Keys, vector: Transcript, corpus: Corpus) -> None:
    for difference in hold(release, server.host, server.port, vector, corpus, keys.model):
        judge.fail(
            f"{vector.title} {difference}",
            cite=requirement_of(release, vector),
            kind=blame(server),
            source=vector,
            expected=dict(difference.expected),
            got=dict(difference.got),
        )
