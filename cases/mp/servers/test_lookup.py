"""Lookups: what they find, for whom, what they lock, and who gives it back."""

from harness.case import SERVERS, case, parameters
from harness.judge import Judge
from harness.mp.benches import Bench
from harness.mp.peer import Prompt
from harness.mp.targets import MpTarget
from harness.mp.witness import judged, new_request
from wire.release import Release

DATA = "0.4.6 and later"
SALTED = ("", "a", "tenant", "Tenant", "tenant ", "ten\u00e4nt", "s" * 128)


@case("SRV-MP-007", releases=DATA, targets=SERVERS, judges="server", runs=("server",))
def test_prefixes(judge: Judge, release: Release, mp_server: MpTarget) -> None:
    """A lookup finds whole chunks only, from the first token on, up to the first token that is another."""
    with Bench(judge, release, mp_server) as bench:
        prompt, chunks, size = bench.prompt(4), bench.contents(4), bench.chunk
        bench.stored(prompt, chunks)
        tokens = list(prompt.tokens)
        longer = [*tokens, *range(3 * size)]
        for asked, found in (
            (longer, 4),
            (tokens[:-1], 3),
            (tokens[: size + 1], 1),
            (tokens[: size - 1], 0),
            ([], 0),
            (tokens[size:], 0),
            ([*tokens[: 2 * size], tokens[2 * size] ^ 1, *tokens[2 * size + 1 :]], 2),
            ([tokens[0] ^ 1, *tokens[1:]], 0),
            ([*tokens[: 3 * size - 1], tokens[3 * size - 1] ^ 1, *tokens[3 * size :]], 2),
            (list(reversed(tokens)), 0),
            (tokens, 4),
        ):
            whole = len(asked) - len(asked) % size
            bench.finds(bench.again(prompt, tokens=asked, end=whole), found, f"{found} whole chunks are the stored ones")


@case("SRV-MP-007", releases=DATA, targets=SERVERS, judges="server", runs=("server",))
def test_strangers(judge: Judge, release: Release, mp_server: MpTarget) -> None:
    """What is stored under one model and world size is found under no other."""
    with Bench(judge, release, mp_server) as bench:
        prompt = bench.prompt(2)
        bench.stored(prompt, bench.contents(2))
        for model, world in ((f"{bench.model}-2", 1), (bench.model.upper(), 1), (bench.model[:-1], 1), (bench.model, 2)):
            bench.register(model=model, world=world)
            bench.finds(bench.again(prompt, model=model, world=world), 0, "it was stored for another model or world")
        bench.finds(bench.again(prompt, model=f"{bench.model}/nobody"), 0, "nobody registered this model")
        bench.finds(bench.again(prompt), 2, "it was stored for this one")


@case("SRV-MP-007", "SRV-MP-008", releases=DATA, targets=SERVERS, judges="server", runs=("server",))
def test_salts(judge: Judge, release: Release, mp_server: MpTarget) -> None:
    """Of prompts that differ in their salt alone each is found under its own, with its own bytes."""
    with Bench(judge, release, mp_server) as bench:
        prompt = bench.prompt(1)
        for number, salt in enumerate(SALTED):
            salted = bench.again(prompt, salt=salt)
            bench.finds(bench.again(salted), 0, f"nothing is stored under the salt {salt!r:.20}")
            bench.stored(salted, bench.contents(1, seed=50 + number))
        for number, salt in enumerate(SALTED):
            bench.loads(bench.again(prompt, salt=salt), bench.contents(1, seed=50 + number))


@case("SRV-MP-012", releases=DATA, targets=SERVERS, judges="server", runs=("server",))
def test_polls(judge: Judge, release: Release, mp_server: MpTarget) -> None:
    """The hits of a lookup are told once; afterwards, and for a request that nobody looked up, there are none."""
    with Bench(judge, release, mp_server) as bench:
        prompt = bench.prompt(2)
        bench.stored(prompt, bench.contents(2))
        wanted = bench.again(prompt)
        bench.locks(wanted, 2, "it was stored")
        with judged(judge):
            for request in (wanted.request, new_request()):
                said = bench.peer.ask("QUERY_PREFETCH_STATUS", request)
                judge.holds(said == 0, f"a poll for hits that were told, or of nobody, was answered {said!r}", cite="SRV-MP-012")
        bench.gives(wanted, bench.contents(2))


@case("SRV-MP-012", releases="0.5.0 and later", targets=SERVERS, judges="server", runs=("server",))
def test_waits(judge: Judge, release: Release, mp_server: MpTarget) -> None:
    """WAIT_PREFETCH_STATUS gives the hits as soon as they are there, and holds up nobody."""
    with Bench(judge, release, mp_server) as bench, Bench(judge, release, mp_server) as other, judged(judge):
        prompt = bench.prompt(2)
        bench.stored(prompt, bench.contents(2))
        wanted = bench.again(prompt)
        bench.peer.begin_lookup(wanted)
        waiting = bench.peer.send("WAIT_PREFETCH_STATUS", wanted.request, 5.0)
        other.peer.noop()
        said = bench.peer.result("WAIT_PREFETCH_STATUS", waiting)
        judge.holds(said == 2, f"WAIT_PREFETCH_STATUS was answered {said!r} for 2 stored chunks", cite="SRV-MP-012")
        bench.gives(wanted, bench.contents(2))


@case("SRV-MP-010", "SRV-MP-013", releases=DATA, targets=SERVERS, judges="server", runs=("server",))
def test_retrieve_needs_a_lock(judge: Judge, release: Release, mp_server: MpTarget) -> None:
    """A retrieve succeeds once for each lock of a lookup, not before it, not after it was freed, and not for what is missing."""
    with Bench(judge, release, mp_server) as bench:
        prompt, chunks = bench.prompt(2), bench.contents(2)

        def fails(wanted: Prompt, why: str) -> None:
            got = bench.retrieve(wanted)
            judge.holds(got is None, f"a retrieve succeeded: {why}", cite="SRV-MP-010")

        fails(prompt, "nothing is stored")
        bench.stored(prompt, chunks)
        fails(bench.again(prompt), "nobody looked it up")
        longer = bench.again(prompt, tokens=[*prompt.tokens, *range(bench.chunk)])
        bench.locks(longer, 2, "its first two chunks were stored")
        fails(longer, "its last chunk is not there")
        wanted = bench.again(prompt)
        bench.locks(wanted, 2, "it was stored")
        bench.gives(wanted, chunks)
        fails(wanted, "its one lock was given back by the retrieve before")
        freed = bench.again(prompt)
        bench.locks(freed, 2, "it was stored")
        bench.free(freed)
        fails(freed, "its locks were freed")
        bench.loads(bench.again(prompt), chunks)


@case("SRV-MP-011", "SRV-MP-013", releases=DATA, targets=SERVERS, judges="server", runs=("server",))
def test_locks_of_two(judge: Judge, release: Release, mp_server: MpTarget) -> None:
    """Two requests that looked up the same have a lock each: what one gives back, retrieves or ends leaves the other's."""
    with Bench(judge, release, mp_server) as bench, Bench(judge, release, mp_server, model=bench.model) as other:
        prompt, chunks = bench.prompt(2), bench.contents(2)
        bench.stored(prompt, chunks)
        bench.end(prompt)
        for give_back in (bench.free, bench.retrieve):
            one, two = bench.again(prompt), other.again(prompt)
            bench.locks(one, 2, "it was stored")
            other.locks(two, 2, "it was stored")
            give_back(one)
            bench.end(one)
            other.gives(two, chunks, cite="SRV-MP-011", when="after another request for them had ended")
            other.end(two)


@case(
    "SRV-MP-011",
    "SRV-MP-010",
    releases="0.5.5 and later",
    targets=SERVERS,
    variants=parameters(1, 2, 5),
    judges="server",
    runs=("server",),
)
def test_readers(judge: Judge, release: Release, mp_server: MpTarget, vector: int) -> None:
    """A lookup for several readers allows a retrieve for each of them, and no further one."""
    with Bench(judge, release, mp_server) as bench:
        prompt, chunks = bench.prompt(2), bench.contents(2)
        bench.stored(prompt, chunks)
        wanted = bench.again(prompt, readers=vector)
        bench.locks(wanted, 2, "it was stored")
        for reader in range(vector):
            bench.gives(wanted, chunks, cite="SRV-MP-011", when=f"by reader {reader + 1} of {vector}")
        judge.holds(bench.retrieve(wanted) is None, f"{vector + 1} retrieves succeeded for {vector} readers", cite="SRV-MP-010")


@case("SRV-MP-013", releases=DATA, targets=SERVERS, judges="server", runs=("server",))
def test_ends_leave_what_is_stored(judge: Judge, release: Release, mp_server: MpTarget) -> None:
    """Chunks outlive the requests that stored and loaded them, however these end, and the connection that stored them."""
    with Bench(judge, release, mp_server) as other:
        with Bench(judge, release, mp_server, model=other.model) as bench:
            prompt, chunks = bench.prompt(2), bench.contents(2)
            bench.stored(prompt, chunks)
            bench.end(prompt)
            bench.end(prompt)
            unknown = bench.again(prompt)
            bench.end(unknown)
            bench.free(unknown)
        for _ in range(2):
            wanted = other.again(prompt)
            other.loads(wanted, chunks, "its requests ended, and it was stored")
            other.end(wanted)
