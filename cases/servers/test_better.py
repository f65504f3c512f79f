"""What a good server does better than the real one: it answers LIST, bounds its memory and its waits, and answers promptly."""

from __future__ import annotations

import contextlib
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Final

from harness.answered import answered
from harness.case import SERVERS, case
from harness.failure import UnsupportedByClient
from harness.hostile.acts import HUGE
from harness.hostile.attack import Attack, attack
from harness.judge import Judge
from harness.leaks import blame, local_process
from harness.listing import reply_to_list
from harness.memory import resident
from harness.peers import Peer
from harness.reference.values import key_from_json
from harness.stamped import Stamp
from harness.targets import Server
from harness.values import Keys
from wire.keys import format_key
from wire.release import Release

STALLED: Final = 20.0
PAUSE: Final = 3.0
MIB: Final = 1 << 20
LOOK_EVERY: Final = 0.25
STEADY: Final = 4 * MIB
"""What memory may change by from one look to the next while it stays what it is."""
SETTLES_IN: Final = 5.0
"""Seconds that it may take to become so."""
PROMPT: Final = 0.02
"""Seconds for a small GET: half of what one delayed acknowledgement takes, many times what it takes without."""


@case("SRV-LM-042", targets=SERVERS, judges="server", runs=("server",))
def test_list(judge: Judge, server: Server, release: Release, keys: Keys) -> None:
    """A LIST brings the key strings, one to a line, or the code 400."""
    names = keys.several(3)
    with answered(judge, server), Peer(release, server) as peer:
        for key in names:
            peer.put(key, b"value")
        found = reply_to_list(peer, names[0])
        if found is None:
            judge.fail("LIST is not answered", kind=blame(server))
        reply, payload = found
        texts = {format_key(release, key_from_json(key)) for key in names}
        missing = sorted(texts - set(payload.decode(errors="replace").split("\n"))) if reply.code == "SUCCESS" else []
        judge.holds(not missing, f"LIST does not name {', '.join(missing)}", kind=blame(server))


@case("SRV-LM-048", targets=SERVERS, judges="server", runs=("server",), once_for="frames")
def test_prompt(judge: Judge, server: Server, release: Release, keys: Keys) -> None:
    """A small value is there within milliseconds, also for a client that acknowledges as systems do by default."""
    key, seconds = keys(), []
    with answered(judge, server), Peer(release, server, quick=False) as peer:
        peer.put(key, bytes(500))
        for _ in range(60):
            began = time.monotonic()
            peer.get(key)
            seconds.append(time.monotonic() - began)
    middle = statistics.median(seconds[30:])
    judge.holds(middle < PROMPT, f"a GET of 500 bytes took {middle * 1000:.0f} ms in the middle", kind=blame(server))


@case("SRV-LM-045", targets=SERVERS, judges="server", runs=("server",), once_for="frames")
def test_claims_cost_nothing(judge: Judge, server: Server, release: Release, keys: Keys) -> None:
    """Eight PUTs that claim two gigabytes each and send a thousand bytes take no memory."""
    when = "while eight PUTs claimed 2 GiB each and sent next to nothing"
    with (
        answered(judge, server),
        attack(release, server, keys) as under_way,
        _grows_by_less(judge, server, 64 * MIB, when),
    ):
        for key in under_way.targets * 4:
            under_way.peer().try_to_send(under_way.header("PUT", key, length=HUGE) + bytes(1000), within=1.0)


@case("SRV-LM-046", targets=SERVERS, judges="server", runs=("server",), once_for="frames")
def test_deaf_readers_cost_little(judge: Judge, server: Server, release: Release, keys: Keys) -> None:
    """A peer that asks 40 times for a value of 12 MiB and reads nothing takes no more than a few of them."""
    with answered(judge, server), attack(release, server, keys) as under_way:
        request = under_way.header("GET", under_way.big)
        with _grows_by_less(judge, server, 160 * MIB, "while a peer did not read the replies to 40 GETs of 12 MiB"):
            under_way.peer().try_to_send(request * 40, within=1.0)


@case("SRV-LM-047", targets=SERVERS, judges="server", runs=("server",), once_for="frames")
def test_replaced_values_leave(judge: Judge, server: Server, release: Release, keys: Keys) -> None:
    """A value of 16 MiB that is stored 24 times takes the memory of a few of them at most."""
    key, value = keys(), bytes(16 * MIB)
    with answered(judge, server), Peer(release, server) as peer:

        def replace(times: int) -> None:
            for _ in range(times):
                peer.put(key, value)
            peer.exist(key)

        replace(1)
        grown = _growth(server)
        replace(24)
        first = grown()
        if first >= 128 * MIB:
            # What a collector of garbage has not come to yet is as much as it allows itself, and does not become more and more.
            replace(24)
            now = grown()
            judge.holds(
                now < min(first + 64 * MIB, 256 * MIB),
                f"after a value of 16 MiB was replaced 24 times, the server held {first / MIB:.0f} MiB more than before, "
                f"and after 24 times more {now / MIB:.0f} MiB",
                kind=blame(server),
            )
        peer.put(key, b"")
        peer.exist(key)


@case("SRV-LM-044", "SRV-LM-022", "SRV-LM-026", targets=SERVERS, judges="server", runs=("server",), once_for="frames")
def test_stalls(judge: Judge, server: Server, release: Release, keys: Keys) -> None:
    """Who stops in the middle of a request is let go in the end, who only pauses is served, and who is idle stays connected."""
    payload = Stamp(1, 1, 1).payload(9000)
    with answered(judge, server), attack(release, server, keys) as under_way:
        idle, slow_header, slow_payload = under_way.peers(3)
        idle.health(under_way.older)
        frame = slow_header.frame("PUT", under_way.fresh, payload)
        stalled = _stalled(under_way, frame)
        slow_header.send(frame[:90])
        slow_payload.send(frame[:5000])
        began = time.monotonic()
        time.sleep(PAUSE)
        with answered(judge, server, what=f"a request paused for {PAUSE:g} s", cite="SRV-LM-026"):
            for peer, cut in ((slow_header, 90), (slow_payload, 5000)):
                peer.send(frame[cut:])
                judge.holds(
                    peer.get(under_way.fresh) == payload,
                    f"a PUT that paused for {PAUSE:g} s behind {cut} bytes was not stored",
                    cite="SRV-LM-026",
                    kind=blame(server),
                )
        still_open = []
        for where, peer in stalled.items():
            _, is_over = peer.rest(within=max(0.01, began + STALLED - time.monotonic()))
            still_open += [] if is_over else [where]
        with answered(judge, server, what="a connection was idle", cite="SRV-LM-022"):
            judge.holds(idle.exist(under_way.older), "an idle connection is out of step", cite="SRV-LM-022", kind=blame(server))
        judge.holds(
            not still_open,
            f"{STALLED:g} s after the last byte connections were still open that had stopped {', '.join(still_open)}",
            cite="SRV-LM-044",
            kind=blame(server),
        )


def _stalled(under_way: Attack, frame: bytes) -> dict[str, Peer]:
    """Connections that have stopped somewhere, by where."""
    found = {"inside a header": 90, "behind a header": len(under_way.header("PUT", under_way.fresh)), "inside a payload": 5000}
    stalled = {where: under_way.peer() for where in found}
    for where, peer in stalled.items():
        peer.send(frame[: found[where]])
    return stalled


@contextlib.contextmanager
def _grows_by_less(judge: Judge, server: Server, limit: int, when: str) -> Iterator[None]:
    """What the server holds in memory when the block is done, and some time later, is less than so many bytes more than before.

    Raises:
        UnsupportedByClient: nobody here can see how much that is.
    """
    grown = _growth(server)
    yield
    now = grown()
    judge.holds(now < limit, f"{when}, the server held {now / MIB:.0f} MiB more than before", kind=blame(server))


def _growth(server: Server) -> Callable[[], int]:
    """Tells how much more a server holds than now, when that does not change much any more.

    Raises:
        UnsupportedByClient: nobody here can see how much that is.
    """
    process = local_process(server)
    if process is None or not (before := resident(process)):
        raise UnsupportedByClient(None, "the server runs elsewhere, so that its memory cannot be seen")
    return lambda: _settled(lambda: resident(process) - before)


def _settled(look: Callable[[], int]) -> int:
    """The last of what is seen, when it does not change much any more."""
    until = time.monotonic() + SETTLES_IN
    now = look()
    while time.monotonic() < until:
        time.sleep(LOOK_EVERY)
        before, now = now, look()
        if abs(now - before) < STEADY:
            break
    return now
