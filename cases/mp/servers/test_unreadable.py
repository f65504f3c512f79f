"""Messages that are no requests, and requests that ask for too much: others are served as before."""

import contextlib

from harness.case import SERVERS, Variant, case
from harness.judge import Judge
from harness.mp.benches import Bench
from harness.mp.messages import DEMANDS, MESSAGES, Demand, Message
from harness.mp.peer import MpPeer, MpPeerFailed
from harness.mp.subjects import left_behind, restart_if_ours
from harness.mp.targets import MpTarget
from harness.mp.witness import Witness, judged
from wire.mp.operations import OperationTable
from wire.release import Release

ANY = "0.3.10 and later"
KEPT = 64 << 20
"""Bytes that a server may hold more than before, once a message of 100 MiB was refused."""


def messages(_: Release) -> list[Variant]:
    """Variants: the messages."""
    return [Variant(name, message) for name, message in MESSAGES.items()]


def demands(_: Release) -> list[Variant]:
    """Variants: the requests that ask for too much."""
    return [Variant(name, demand) for name, demand in DEMANDS.items()]


@case(
    "SRV-MP-101", "SRV-MP-104", "SRV-MP-020", releases=ANY, targets=SERVERS, variants=messages, judges="server", runs=("server",)
)
def test_messages(judge: Judge, release: Release, mp_server: MpTarget, mp_table: OperationTable, vector: Message) -> None:
    """A message that is no request of any release ends nothing for others, and nothing of it is kept."""
    with Witness(judge, release, mp_server) as witness, left_behind(judge, mp_server, KEPT, vector.words, "SRV-MP-104"):
        with judged(judge, vector.cite), MpPeer(release, mp_server) as peer, contextlib.suppress(MpPeerFailed):
            peer.raw(*vector.frames(mp_table))
            peer.settle()
        witness.served(vector.words, vector.cite)


@case("SRV-MP-106", releases="0.4.6 and later", targets=SERVERS, variants=demands, judges="server", runs=("server",))
def test_demands(judge: Judge, release: Release, mp_server: MpTarget, vector: Demand) -> None:
    """While a request that asks for far too much is under way, and afterwards, others are served."""
    answered = False
    try:
        with Witness(judge, release, mp_server) as witness, Bench(judge, release, mp_server) as bench:
            operation, payloads = vector.ask(bench)
            uid = bench.peer.send(operation, *payloads)
            witness.served(vector.words, "SRV-MP-106")
            answered = bench.peer.reply(uid, patience=1.0) is not None
            with judged(judge, "SRV-MP-106", f"after {vector.words} its own connection"):
                bench.peer.noop()
            witness.served(f"{vector.words}, a while later,", "SRV-MP-106")
    finally:
        restart = restart_if_ours(mp_server)
        if not answered and restart is not None and mp_server.mock is None:
            restart()  # it may be at it still, and fill the memory of the machine
