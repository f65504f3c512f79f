"""Captured conversations, held again: the mock must answer each as the real server of the release did."""

from harness.captures import MpTranscript
from harness.case import MOCK, case, mp_transcripts
from harness.failure import MockDriftFailure
from harness.judge import Judge
from harness.mp.conversation import replayed
from wire.release import Release

CITES = tuple(f"MP-SRV-{number:03d}" for number in range(1, 8))


@case(*CITES, targets=MOCK, releases="0.3.10 and later", variants=mp_transcripts, judges="server")
def test_replay(judge: Judge, release: Release, vector: MpTranscript) -> None:
    """A server answers a captured conversation frame for frame, and is silent, goes on or dies where the real one did."""
    difference = replayed(release, vector)
    if difference is not None:
        judge.fail(f"{vector.title} {difference}", kind=MockDriftFailure, source=vector)
