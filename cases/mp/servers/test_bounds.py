"""What clients leave behind: replies that nobody reads, requests that nobody ends, stores that nobody commits, pickles."""

import contextlib
import tempfile
from pathlib import Path

import msgspec

from harness.case import SERVERS, Variant, case, parameters
from harness.failure import UnsupportedByClient
from harness.judge import Judge
from harness.mp.benches import Bench, require_shared
from harness.mp.evil import among_chunks, makes_folder
from harness.mp.peer import MpPeer
from harness.mp.subjects import left_behind, on_this_machine
from harness.mp.targets import MpTarget
from harness.mp.vandals import Vandal, message
from harness.mp.witness import Witness, judged, new_instance
from wire.mp.operations import OperationTable
from wire.mp.pickled_chunks import Chunk
from wire.release import Release

ANY = "0.3.10 and later"
DATA = "0.4.6 and later"
SHARED = "0.4.7 and later"
UNREAD = 4000
UID = 64 << 10
"""So many requests, with uids of so many bytes, are asked by somebody who reads no reply: 250 MiB of them."""
UNREAD_ALLOWED = 128 << 20
SESSIONS = 60
SESSION_TOKENS = 1 << 14
SESSIONS_ALLOWED = 16 << 20
"""Bytes for what so many lookups of so many tokens leave behind, which would be 38 MiB if Python kept all the tokens."""


@case("SRV-MP-102", releases=ANY, targets=SERVERS, judges="server", runs=("server",))
def test_replies_that_nobody_reads(judge: Judge, release: Release, mp_server: MpTarget, mp_table: OperationTable) -> None:
    """A client that asks and never reads keeps nobody from being served, and its replies do not fill the memory."""
    words = f"{UNREAD} requests of somebody who reads no reply"
    with Witness(judge, release, mp_server) as witness, contextlib.ExitStack() as stack:
        vandal = Vandal(mp_server, mp_table, stack)
        with left_behind(judge, mp_server, UNREAD_ALLOWED, words, "SRV-MP-102"):
            opened = vandal.greeted()
            request = message([bytes(UID), vandal.noop])
            opened.settimeout(2.0)
            with contextlib.suppress(OSError):  # a server that takes no more from it does well
                for _ in range(UNREAD):
                    opened.sendall(request)
            witness.served(words, "SRV-MP-102")
        stack.close()
        witness.served(f"{words}, who left then,", "SRV-MP-102")


@case("SRV-MP-105", releases=DATA, targets=SERVERS, judges="server", runs=("server",))
def test_requests_that_nobody_ends(judge: Judge, release: Release, mp_server: MpTarget) -> None:
    """Lookups of long prompts by an engine that ends none of them, and then is gone, do not fill the memory."""

    def look_up(bench: Bench, count: int) -> None:
        for number in range(count):
            prompt = bench.prompt(SESSION_TOKENS // bench.chunk)
            with judged(judge):
                bench.peer.begin_lookup(prompt)
                if number % 2:
                    bench.peer.hits(prompt, None)

    words = f"{SESSIONS} lookups of {SESSION_TOKENS} tokens that nobody ended"
    with Witness(judge, release, mp_server) as witness:
        with Bench(judge, release, mp_server) as bench:
            look_up(bench, 8)  # what a first use needs is needed once
        with left_behind(judge, mp_server, SESSIONS_ALLOWED, words, "SRV-MP-105"), Bench(judge, release, mp_server) as bench:
            look_up(bench, SESSIONS)
        witness.served(words, "SRV-MP-105")


@case("SRV-MP-107", releases=SHARED, targets=SERVERS, judges="server", runs=("server",))
def test_stores_that_nobody_commits(judge: Judge, release: Release, mp_server: MpTarget) -> None:
    """What an instance prepared and left when it unregistered is not found, and others can store it."""
    with Bench(judge, release, mp_server) as other, Bench(judge, release, mp_server, model=other.model) as bench:
        require_shared(bench)
        prompt, chunks = bench.prompt(2), bench.contents(2)
        with judged(judge):
            prepared = bench.peer.prepare(bench.engine, prompt, 2)
            bench.peer.fill(bench.engine, prepared, bench.contents(2, seed=66))
            bench.peer.unregister(bench.engine)
        found = other.lookup(other.again(prompt))
        judge.holds(found == 0, f"a lookup found {found} chunks that nobody committed", cite="SRV-MP-107")
        said = other.store(other.again(prompt), chunks)
        wanted = other.again(prompt)
        found = other.lookup(wanted)
        judge.holds(said and found == 2, "what an instance left uncommitted could not be stored by another", cite="SRV-MP-107")
        other.gives(wanted, chunks, cite="SRV-MP-107")


@case("SRV-MP-108", releases=DATA, targets=SERVERS, variants=parameters("free", "retrieve"), judges="server", runs=("server",))
def test_locks_of_others(judge: Judge, release: Release, mp_server: MpTarget, vector: str) -> None:
    """A request that gives back more than it holds takes no lock from another one that looked up the same."""
    with Bench(judge, release, mp_server) as bench, Bench(judge, release, mp_server, model=bench.model) as other:
        prompt, chunks = bench.prompt(2), bench.contents(2)
        bench.stored(prompt, chunks)
        one, two = bench.again(prompt), other.again(prompt)
        bench.locks(one, 2, "it was stored")
        other.locks(two, 2, "it was stored")
        for _ in range(3):
            if vector == "free":
                bench.free(one)
            else:
                bench.retrieve(one)
        other.gives(
            two, chunks, cite="SRV-MP-108", when=f"after another request had sent three times what is due once ({vector})"
        )


@case("SRV-MP-109", releases=DATA, targets=SERVERS, judges="server", runs=("server",))
def test_locks_end_with_their_request(judge: Judge, release: Release, mp_server: MpTarget) -> None:
    """A request that ends between lookup and retrieve holds nothing any more."""
    with Bench(judge, release, mp_server) as bench:
        prompt = bench.prompt(2)
        bench.stored(prompt, bench.contents(2))
        wanted = bench.again(prompt)
        bench.locks(wanted, 2, "it was stored")
        bench.end(wanted)
        judge.holds(bench.retrieve(wanted) is None, "the locks of a request that ended are still there", cite="SRV-MP-109")
        bench.loads(bench.again(prompt), bench.contents(2), "only the request ended")


@case("SRV-MP-011", releases="0.5.6 and later", targets=SERVERS, judges="server", runs=("server",))
def test_open_retrieve(judge: Judge, release: Release, mp_server: MpTarget) -> None:
    """Places that a worker reads from stay until it says that it has read them, also when its request ends meanwhile."""
    with Bench(judge, release, mp_server) as bench:
        require_shared(bench)
        prompt, chunks = bench.prompt(2), bench.contents(2)
        bench.stored(prompt, chunks)
        wanted = bench.again(prompt)
        bench.locks(wanted, 2, "it was stored")
        with judged(judge):
            bench.same(bench.peer.open_retrieve(bench.engine, wanted), chunks)
            bench.end(wanted)
            bench.peer.clear(force=False)
            bench.finds(bench.again(prompt), 2, "a worker still reads it", cite="SRV-MP-011")
            bench.peer.close_retrieve(bench.engine, wanted)


PICKLES = ("alone", "among-chunks", "as-a-tensor")


def pickles(release: Release) -> list[Variant]:
    """Variants: where a pickle is that does something when it is loaded."""
    del release
    return [Variant(name, name) for name in PICKLES]


@case("SRV-MP-103", releases=ANY, targets=SERVERS, variants=pickles, judges="server", runs=("server",))
def test_pickles(judge: Judge, release: Release, mp_server: MpTarget, mp_table: OperationTable, vector: str) -> None:
    """A pickle that does something when it is loaded does nothing, and nothing of it is kept."""
    if not on_this_machine(mp_server):
        raise UnsupportedByClient(None, "what the server does to its machine is not seen from here")
    with Witness(judge, release, mp_server) as witness, tempfile.TemporaryDirectory(prefix="lmconform-pickle-") as folder:
        made = Path(folder) / "made-by-a-pickle"
        with judged(judge):
            found = (
                _registered(release, mp_server, mp_table, made)
                if vector == "as-a-tensor"
                else _stored(judge, release, mp_server, made, vector)
            )
        judge.holds(not made.exists(), "the server loaded a pickle of a client, and did what it says", cite="SRV-MP-103")
        judge.holds(found == 0, f"a lookup found {found} chunks of a pickle that is none of chunks", cite="SRV-MP-103")
        witness.served("a pickle that is none of chunks", "SRV-MP-103")


def _stored(judge: Judge, release: Release, server: MpTarget, made: Path, vector: str) -> int:
    """Bring a pickle as the chunks of a store; what a lookup finds afterwards."""
    if release < Release.parse("0.4.6"):
        raise UnsupportedByClient(None, "no chunks travel in messages of this release")
    with Bench(judge, release, server) as bench:
        prompt = bench.prompt(1)
        if vector == "among-chunks":
            shape = bench.engine.layout.shape(bench.chunk)
            data = among_chunks(made, Chunk(bench.engine.layout.dtype, shape, bytes(bench.engine.chunk_bytes)))
            prompt = bench.prompt(2)
        else:
            data = makes_folder(made)
        record = prompt.record(release, bench.engine.rank)
        bench.peer.ask("PREPARE_STORE", record, bench.engine.instance)
        bench.peer.send("COMMIT_STORE", record, bench.engine.instance, data)
        later = bench.prompt(1).record(release, bench.engine.rank)
        bench.peer.ask("PREPARE_RETRIEVE", later, bench.engine.instance)  # waits behind the commit, where workers have queues
        return bench.lookup(bench.again(prompt))


def _registered(release: Release, server: MpTarget, table: OperationTable, made: Path) -> int:
    """Bring a pickle as a tensor of a registration."""
    del release
    wrapper = msgspec.msgpack.Ext(1, makes_folder(made))
    rest = {2: [], 4: ["model", 1], 5: ["model", 1, {}], 6: ["model", 1, "vllm", {}], 7: ["model", 1, "vllm", {}, []]}
    with MpPeer(table.release, server) as peer:
        count = len(table.named("REGISTER_KV_CACHE").payloads)
        peer.send("REGISTER_KV_CACHE", new_instance(), [wrapper], *rest[count])
        peer.settle()
    return 0
