"""Replies: each once, to whoever asked, in any order, with uids that nobody reads; and many connections at once."""

import contextlib
from collections import Counter
from functools import partial

from harness.case import SERVERS, case
from harness.judge import Judge
from harness.leaks import room_for
from harness.mp.benches import Bench
from harness.mp.peer import MpPeer
from harness.mp.targets import MpTarget
from harness.mp.witness import judged, moves_data, new_request
from harness.peers import at_once
from wire.mp.frames import encode_request
from wire.mp.values import pack
from wire.release import Release

ANY = "0.3.10 and later"
DATA = "0.4.6 and later"
UIDS = (b"\x00", b"", b"\xc1", b"no msgpack at all", bytes(range(256)), b"\xcd\x01\x00", b"\xff" * 9, b"x" * 5000)
UNDER_WAY = 200
CROWD = 256
QUIET = 0.1
"""Seconds behind the last reply of a connection in which another one would be a surplus."""


@case("SRV-MP-005", "SRV-MP-002", releases=ANY, targets=SERVERS, judges="server", runs=("server",))
def test_signs_of_life(judge: Judge, release: Release, mp_server: MpTarget) -> None:
    """NOOP, GET_CHUNK_SIZE and PING are answered as they have to be, again and again the same."""
    with judged(judge), MpPeer(release, mp_server) as peer:
        sizes = set()
        for _ in range(20):
            peer.noop()
            sizes.add(peer.ask("GET_CHUNK_SIZE"))
            if "PING" in peer.table:
                for payloads in ([None], [1], [1 << 40]) if peer.table.named("PING").payloads else ([],):
                    judge.holds(peer.ask("PING", *payloads) is True, "PING was not answered true", cite="SRV-MP-005")
        only = next(iter(sizes))
        judge.holds(len(sizes) == 1 and type(only) is int and only > 0, f"GET_CHUNK_SIZE was answered {sizes}", cite="SRV-MP-005")


@case("SRV-MP-005", "SRV-MP-007", releases=DATA, targets=SERVERS, judges="server", runs=("server",))
def test_chunk_size_is_meant(judge: Judge, release: Release, mp_server: MpTarget) -> None:
    """The server works with chunks of as many tokens as it says: fewer make none, twice as many make two."""
    with Bench(judge, release, mp_server) as bench:
        prompt = bench.prompt(2)
        bench.stored(prompt, bench.contents(2))
        bench.finds(bench.again(prompt), 2, "twice as many tokens as a chunk has were stored", cite="SRV-MP-005")
        short = prompt.tokens[: bench.chunk - 1]
        bench.finds(bench.again(prompt, tokens=short, end=0), 0, "there are fewer tokens than a chunk has", cite="SRV-MP-005")


@case("SRV-MP-001", "SRV-MP-003", releases=ANY, targets=SERVERS, judges="server", runs=("server",))
def test_uids_unread(judge: Judge, release: Release, mp_server: MpTarget) -> None:
    """Whatever stands in the place of the uid comes back as it was, of any length and whether it is msgpack or not."""
    with judged(judge), MpPeer(release, mp_server) as peer:
        number = pack(peer.table.named("NOOP").number)
        for uid in UIDS:
            peer.raw(uid, number)
            frames = peer.next_reply(peer.patience)
            judge.holds(
                frames is not None, f"a request with the uid {uid[:12].hex() or '(empty)'} was not answered", cite="SRV-MP-003"
            )
            assert frames is not None
            got = [frames.uid, *frames.frames[:1]]
            judge.same_frames([uid, number], got, what="the beginning of a reply", cite="SRV-MP-001")


@case("SRV-MP-003", "SRV-MP-001", releases=ANY, targets=SERVERS, judges="server", runs=("server",))
def test_each_once(judge: Judge, release: Release, mp_server: MpTarget) -> None:
    """Of 200 requests that are under way at once each is answered once, and then nothing more comes."""
    with judged(judge), MpPeer(release, mp_server) as peer:
        names = ["NOOP", "GET_CHUNK_SIZE", *(["END_SESSION"] if "END_SESSION" in peer.table else [])]
        names += ["PING", "QUERY_PREFETCH_STATUS"] if moves_data(release) else []
        sent: Counter[tuple[bytes, bytes]] = Counter()
        for number in range(UNDER_WAY):
            name = names[number % len(names)]
            of_request = name in {"END_SESSION", "QUERY_PREFETCH_STATUS"}
            payloads = [new_request()] if of_request else [None] * len(peer.table.named(name).payloads)
            frames = encode_request(peer.table, name, payloads)
            uid = peer.new_uid()
            sent[uid, frames[0]] += 1
            peer.raw(uid, *frames)
        came: Counter[tuple[bytes, bytes]] = Counter()
        while sum(came.values()) < UNDER_WAY and (reply := peer.next_reply(peer.patience)) is not None:
            came[reply.uid, bytes(reply.frames[0]) if reply.frames else b""] += 1
        lost, more = sent - came, came - sent
        judge.holds(
            not lost and not more,
            f"{lost.total()} of {UNDER_WAY} requests were not answered, {more.total()} replies are none",
            cite="SRV-MP-003",
        )
        judge.holds(peer.surplus(QUIET) is None, "another message came behind the last reply", cite="SRV-MP-003")


@case("SRV-MP-003", "SRV-MP-001", releases=ANY, targets=SERVERS, judges="server", runs=("server",))
def test_equal_uids(judge: Judge, release: Release, mp_server: MpTarget) -> None:
    """Equal uids of several connections, and of several requests of one, are each answered where they came from."""
    with contextlib.ExitStack() as stack, judged(judge):
        peers = [stack.enter_context(MpPeer(release, mp_server)) for _ in range(4)]
        uid = b"\x05"
        for turn, peer in enumerate(peers):
            for _ in range(turn + 1):
                peer.send("NOOP", uid=uid)
            peer.send("GET_CHUNK_SIZE", uid=uid)
        for turn, peer in enumerate(peers):
            number, size = (pack(peer.table.named(name).number) for name in ("NOOP", "GET_CHUNK_SIZE"))
            found = [reply for _ in range(turn + 2) if (reply := peer.next_reply(peer.patience)) is not None]
            came = Counter((reply.uid, bytes(reply.frames[0])) for reply in found if reply.frames)
            right = Counter({(uid, number): turn + 1, (uid, size): 1})
            judge.holds(
                came == right, f"connection {turn + 1} got {came.total()} replies that are not its {turn + 2}", cite="SRV-MP-003"
            )
            judge.holds(peer.surplus(QUIET) is None, "a connection got a reply to another one's request", cite="SRV-MP-001")


@case("SRV-MP-004", releases=ANY, targets=SERVERS, judges="server", runs=("server",))
def test_crowd(judge: Judge, release: Release, mp_server: MpTarget) -> None:
    """256 connections at once are each served, first one after the other and then all at the same time."""
    room_for(6 * CROWD + 64)
    with contextlib.ExitStack() as stack, judged(judge, "SRV-MP-004"):
        peers = []
        for _ in range(CROWD):
            peers.append(stack.enter_context(MpPeer(release, mp_server)))
            peers[-1].noop()
        for _ in range(3):
            uids = [peer.send("NOOP") for peer in peers]
            for peer, uid in zip(peers, uids, strict=True):
                judge.holds(peer.result("NOOP", uid) == "OK", "a connection of many was not answered", cite="SRV-MP-004")


@case("SRV-MP-004", "SRV-MP-008", releases=DATA, targets=SERVERS, judges="server", runs=("server",))
def test_engines_at_once(judge: Judge, release: Release, mp_server: MpTarget) -> None:
    """Eight engines that store, look up and load at once each get their own, and afterwards what the others stored."""
    count, turns = 8, 12
    with contextlib.ExitStack() as stack:
        first = stack.enter_context(Bench(judge, release, mp_server))
        benches = [first, *(stack.enter_context(Bench(judge, release, mp_server, model=first.model)) for _ in range(count - 1))]
        kept = [
            [(bench.prompt(1 + turn % 3), number * 100 + turn) for turn in range(turns)] for number, bench in enumerate(benches)
        ]

        def work(number: int) -> None:
            bench = benches[number]
            for turn, (prompt, seed) in enumerate(kept[number]):
                chunks = bench.contents(1 + turn % 3, seed=seed)
                bench.stored(prompt, chunks)
                bench.loads(bench.again(prompt), chunks)
                bench.end(prompt)

        at_once([partial(work, number) for number in range(count)], patience=60)
        for number, bench in enumerate(benches):
            for turn, (prompt, seed) in enumerate(kept[number - 1]):
                bench.loads(bench.again(prompt), bench.contents(1 + turn % 3, seed=seed), "another engine stored it")


@case("SRV-MP-006", "SRV-MP-008", releases=DATA, targets=SERVERS, judges="server", runs=("server",))
def test_one_prompt_by_many(judge: Judge, release: Release, mp_server: MpTarget) -> None:
    """Engines that store the same prompt at once, with the same bytes, all succeed or are told so, and it is whole afterwards."""
    count = 6
    with contextlib.ExitStack() as stack:
        first = stack.enter_context(Bench(judge, release, mp_server))
        benches = [first, *(stack.enter_context(Bench(judge, release, mp_server, model=first.model)) for _ in range(count - 1))]
        for turn in range(5):
            prompt, chunks = first.prompt(3), first.contents(3, seed=turn)
            wanted = [bench.again(prompt) for bench in benches]

            def store(number: int, wanted: list = wanted, chunks: list = chunks) -> bool:  # type: ignore[type-arg]
                return benches[number].store(wanted[number], chunks)

            at_once([partial(store, number) for number in range(count)], patience=60)
            first.loads(first.again(prompt), chunks, "several engines stored it at once")
