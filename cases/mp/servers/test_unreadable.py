"""Requests that ask for too much, and messages that are none: others are served as before. What ends real servers comes last."""

import contextlib

from cases.mp.servers.test_conversations import of_kind
from cases.mp.servers.test_transport import acts, vandalised
from harness.captures import MpTranscript
from harness.case import SERVERS, Variant, Variants, case
from harness.judge import Judge
from harness.mp.benches import Bench
from harness.mp.exchanges import MpPeerFailed
from harness.mp.messages import DEMANDS, MESSAGES, Demand, Message
from harness.mp.peer import MpPeer
from harness.mp.subjects import left_behind, restart_if_ours
from harness.mp.targets import MpTarget
from harness.mp.vandals import Act
from harness.mp.witness import Witness, judged
from wire.mp.operations import OperationTable
from wire.release import Release

ANY = "0.3.10 and later"
KEPT = 64 << 20
"""Bytes that a server may hold more than before, once a message of 100 MiB was refused."""


def messages(*cites: str) -> Variants:
    """Variants: the messages of which a requirement speaks."""
    found = [Variant(name, message) for name, message in MESSAGES.items() if message.cite in cites]
    return lambda _: found


def demands(_: Release) -> list[Variant]:
    """Variants: the requests that ask for too much."""
    return [Variant(name, demand) for name, demand in DEMANDS.items()]


@case(
    "SRV-MP-106",
    releases="0.4.6 and later",
    targets=SERVERS,
    variants=demands,
    judges="server",
    runs=("server",),
    ends_servers=True,
)
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


@case(
    "SRV-MP-020",
    "SRV-MP-104",
    releases=ANY,
    targets=SERVERS,
    variants=messages("SRV-MP-020", "SRV-MP-104"),
    judges="server",
    runs=("server",),
)
def test_oversized(judge: Judge, release: Release, mp_server: MpTarget, mp_table: OperationTable, vector: Message) -> None:
    """A request that is far too large, or has payloads that nobody can read, costs others nothing, and nothing of it is kept."""
    sent_and_served(judge, release, mp_server, mp_table, vector)


@case(
    "SRV-MP-101", releases=ANY, targets=SERVERS, variants=of_kind("deadly"), judges="server", runs=("server",), ends_servers=True
)
def test_captured(judge: Judge, release: Release, mp_server: MpTarget, vector: MpTranscript) -> None:
    """After a message that was seen to end the message thread of the real server, everybody else is served."""
    with Witness(judge, release, mp_server) as witness, judged(judge, "SRV-MP-101"), MpPeer(release, mp_server) as peer:
        sent = [step.values["frames"] for step in vector.steps if step.do == "send"]
        peer.raw(*(bytes.fromhex(frame) for frame in sent[0]))
        peer.settle()
        witness.served(f"{vector.title[0].lower()}{vector.title[1:].rstrip('.')}", "SRV-MP-101")


@case(
    "SRV-MP-101",
    "SRV-MP-104",
    releases=ANY,
    targets=SERVERS,
    variants=messages("SRV-MP-101"),
    judges="server",
    runs=("server",),
    ends_servers=True,
)
def test_messages(judge: Judge, release: Release, mp_server: MpTarget, mp_table: OperationTable, vector: Message) -> None:
    """A message that is no request of any release ends nothing for others, and nothing of it is kept."""
    sent_and_served(judge, release, mp_server, mp_table, vector)


@case(
    "SRV-MP-101", releases=ANY, targets=SERVERS, variants=acts("SRV-MP-101"), judges="server", runs=("server",), ends_servers=True
)
def test_bytes(judge: Judge, release: Release, mp_server: MpTarget, mp_table: OperationTable, vector: Act) -> None:
    """Bytes that are no ZeroMQ, and of which ZeroMQ makes messages all the same, end nothing for others."""
    vandalised(judge, release, mp_server, mp_table, vector)


def sent_and_served(judge: Judge, release: Release, server: MpTarget, table: OperationTable, message: Message) -> None:
    """Send a message over a connection of its own, and see whether others are served."""
    with Witness(judge, release, server) as witness, left_behind(judge, server, KEPT, message.words, "SRV-MP-104"):
        with judged(judge, message.cite), MpPeer(release, server) as peer, contextlib.suppress(MpPeerFailed):
            peer.raw(*message.frames(table))
            peer.settle()
        witness.served(message.words, message.cite)
