"""Captured conversations with a server under test: what the real one answered is demanded, what ended it is not."""

from harness.captures import MpTranscript
from harness.case import SERVERS, Variant, Variants, case, mp_transcripts
from harness.failure import UnsupportedByClient
from harness.judge import Judge
from harness.mp.held_again import LeftOut, hold
from harness.mp.manners import Kind, kind_of
from harness.mp.subjects import restart_if_ours
from harness.mp.targets import MpTarget
from harness.mp.witness import Witness, judged
from wire.release import Release

ANY = "0.3.10 and later"
ANSWERED = (
    *("SRV-MP-003", "SRV-MP-001", "SRV-MP-002", "SRV-MP-005", "SRV-MP-006", "SRV-MP-007", "SRV-MP-008", "SRV-MP-009"),
    *("SRV-MP-010", "SRV-MP-012", "SRV-MP-015", "SRV-MP-018"),
)


def of_kind(kind: Kind, *, pickles: bool | None = None) -> Variants:
    """Variants: the conversations of a kind, over pickles or over anything else."""

    def chosen(release: Release) -> list[Variant]:
        return [
            variant
            for variant in mp_transcripts(release)
            if kind_of(release, variant.value) == kind and pickles in {None, variant.value.setting == "pickle"}
        ]

    return chosen


@case(
    *ANSWERED,
    releases=ANY,
    targets=SERVERS,
    variants=of_kind("answered", pickles=False),
    judges="server",
    runs=("server",),
)
def test_answered(judge: Judge, release: Release, mp_server: MpTarget, vector: MpTranscript) -> None:
    """A server answers the requests of a captured conversation with what the real server of the release answered."""
    held(judge, release, mp_server, vector)


@case(
    *ANSWERED,
    "SRV-MP-019",
    releases="0.4.6 and later",
    targets=SERVERS,
    variants=of_kind("answered", pickles=True),
    judges="server",
    runs=("server",),
)
def test_answered_over_pickles(judge: Judge, release: Release, mp_pickle_server: MpTarget, vector: MpTranscript) -> None:
    """The same where chunks travel inside the messages."""
    held(judge, release, mp_pickle_server, vector)


@case(
    "SRV-MP-020",
    "SRV-MP-003",
    releases=ANY,
    targets=SERVERS,
    variants=of_kind("dropped", pickles=False),
    judges="server",
    runs=("server",),
)
def test_dropped(judge: Judge, release: Release, mp_server: MpTarget, vector: MpTranscript) -> None:
    """A message that is no request of the release, and that its real server passes over, is not answered, and others are."""
    with Witness(judge, release, mp_server) as witness:
        held(judge, release, mp_server, vector, clear=False)
        witness.served("a message that is no request", "SRV-MP-020")


def held(judge: Judge, release: Release, server: MpTarget, transcript: MpTranscript, *, clear: bool = True) -> None:
    """Hold a conversation; one that this server cannot hold is unsupported."""
    with judged(judge, doing=transcript.title.rstrip(".")):
        try:
            hold(release, server, transcript, restart_if_ours(server), clear=clear)
        except LeftOut as why:
            raise UnsupportedByClient(None, str(why)) from None
