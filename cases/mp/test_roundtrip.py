"""Chunks that are stored, looked up and loaded: every byte comes back, prefixes are found as far as they go, and no further."""

from cases.mp.workers import CHUNK, Request, Worker, contents, knows_too, request, some_tokens, worker
from harness.case import SERVERS, case, parameters
from harness.judge import Judge
from harness.mp.keys import MpKeys
from harness.mp.targets import MpTarget
from harness.subject import Subject

DATA = ("connect", "mp_register", "mp_store", "mp_lookup", "mp_retrieve", "mp_free_locks")
TRANSFER = "0.4.6 and later"


@case("MP-FLOW-005", "MP-FLOW-006", "MP-FLOW-004", targets=SERVERS, needs=DATA, releases=TRANSFER, variants=parameters(1, 5))
def test_round_trip(client: Subject, judge: Judge, mp_server: MpTarget, mp_keys: MpKeys, vector: int) -> None:
    """Chunks that were stored are found and come back byte for byte, in their order."""
    one, chunks = worker(client, judge, mp_server, mp_keys), contents(vector)
    wanted = request(mp_keys, some_tokens(vector))
    one.stored(wanted, chunks)
    one.loaded(wanted.again(), chunks)


@case("MP-FLOW-005", "MP-CONN-003", targets=SERVERS, needs=DATA, releases=TRANSFER)
def test_another_connection(client: Subject, judge: Judge, mp_server: MpTarget, mp_keys: MpKeys) -> None:
    """What one worker stored, another one finds and loads over a connection of its own."""
    wanted, chunks = request(mp_keys, some_tokens(3)), contents(3)
    worker(client, judge, mp_server, mp_keys).stored(wanted, chunks)
    worker(client, judge, mp_server, mp_keys).loaded(wanted.again(), chunks)


@case("MP-FLOW-004", targets=SERVERS, needs=DATA, releases=TRANSFER)
def test_prefixes(client: Subject, judge: Judge, mp_server: MpTarget, mp_keys: MpKeys) -> None:
    """A lookup finds as many chunks as are there from the first token on: fewer, as many or more than were asked for."""
    one, tokens = worker(client, judge, mp_server, mp_keys), some_tokens(4)
    one.hits(request(mp_keys, tokens), 0, because="nothing is stored")
    one.stored(request(mp_keys, tokens[: 3 * CHUNK]), contents(3))
    for asked, found in ((1, 1), (2, 2), (3, 3), (4, 3)):
        one.hits(request(mp_keys, tokens[: asked * CHUNK]), found, because=f"3 chunks are stored, {asked} were asked for")


@case("MP-FLOW-004", "MP-KEY-001", targets=SERVERS, needs=DATA, releases=TRANSFER)
def test_forks(client: Subject, judge: Judge, mp_server: MpTarget, mp_keys: MpKeys) -> None:
    """Tokens that are the same up to some chunk share the chunks before it, and no chunk behind it."""
    one, tokens = worker(client, judge, mp_server, mp_keys), some_tokens(4)
    one.stored(request(mp_keys, tokens), contents(4))
    for place, shared in ((0, 0), (CHUNK - 1, 0), (CHUNK, 1), (2 * CHUNK + 5, 2), (4 * CHUNK - 1, 3)):
        other = [*tokens[:place], tokens[place] + 1, *tokens[place + 1 :]]
        one.hits(request(mp_keys, other), shared, because=f"token {place} is another one")


@case("MP-FLOW-004", targets=SERVERS, needs=DATA, releases=TRANSFER)
def test_gap(client: Subject, judge: Judge, mp_server: MpTarget, mp_keys: MpKeys) -> None:
    """Chunks behind a gap are not found until the gap is filled."""
    one, chunks = worker(client, judge, mp_server, mp_keys), contents(3)
    whole = request(mp_keys, some_tokens(3))
    one.stored(whole.part(0, CHUNK), chunks[:1])
    one.stored(whole.again().part(2 * CHUNK, 3 * CHUNK), chunks[2:])
    one.hits(whole.again(), 1, because="the second chunk is missing")
    one.stored(whole.again().part(CHUNK, 2 * CHUNK), chunks[1:2])
    one.loaded(whole.again(), chunks)


@case("MP-FLOW-006", "MP-FLOW-005", targets=SERVERS, needs=DATA, releases=TRANSFER)
def test_stored_in_part(client: Subject, judge: Judge, mp_server: MpTarget, mp_keys: MpKeys) -> None:
    """Of chunks that are there in part a store writes the others, each into its own slot."""
    one, chunks = worker(client, judge, mp_server, mp_keys), contents(4)
    whole = request(mp_keys, some_tokens(4))
    one.stored(whole.part(CHUNK, 2 * CHUNK), chunks[1:2])
    one.stored(whole.again(), chunks)
    one.loaded(whole.again(), chunks)


@case("MP-FLOW-006", targets=SERVERS, needs=DATA, releases=TRANSFER)
def test_stored_twice(client: Subject, judge: Judge, mp_server: MpTarget, mp_keys: MpKeys) -> None:
    """Chunks that are all there are stored already, which is a success."""
    one, chunks = worker(client, judge, mp_server, mp_keys), contents(2)
    whole = request(mp_keys, some_tokens(2))
    one.stored(whole, chunks)
    one.stored(whole.again(), chunks)
    one.loaded(whole.again(), chunks)


@case("MP-FLOW-005", "MP-KEY-001", targets=SERVERS, needs=DATA, releases=TRANSFER)
def test_parts(client: Subject, judge: Judge, mp_server: MpTarget, mp_keys: MpKeys) -> None:
    """Parts of what was looked up are loaded one after the other, each with its own chunks."""
    one, chunks = worker(client, judge, mp_server, mp_keys), contents(4)
    whole = request(mp_keys, some_tokens(4))
    one.stored(whole, chunks)
    wanted = whole.again()
    one.lookup(wanted)
    one.retrieved(wanted.part(2 * CHUNK, 4 * CHUNK), chunks[2:])
    one.retrieved(wanted.part(0, 2 * CHUNK), chunks[:2])


@case("MP-KEY-006", targets=SERVERS, needs=DATA, releases=TRANSFER, variants=parameters(1, CHUNK - 1))
def test_tokens_behind_the_last_chunk(client: Subject, judge: Judge, mp_server: MpTarget, mp_keys: MpKeys, vector: int) -> None:
    """Tokens that do not fill a chunk are left out of what is stored, looked up, loaded and given back."""
    one, chunks = worker(client, judge, mp_server, mp_keys), contents(2)
    whole = request(mp_keys, [*some_tokens(2), *range(vector)])
    one.stored(whole, chunks)
    one.loaded(whole.again(), chunks)
    one.hits(whole.again(), 2, because="two whole chunks are stored")


@case("MP-FLOW-004", "MP-FLOW-005", "MP-KEY-006", targets=SERVERS, needs=DATA, releases=TRANSFER)
def test_less_than_a_chunk(client: Subject, judge: Judge, mp_server: MpTarget, mp_keys: MpKeys) -> None:
    """Tokens that fill no chunk are stored, found and loaded as no chunks at all."""
    one, few = worker(client, judge, mp_server, mp_keys), request(mp_keys, list(range(CHUNK - 1)))
    one.stored(few, [])
    one.hits(few.again(), 0, because="there is no whole chunk")
    one.same_chunks(one.retrieve(few.again()), [])


@case("MP-FLOW-005", "MP-REQ-002", targets=SERVERS, needs=DATA, releases=TRANSFER)
def test_large_tokens(client: Subject, judge: Judge, mp_server: MpTarget, mp_keys: MpKeys) -> None:
    """Tokens of every size that a server takes are told apart."""
    one, chunks = worker(client, judge, mp_server, mp_keys), contents(2)
    tokens = [*range(127, 127 + 6), 255, 256, 65535, 65536, 2**31 - 1, 2**31, *[2**32 - 1] * (2 * CHUNK - 12)]
    whole = request(mp_keys, tokens)
    one.stored(whole, chunks)
    one.hits(request(mp_keys, [token & 0xFFFF for token in tokens]), 0, because="the tokens are others")
    one.loaded(whole.again(), chunks)


@case("MP-FLOW-008", targets=SERVERS, needs=DATA, releases=TRANSFER)
def test_retrieve_without_lookup(client: Subject, judge: Judge, mp_server: MpTarget, mp_keys: MpKeys) -> None:
    """A retrieve that no lookup came before is a miss: nothing holds the chunks in place."""
    one, chunks = worker(client, judge, mp_server, mp_keys), contents(2)
    whole = request(mp_keys, some_tokens(2))
    one.stored(whole, chunks)
    missed(judge, one, whole.again(), because="no lookup came before it")
    one.loaded(whole.again(), chunks)


@case("MP-FLOW-008", targets=SERVERS, needs=DATA, releases=TRANSFER)
def test_retrieve_beyond_the_hits(client: Subject, judge: Judge, mp_server: MpTarget, mp_keys: MpKeys) -> None:
    """A retrieve of more chunks than the lookup found is a miss, and what is left of the locks can be given back."""
    one, tokens = worker(client, judge, mp_server, mp_keys), some_tokens(3)
    one.stored(request(mp_keys, tokens[: 2 * CHUNK]), contents(2))
    wanted = request(mp_keys, tokens)
    one.lookup(wanted)
    missed(judge, one, wanted, because="the third chunk is not stored")


@case("MP-FLOW-011", targets=SERVERS, needs=(*DATA, "mp_clear"), releases=TRANSFER, own_server=True)
def test_clear(client: Subject, judge: Judge, mp_server: MpTarget, mp_keys: MpKeys) -> None:
    """After a clear nothing is found, and what is stored again is found again, with its new bytes."""
    one, whole = worker(client, judge, mp_server, mp_keys), request(mp_keys, some_tokens(2))
    one.stored(whole, contents(2))
    one.loaded(whole.again(), contents(2))
    client.ok("mp_clear", connection=one.connection, force=True)
    one.hits(whole.again(), 0, because="the cache was cleared", cite="MP-FLOW-011")
    missed(judge, one, whole.again(), because="the cache was cleared")
    one.stored(whole.again(), contents(2, seed=7))
    one.loaded(whole.again(), contents(2, seed=7))


def others(mp_keys: MpKeys) -> dict[str, dict[str, object]]:
    """Changes of a request, each of which makes it one for something else."""
    return {"model": {"model": f"{mp_keys.model}/b"}, "world-size": {"world_size": 2}, "salt": {"salt": "tenant-b"}}


@case("MP-ID-001", targets=SERVERS, needs=DATA, releases=TRANSFER, variants=parameters("model", "world-size", "salt"))
def test_others(client: Subject, judge: Judge, mp_server: MpTarget, mp_keys: MpKeys, vector: str) -> None:
    """Chunks of another model, world size or salt are not found, and both are kept beside each other."""
    changes = others(mp_keys)[vector]
    one = worker(client, judge, mp_server, mp_keys)
    whole = request(mp_keys, some_tokens(2))
    other = whole.again(**changes)
    second = knows_too(one, other)
    one.stored(whole, contents(2))
    second.hits(other, 0, because=f"the {vector} is another one", cite="MP-ID-001")
    for rank in range(other.world_size):
        there = second if rank == 0 else knows_too(one, other, rank=rank)
        there.stored(other.again(), contents(2, seed=20 + rank))
    one.loaded(whole.again(), contents(2))
    again = other.again()
    second.lookup(again)
    second.retrieved(again, contents(2, seed=20))


@case(
    "MP-ID-001",
    "MP-KEY-004",
    targets=SERVERS,
    needs=DATA,
    releases="0.4.6 and later",
    variants=parameters("ab", "é" * 20, "a" * 128),
)
def test_salts(client: Subject, judge: Judge, mp_server: MpTarget, mp_keys: MpKeys, vector: str) -> None:
    """A request with a salt finds what was stored with the same salt, and nothing that was stored with a similar one or none."""
    one, whole = worker(client, judge, mp_server, mp_keys), request(mp_keys, some_tokens(2), salt=vector)
    one.stored(whole, contents(2))
    for salt in ("", vector[:-1], vector.upper()):
        one.hits(whole.again(salt=salt), 0, because="the salt is another one", cite="MP-ID-001")
    one.loaded(whole.again(), contents(2))


@case("MP-ID-002", "MP-KEY-002", targets=SERVERS, needs=DATA, releases=TRANSFER)
def test_ranks(client: Subject, judge: Judge, mp_server: MpTarget, mp_keys: MpKeys) -> None:
    """A prefix is found once every rank has stored its shard, and each rank then loads its own."""
    ranks = [worker(client, judge, mp_server, mp_keys, world_size=2, rank=rank) for rank in (0, 1)]
    whole = request(mp_keys, some_tokens(2), world_size=2)
    ranks[1].stored(whole, contents(2, seed=31))
    ranks[0].hits(whole.again(), 0, because="the shards of rank 0 are missing", cite="MP-ID-002")
    ranks[0].stored(whole.again().part(0, CHUNK), contents(1, seed=30))
    ranks[0].hits(whole.again(), 1, because="the second shard of rank 0 is missing", cite="MP-ID-002")
    ranks[0].stored(whole.again(), contents(2, seed=30))
    wanted = whole.again()
    ranks[0].lookup(wanted)
    for rank, one in enumerate(ranks):
        one.retrieved(wanted, contents(2, seed=30 + rank))


def missed(judge: Judge, one: Worker, wanted: Request, *, because: str) -> None:
    """A retrieve gives nothing."""
    judge.not_ok("mp_retrieve", one.retrieve(wanted), because=because, kinds=("refused", "protocol"), miss=True)
