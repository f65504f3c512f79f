"""Many connections at once: whole values, the last writer, order on each connection, and nothing left behind."""

import bisect
import contextlib
import threading
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from harness.answered import answered
from harness.case import SERVERS, case
from harness.judge import Judge
from harness.leaks import blame, room_for, server_leaves_nothing
from harness.peers import Key, Peer, at_once, await_bytes
from harness.stamped import Stamp, TornError, read_stamp
from harness.targets import Server
from harness.values import Keys
from wire.release import Release

SIZES = (24, 1 << 10, 30_000, 1 << 16)
"""Bytes of stamped values: from the smallest to more than a segment of loopback carries."""
LONGER = 16 << 20
"""More than the buffers of a connection hold."""
CROWD = 256
BOTH: Final = ("client", "server")
"""The mock is held to these by runs of clients as well."""
CHURN = 500


@case("SRV-LM-009", "LM-SRV-004", "LM-SRV-016", targets=SERVERS, judges="server", runs=BOTH)
def test_whole_values(judge: Judge, server: Server, release: Release, keys: Keys, leeway: int) -> None:
    """While several peers overwrite one key, whoever reads it gets one whole value, and never an older one of the same writer."""
    key, writers, count = keys(), 4, 20
    running = threading.Event()
    running.set()

    def write(writer: int) -> None:
        with Peer(release, server) as peer:
            for sequence in range(count):
                peer.put(key, Stamp(1, writer, sequence).payload(SIZES[(writer + sequence) % len(SIZES)]))
            peer.exist(key)

    def read() -> None:
        newest: dict[int, int] = {}
        with Peer(release, server) as peer:
            while running.is_set():
                stamp = _whole(judge, server, peer.get(key))
                judge.holds(
                    stamp.sequence >= newest.get(stamp.writer, 0),
                    f"{stamp} was read after value {newest.get(stamp.writer)} of that writer",
                    kind=blame(server),
                )
                newest[stamp.writer] = stamp.sequence

    def write_all() -> None:
        try:
            at_once([partial(write, writer) for writer in range(writers)])
        finally:
            running.clear()

    with answered(judge, server), server_leaves_nothing(judge, server, allowed=leeway):
        with Peer(release, server) as first:
            first.put(key, Stamp(1, 0, 0).payload(SIZES[0]))
            first.exist(key)
        at_once([write_all, read, read])
        found = {_whole(judge, server, _get(release, server, key)) for _ in range(3)}
        judge.holds(
            found < {Stamp(1, writer, count - 1) for writer in range(writers)} and len(found) == 1,
            f"after all writers were done readers got {', '.join(map(str, sorted(found)))}: not the one last value of a writer",
            kind=blame(server),
        )


@case("SRV-LM-009", "LM-SRV-016", targets=SERVERS, judges="server", runs=BOTH)
def test_old_value_until_the_last_byte(judge: Judge, server: Server, release: Release, keys: Keys, leeway: int) -> None:
    """A value that is being stored is not there before its last byte: the older one is, or none."""
    (key, fresh), old, new = keys.several(2), Stamp(1, 1, 1).payload(3000), Stamp(1, 2, 1).payload(90_000)
    with (
        answered(judge, server),
        server_leaves_nothing(judge, server, allowed=leeway),
        _peers(release, server, 4) as (one, two, reader, late),
    ):
        reader.put(key, old)
        reader.exist(key)
        frames = [peer.frame("PUT", name, new) for peer, name in ((one, key), (two, fresh))]
        sent = 0
        for cut in (one.header_size, one.header_size + 50_000, len(frames[0]) - 1):
            for peer, frame in zip((one, two), frames, strict=True):
                peer.send(frame[sent:cut])
            sent = cut
            await_bytes(release, server, key, cut)
            await_bytes(release, server, fresh, cut)
            for peer in (reader, late):
                _same(judge, server, old, peer.get(key), f"a value while {cut} bytes of the PUT that replaces it were there")
                judge.holds(
                    not peer.exist(fresh) and peer.get(fresh) is None,
                    f"a key was there when {cut} of {len(frames[1])} bytes of its first PUT were",
                    kind=blame(server),
                )
        for peer, frame, name in zip((one, two), frames, (key, fresh), strict=True):
            peer.send(frame[sent:])
            peer.exist(name)
            _same(judge, server, new, reader.get(name), "a value after the last byte of its PUT")


@case("SRV-LM-003", "SRV-LM-009", targets=SERVERS, judges="server", runs=("server",), once_for="frames")
def test_values_under_way_stay_whole(judge: Judge, server: Server, release: Release, keys: Keys) -> None:
    """A value that is replaced by one of the same length, while a slow reader has a part of it, reaches that reader as it was."""
    key, old, new = keys(), Stamp(1, 1, 1).payload(LONGER), Stamp(1, 2, 1).payload(LONGER)
    with answered(judge, server), _peers(release, server, 2) as (reader, writer):
        writer.put(key, old)
        judge.holds(writer.exist(key), f"a value of {LONGER >> 20} MiB was not stored", kind=blame(server))
        reader.send(reader.frame("GET", key))
        reader.header()
        begin = reader.take(SIZES[0])
        writer.put(key, new)
        _same(judge, server, new, writer.get(key), "the value that replaced one which was being read")
        got = begin + reader.take(LONGER - len(begin))
        if got != old:
            place = bisect.bisect(range(1, LONGER + 1), 0, key=lambda size: got[:size] != old[:size])
            judge.fail(
                f"a value of {LONGER >> 20} MiB was replaced while it was being read: its reader got other bytes from {place} on",
                kind=blame(server),
            )
        writer.put(key, b"")
        writer.exist(key)


@case("SRV-LM-020", "SRV-LM-009", "LM-SRV-016", "LM-SRV-017", targets=SERVERS, judges="server", runs=BOTH)
def test_last_to_end_wins(judge: Judge, server: Server, release: Release, keys: Keys, leeway: int) -> None:
    """A PUT that stalls holds up no other PUT of the same key; of the two, the one that ends last is the value."""
    key, slow, fast = keys(), Stamp(1, 1, 1).payload(50_000), Stamp(1, 2, 1).payload(700)
    with (
        answered(judge, server),
        server_leaves_nothing(judge, server, allowed=leeway),
        _peers(release, server, 3) as (one, two, reader),
    ):
        frame = one.frame("PUT", key, slow)
        one.send(frame[:20_000])
        await_bytes(release, server, key, 20_000)
        two.put(key, fast)
        judge.holds(two.exist(key), "a PUT was not stored while another of the same key stalled", kind=blame(server))
        _same(judge, server, fast, reader.get(key), "the value of the PUT that did not stall")
        one.send(frame[20_000:])
        one.exist(key)
        _same(judge, server, slow, reader.get(key), "the value of the PUT that ended last")


@case("SRV-LM-008", "LM-SRV-011", "LM-SRV-004", targets=SERVERS, judges="server", runs=BOTH)
def test_pipelined(judge: Judge, server: Server, release: Release, keys: Keys, leeway: int) -> None:
    """Requests that are sent all at once, PUTs among them, are answered in order, each from what those before it left."""
    names = keys.several(4)
    sizes = (24, 5000, 70_000, 300)
    with answered(judge, server), server_leaves_nothing(judge, server, allowed=leeway), Peer(release, server) as peer:
        parts: list[bytes] = []
        expected: list[tuple[str, bytes | bool | None]] = []
        values: dict[int, bytes] = {}
        for step in range(60):
            which = step * 7 % 4
            if step % 5 in {0, 3}:
                values[which] = Stamp(which, 0, step).payload(sizes[(which + step) % 4])
                parts.append(peer.frame("PUT", names[which], values[which]))
            elif step % 5 == 1:
                parts.append(peer.frame("GET", names[which]))
                expected.append((f"request {step + 1}, GET", values.get(which)))
            elif step % 5 == 2:
                parts.append(peer.frame("EXIST", names[which]))
                expected.append((f"request {step + 1}, EXIST", which in values))
            else:
                parts.append(peer.frame("HEALTH", names[which]))
                expected.append((f"request {step + 1}, HEALTH", True))
        sending = threading.Thread(target=peer.send, args=(b"".join(parts),), daemon=True)
        sending.start()
        for what, value in expected:
            if isinstance(value, bool):
                judge.holds(peer.yes() is value, f"{what} of a pipeline was not answered {value}", kind=blame(server))
            else:
                _same(judge, server, value, peer.value(), f"the reply to {what} of a pipeline")
        sending.join()


@case("SRV-LM-020", "LM-SRV-017", targets=SERVERS, judges="server", runs=BOTH, once_for="frames")
def test_slow_peers_hold_up_nobody(judge: Judge, server: Server, release: Release, keys: Keys, leeway: int) -> None:
    """Peers that stop inside a header, inside a payload or without reading a long value hold up no other."""
    big, own, other = keys.several(3)
    value = bytes(12 << 20)
    with answered(judge, server), server_leaves_nothing(judge, server, allowed=leeway), _peers(release, server, 8) as peers:
        *slow, deaf, fast = peers
        fast.put(big, value)
        fast.exist(big)
        for peer, cut in zip(slow, (1, 40, peer_header := fast.header_size, peer_header + 1, 5000, 5000), strict=True):
            peer.send(peer.frame("PUT", own, Stamp(1, 1, 1).payload(9000))[:cut])
        deaf.send(deaf.frame("GET", big))
        for sequence in range(10):
            payload = Stamp(1, 2, sequence).payload(1000)
            fast.put(other, payload)
            _same(judge, server, payload, fast.get(other), "a value while other peers were slow")
            judge.holds(not fast.exist(own), "a key was there before its PUT was", kind=blame(server))


@case("SRV-LM-020", "LM-SRV-017", targets=SERVERS, judges="server", runs=BOTH, once_for="frames")
def test_crowd(judge: Judge, server: Server, release: Release, keys: Keys, leeway: int) -> None:
    """256 connections at once have each their own traffic, and see what the others stored."""
    names = keys.several(CROWD)
    values = [Stamp(number, number, 0).payload(64 + number) for number in range(CROWD)]
    room_for(2 * CROWD + 32)
    with answered(judge, server), server_leaves_nothing(judge, server, allowed=leeway), contextlib.ExitStack() as stack:
        peers: list[Peer] = []
        for name in names:
            peers.append(stack.enter_context(Peer(release, server)))
            # Answered means accepted: more connections than the backlog holds would be slow, and are no matter of this case.
            judge.holds(peers[-1].health(name), f"HEALTH failed on connection {len(peers)}", kind=blame(server))
        for peer, name, value in zip(peers, names, values, strict=True):
            peer.put(name, value)
        for peer, name in zip(peers, names, strict=True):
            judge.holds(peer.exist(name), "what a connection stored was not there for it", kind=blame(server))
        for number, peer in enumerate(peers):
            peer.send(peer.frame("GET", names[number]) + peer.frame("GET", names[number - 1]))
        for number, peer in enumerate(peers):
            for which in (number, number - 1):
                _same(judge, server, values[which], peer.value(), f"a value over connection {number + 1} of {CROWD}")


@case("SRV-LM-023", "LM-SRV-017", targets=SERVERS, judges="server", runs=BOTH, once_for="frames")
def test_churn(judge: Judge, server: Server, release: Release, keys: Keys, leeway: int) -> None:
    """500 connections that come and go, tidily or not, leave neither descriptors nor threads in the server."""
    key = keys()
    with answered(judge, server), server_leaves_nothing(judge, server, allowed=leeway):
        with Peer(release, server) as first:
            first.put(key, Stamp(1, 0, 0).payload(500))
            first.exist(key)
        for number in range(CHURN):
            with Peer(release, server) as peer:
                judge.holds(peer.exist(key), f"EXIST failed on connection {number + 1}", kind=blame(server))
                if number % 5 == 1:
                    peer.send(peer.frame("EXIST", key)[:30])
                elif number % 5 == 2:
                    peer.send(peer.frame("GET", key))
                elif number % 5 == 3:
                    peer.send(peer.frame("PUT", keys(hash=0xCD), bytes(500))[:300])
        judge.holds(_get(release, server, key) is not None, "the value was gone in the end", kind=blame(server))


def _get(release: Release, server: Server, key: Key) -> bytes | None:
    with Peer(release, server) as peer:
        return peer.get(key)


def _whole(judge: Judge, server: Server, payload: bytes | None) -> Stamp:
    """Which value a payload is."""
    if payload is None:
        judge.fail("a key that was stored is a miss", kind=blame(server))
    try:
        return read_stamp(payload)
    except TornError as error:
        judge.fail(f"a value is not whole: {error}", kind=blame(server))


def _same(judge: Judge, server: Server, expected: bytes | None, got: bytes | None, what: str) -> None:
    def words(value: bytes | None) -> str:
        if value is None:
            return "a miss"
        try:
            return f"{read_stamp(value)}, {len(value)} bytes"
        except TornError as error:
            return str(error)

    if expected != got:
        judge.fail(f"{what} was {words(got)}; expected {words(expected)}", kind=blame(server))


@contextlib.contextmanager
def _peers(release: Release, server: Server, count: int) -> Iterator[Sequence[Peer]]:
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(Peer(release, server)) for _ in range(count)]
