"""The port of a server: whatever comes in that is no conversation of ZeroMQ, others are served as before."""

import contextlib
import socket
import time
from collections.abc import Callable

from harness.case import SERVERS, Variant, Variants, case
from harness.judge import Judge
from harness.leaks import room_for
from harness.mp.peer import MpPeer
from harness.mp.targets import MpTarget
from harness.mp.vandals import ACTS, WAIT, Act, Vandal, frame, greeting, message, ready
from harness.mp.witness import Witness, judged
from wire.mp.operations import OperationTable
from wire.release import Release

ANY = "0.3.10 and later"
READ = 0.5
"""Seconds in which a server has read a message that nobody answers: others are served until it has."""


def acts(cite: str) -> Variants:
    """Variants: the acts of which a requirement speaks."""
    found = [Variant(name, act) for name, act in ACTS.items() if act.cite == cite]
    return lambda _: found


@case("SRV-MP-021", releases=ANY, targets=SERVERS, variants=acts("SRV-MP-021"), judges="server", runs=("server",))
def test_vandals(judge: Judge, release: Release, mp_server: MpTarget, mp_table: OperationTable, vector: Act) -> None:
    """While somebody does that to the port, and after they left, old and new connections are served."""
    vandalised(judge, release, mp_server, mp_table, vector)


def vandalised(judge: Judge, release: Release, server: MpTarget, table: OperationTable, act: Act) -> None:
    """Let somebody do that to the port, and see whether others are served."""
    room_for(2000)
    with Witness(judge, release, server) as witness:
        with contextlib.ExitStack() as stack:
            try:
                act.do(Vandal(server, table, stack))
            except OSError as error:
                judge.fail(f"the server took no connection for {act.words}: {error}", cite=act.cite)
            if act.cite != "SRV-MP-021":
                time.sleep(READ)
            witness.served(act.words, act.cite)
        witness.served(f"{act.words}, and the end of it,", act.cite)


@case("SRV-MP-003", releases=ANY, targets=SERVERS, judges="server", runs=("server",))
def test_byte_by_byte(judge: Judge, release: Release, mp_server: MpTarget, mp_table: OperationTable) -> None:
    """A client whose greeting, handshake and request come one byte at a time is answered like any other."""
    with contextlib.ExitStack() as stack:
        vandal = Vandal(mp_server, mp_table, stack)
        opened = vandal.open()
        for byte in greeting() + ready() + message([b"\x05", vandal.noop]):
            vandal.send(bytes([byte]), opened)
            time.sleep(0.0005)
        expected = frame(b"\xa2OK")
        judge.holds(
            _comes(opened, lambda got: got.endswith(expected)),
            "a NOOP that came byte by byte was not answered",
            cite="SRV-MP-003",
        )


def _comes(opened: socket.socket, there: Callable[[bytes], bool]) -> bool:
    """Whether bytes come that fulfil a condition."""
    got = b""
    until = time.monotonic() + 2 * WAIT
    with contextlib.suppress(OSError):
        while not there(got) and time.monotonic() < until:
            more = opened.recv(4096)
            if not more:
                break
            got += more
    return there(got)


@case("SRV-MP-021", "SRV-MP-001", releases=ANY, targets=SERVERS, judges="server", runs=("server",))
def test_same_routing_id(judge: Judge, release: Release, mp_server: MpTarget) -> None:
    """A second connection with the routing id of one that stands takes nothing from it."""
    with judged(judge, "SRV-MP-021"), MpPeer(release, mp_server, routing_id=b"engine-7") as first:
        first.noop()
        with MpPeer(release, mp_server, routing_id=b"engine-7") as second:
            second.settle(0.3)
            first.noop()
        first.noop()
        first.chunk_size()
