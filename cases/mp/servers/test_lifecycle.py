"""Registrations that come, come again and go; CLEAR; a restart; a memory that is full."""

import time

from harness.case import SERVERS, case
from harness.failure import UnsupportedByClient
from harness.judge import Judge
from harness.mp.benches import Bench, require_shared
from harness.mp.peer import MpPeer, Prompt
from harness.mp.subjects import restart_of
from harness.mp.targets import MpTarget
from harness.mp.witness import judged, moves_data, new_model, new_request, some_tokens
from wire.mp.objects import TOKEN_MODE
from wire.release import Release

DATA = "0.4.6 and later"
SHARED = "0.4.7 and later"
ANY = "0.3.10 and later"
LARGE = {"num_layers": 8, "hidden_dim_size": 2048}
"""A layout whose chunks of 16 tokens have a MiB."""
LARGEST_POOL = 256 << 20
"""Bytes of memory that is filled; a case would take too long for more."""
NEW_CHUNKS = 8
MAKE_ROOM = 10.0
"""Seconds that a server may take to make room: the real one looks once a second."""


@case("SRV-MP-015", "SRV-MP-008", releases=DATA, targets=SERVERS, judges="server", runs=("server",))
def test_registered_again(judge: Judge, release: Release, mp_server: MpTarget) -> None:
    """An instance that registers again, over its own connection or another, goes on where it was."""
    with Bench(judge, release, mp_server) as bench:
        prompt, chunks = bench.prompt(2), bench.contents(2)
        bench.stored(prompt, chunks)
        for _ in range(3):
            again = bench.register(bench.engine.instance)
            judge.holds(
                again.pool == bench.engine.pool, f"another memory: {again.pool} after {bench.engine.pool}", cite="SRV-MP-015"
            )
        with judged(judge), MpPeer(release, mp_server) as peer:
            peer.register(bench.engine.instance, bench.model)
        bench.loads(bench.again(prompt), chunks)
        bench.stored(more := bench.prompt(2), bench.contents(2, seed=3))
        bench.loads(bench.again(more), bench.contents(2, seed=3))


@case("SRV-MP-015", releases=SHARED, targets=SERVERS, judges="server", runs=("server",))
def test_unregistered(judge: Judge, release: Release, mp_server: MpTarget) -> None:
    """To unregister one of two instances changes nothing for the other; what was stored is there for whoever comes next."""
    with Bench(judge, release, mp_server) as bench, Bench(judge, release, mp_server, model=bench.model) as other:
        prompt, chunks = bench.prompt(2), bench.contents(2)
        bench.stored(prompt, chunks)
        with judged(judge):
            bench.peer.unregister(bench.engine)
            bench.peer.unregister(bench.engine)
        other.loads(other.again(prompt), chunks, "one of two instances of its model unregistered")
        with judged(judge):
            other.peer.unregister(other.engine)
            other.peer.noop()
        bench.engine = bench.register()
        bench.loads(bench.again(prompt), chunks, "all instances unregistered, and one registered anew")


@case("SRV-MP-015", releases=DATA, targets=SERVERS, judges="server", runs=("server",))
def test_many_instances(judge: Judge, release: Release, mp_server: MpTarget) -> None:
    """Fifty instances of different models and layouts, over one connection, each store and load their own."""
    with Bench(judge, release, mp_server) as bench:
        kept = []
        for number in range(50):
            model = f"{bench.model}/{number}"
            bench.engine = bench.register(model=model, num_layers=1 + number % 5, hidden_dim_size=1 + number)
            prompt = bench.prompt(1, model=model, tokens=some_tokens(1, bench.chunk, first=7))
            bench.stored(prompt, bench.contents(1, seed=number))
            kept.append((bench.engine, prompt, bench.contents(1, seed=number)))
        for engine, prompt, chunks in kept:
            bench.engine = engine
            bench.loads(bench.again(prompt), chunks)


@case("SRV-MP-014", releases=ANY, targets=SERVERS, judges="server", runs=("server",))
def test_clear(judge: Judge, release: Release, mp_server: MpTarget) -> None:
    """After CLEAR nothing is found, and what is stored again is found again; CLEAR of an empty store is answered too."""
    if not moves_data(release):
        with judged(judge), MpPeer(release, mp_server) as peer:
            for _ in range(2):
                peer.clear()
                peer.noop()
                if TOKEN_MODE[release]:
                    found = peer.lookup(Prompt(new_model(), some_tokens(2, peer.chunk_size()), new_request()))
                    judge.holds(found == 0, f"a lookup found {found} chunks in an empty store", cite="SRV-MP-007")
        return
    with Bench(judge, release, mp_server) as bench:
        prompt, chunks = bench.prompt(2), bench.contents(2)
        for _ in range(2):
            bench.stored(bench.again(prompt), chunks)
            bench.loads(bench.again(prompt), chunks)
            with judged(judge):
                bench.peer.clear()
                bench.peer.clear()
            bench.finds(bench.again(prompt), 0, "the store was cleared", cite="SRV-MP-014")


@case("SRV-MP-014", "SRV-MP-011", releases="0.5.6 and later", targets=SERVERS, judges="server", runs=("server",))
def test_clear_without_force(judge: Judge, release: Release, mp_server: MpTarget) -> None:
    """CLEAR with false removes what nobody has locked and leaves what a lookup has found; with true it removes that as well."""
    with Bench(judge, release, mp_server) as bench:
        locked, other, chunks = bench.prompt(2), bench.prompt(2), bench.contents(2)
        bench.stored(locked, chunks)
        bench.stored(other, chunks)
        wanted = bench.again(locked)
        bench.locks(wanted, 2, "it was stored")
        with judged(judge):
            bench.peer.clear(force=False)
        bench.finds(bench.again(other), 0, "nobody had locked it, and the store was cleared", cite="SRV-MP-014")
        bench.gives(wanted, chunks, cite="SRV-MP-011", when="after a CLEAR that leaves what is locked")
        late = bench.again(locked)
        bench.locks(late, 2, "a CLEAR with false left it")
        with judged(judge):
            bench.peer.clear(force=True)
        judge.holds(bench.retrieve(late) is None, "a retrieve succeeded after a CLEAR with force", cite="SRV-MP-014")


@case("SRV-MP-016", releases=ANY, targets=SERVERS, judges="server", runs=("server",))
def test_restart(judge: Judge, release: Release, mp_server: MpTarget) -> None:
    """After a restart an old connection is served again, nothing is found, and whoever registers again stores again."""
    restart = restart_of(mp_server)
    if not moves_data(release):
        with judged(judge, "SRV-MP-016"), MpPeer(release, mp_server) as peer:
            peer.noop()
            restart()
            comes_back(peer)
        return
    with Bench(judge, release, mp_server) as bench:
        prompt, chunks = bench.prompt(2), bench.contents(2)
        bench.stored(prompt, chunks)
        bench.locks(bench.again(prompt), 2, "it was stored")
        restart()
        with judged(judge, "SRV-MP-016"):
            comes_back(bench.peer)
            found = bench.peer.lookup(bench.again(prompt))
            judge.holds(found == 0, f"a lookup found {found} chunks in a server that was restarted", cite="SRV-MP-016")
        bench.engine = bench.register(bench.engine.instance)
        bench.finds(bench.again(prompt), 0, "the server was restarted, and nothing stored since", cite="SRV-MP-016")
        bench.stored(bench.again(prompt), bench.contents(2, seed=9))
        bench.loads(bench.again(prompt), bench.contents(2, seed=9))


def comes_back(peer: MpPeer) -> None:
    """Ask until the connection stands again: what was sent while it did not is lost."""
    until = time.monotonic() + peer.patience
    while peer.reply(peer.send("NOOP"), patience=0.5) is None and time.monotonic() < until:
        pass
    peer.noop()


@case("SRV-MP-017", "SRV-MP-011", releases=DATA, targets=SERVERS, judges="server", runs=("server",))
def test_full(judge: Judge, release: Release, mp_server: MpTarget) -> None:
    """More is stored than fits: all is answered, room comes, what is locked stays, what is found is right, CLEAR empties."""
    with Bench(judge, release, mp_server, layout=LARGE) as bench:
        size = pool_size_of(bench)
        with judged(judge):
            bench.peer.clear()
        kept, chunks = bench.prompt(2), marked(bench, 2, 1)
        bench.stored(kept, chunks)
        wanted = bench.again(kept)
        bench.locks(wanted, 2, "it was stored")
        prompts = [(bench.prompt(4), seed) for seed in range(2, 2 + int(1.2 * size / bench.engine.chunk_bytes) // 4)]
        for prompt, seed in prompts:
            bench.store(prompt, marked(bench, 4, seed))
        ask_for_all(bench, size)
        makes_room(bench)
        bench.gives(wanted, chunks, cite="SRV-MP-011", when="after far more was stored than fits")
        for prompt, seed in (*prompts[-3:], *prompts[:3]):
            again = bench.again(prompt)
            found = bench.lookup(again)
            judge.holds(0 <= found <= 4, f"a lookup found {found} of 4 chunks", cite="SRV-MP-017")
            if found:
                right = marked(bench, found, seed)
                bench.gives(bench.part(again, 0, found), right, cite="SRV-MP-017", when="of a full server")
        with judged(judge):
            bench.peer.clear()
        count = int(0.6 * size / bench.engine.chunk_bytes)
        again = bench.prompt(count)
        bench.store(again, marked(bench, count, 7))
        bench.finds(bench.again(again), count, "it takes 60 % of a memory that was just cleared", cite="SRV-MP-017")


def ask_for_all(bench: Bench, size: int) -> None:
    """Ask for places for more than the whole memory, which are not all given."""
    count = size // bench.engine.chunk_bytes + 8
    with judged(bench.judge, "SRV-MP-017", "a store of more than the whole memory"):
        prepared = bench.peer.prepare(bench.engine, bench.prompt(count), count)
    bench.judge.holds(len(prepared.slots) < count, f"{count} places in a memory that has fewer", cite="SRV-MP-017")


def makes_room(bench: Bench) -> None:
    """What nobody has locked goes by itself: after a while new chunks are taken and found, more than a last rest has room for."""
    until = time.monotonic() + MAKE_ROOM
    taken = 0
    while time.monotonic() < until:
        prompt, chunks = bench.prompt(1), marked(bench, 1, 5)
        bench.store(prompt, chunks)
        wanted = bench.again(prompt)
        if bench.lookup(wanted):
            bench.gives(wanted, chunks)
            taken += 1
            if taken == NEW_CHUNKS:
                return
        else:
            time.sleep(0.1)
    words = f"{MAKE_ROOM:g} s after it was full the server took no new chunks, though nobody had locked most of what it has"
    bench.judge.fail(words, cite="SRV-MP-017")


def marked(bench: Bench, count: int, seed: int) -> list[bytes]:
    """Long chunks that are quickly made, each with a number of its own at either end."""
    marks = [(seed << 32 | index).to_bytes(8, "big") for index in range(count)]
    return [mark + bytes(bench.engine.chunk_bytes - 2 * len(mark)) + mark for mark in marks]


def pool_size_of(bench: Bench) -> int:
    """The memory of a server that may be filled.

    Raises:
        UnsupportedByClient: it does not tell, or is too large.
    """
    require_shared(bench)
    size = bench.engine.pool.size
    if size > LARGEST_POOL:
        raise UnsupportedByClient(
            None, f"the server's memory has {size >> 20} MiB, and at most {LARGEST_POOL >> 20} are filled here"
        )
    return size
