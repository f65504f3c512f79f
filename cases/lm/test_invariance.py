"""The answer of a model does not depend on whether its K/V was loaded or computed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from harness.case import SERVERS, Variant, Variants, case
from harness.engine.chains import portable_chain
from harness.engine.comparison import same_answer
from harness.engine.memory import CacheFormat
from harness.engine.offload import Deployment, Engine
from harness.engine.prompts import CHUNK, FORK, NEXT_TURN, OTHER, TURN, cold
from harness.judge import Judge
from harness.subject import Subject
from harness.targets import Server
from harness.values import Keys
from wire.release import Release

PAIR = CacheFormat("KV_2LTD", "float16")
LATENT = CacheFormat("KV_MLA_FMT", "bfloat16")
CACHES = (PAIR, CacheFormat("KV_2LTD", "bfloat16"), CacheFormat("KV_2LTD", "float32"), LATENT)

STORES_AND_LOADS = ("chunk_keys", "connect", "put", "exist", "get")
PACKS = (*STORES_AND_LOADS, "pack_layout")
UNPACKS = (*STORES_AND_LOADS, "unpack_layout")
ALL = (*PACKS, "unpack_layout")


def portable(*values: Any, name: Callable[[Any], str]) -> Variants:
    """Variants for the releases whose keys a second client can make."""

    def found(release: Release) -> Sequence[Variant]:
        return [Variant(name(value), value) for value in values] if portable_chain(release) is not None else []

    return found


def caches(*values: CacheFormat) -> Variants:
    """Variants: memory formats and dtypes."""
    return portable(*values, name=lambda cache: cache.name)


def words(*values: str) -> Variants:
    """Variants: what is done."""
    return portable(*values, name=str)


@dataclass(frozen=True)
class Engines:
    """Two engines of one deployment, each with a client of its own."""

    writer: Engine
    reader: Engine


def engines(clients: tuple[Subject, Subject], judge: Judge, server: Server, keys: Keys, cache: CacheFormat) -> Engines:
    """An engine that stores with the first client, and one that loads with the second."""
    chain = portable_chain(keys.release)
    assert chain is not None
    deployment = Deployment(keys.release, chain, cache, keys.model)
    writer, reader = (Engine(deployment, client, judge, server) for client in clients)
    return Engines(writer, reader)


@case("LAY-007", "LM-GET-002", targets=SERVERS, needs=ALL, variants=caches(*CACHES))
def test_same_prompt(
    client: Subject, another_client: Subject, judge: Judge, server: Server, keys: Keys, vector: CacheFormat
) -> None:
    """A prompt that another engine has stored is answered as if it had been computed."""
    both = engines((client, another_client), judge, server, keys, vector)
    expected = cold(vector, TURN)
    both.writer.store(expected.memory, TURN)
    same_answer(both.reader, both.reader.answer(TURN), expected, found=4)


@case("LAY-007", "LM-GET-002", targets=SERVERS, needs=ALL, variants=caches(PAIR, LATENT))
def test_fresh_process(
    client: Subject, fresh_client: Subject, judge: Judge, server: Server, keys: Keys, vector: CacheFormat
) -> None:
    """A prompt is answered the same in a process that has nothing in common with the one that stored it."""
    both = engines((client, fresh_client), judge, server, keys, vector)
    expected = cold(vector, TURN)
    both.writer.store(expected.memory, TURN)
    same_answer(both.reader, both.reader.answer(TURN), expected, found=4)


@case("LAY-007", "LAY-001", "LAY-003", "LAY-004", targets=SERVERS, needs=PACKS, variants=caches(PAIR, LATENT))
def test_packed_by_the_client(
    client: Subject, another_client: Subject, judge: Judge, server: Server, keys: Keys, vector: CacheFormat
) -> None:
    """A chunk that the client packed means the same to an engine that reads it without the client's help."""
    both = engines((client, another_client), judge, server, keys, vector)
    both.reader.arranges = "model"
    expected = cold(vector, TURN)
    both.writer.store(expected.memory, TURN)
    same_answer(both.reader, both.reader.answer(TURN), expected, found=4)


@case("LAY-007", "LAY-001", "LAY-003", "LAY-004", "LAY-005", targets=SERVERS, needs=UNPACKS, variants=caches(PAIR, LATENT))
def test_unpacked_by_the_client(
    client: Subject, another_client: Subject, judge: Judge, server: Server, keys: Keys, vector: CacheFormat
) -> None:
    """A chunk that an engine packed without the client's help is put where it belongs."""
    both = engines((client, another_client), judge, server, keys, vector)
    both.writer.arranges = "model"
    expected = cold(vector, TURN)
    both.writer.store(expected.memory, TURN)
    same_answer(both.reader, both.reader.answer(TURN), expected, found=4)


@case("LAY-007", "KEY-CHUNK-007", targets=SERVERS, needs=ALL, variants=caches(PAIR))
def test_fork(client: Subject, another_client: Subject, judge: Judge, server: Server, keys: Keys, vector: CacheFormat) -> None:
    """A shorter prompt that begins like a stored one is served with what they share, and with nothing else of it."""
    both = engines((client, another_client), judge, server, keys, vector)
    stored, expected = cold(vector, TURN), cold(vector, FORK)
    both.writer.store(stored.memory, TURN)
    answer = both.reader.answer(FORK)
    same_answer(both.reader, answer, expected, found=3, others={"it is of the prompt that was stored": stored})


@case("LAY-007", "LM-EXIST-001", "LM-GET-003", targets=SERVERS, needs=ALL, variants=words("exist", "get"))
def test_miss_in_the_middle(
    client: Subject, another_client: Subject, judge: Judge, server: Server, keys: Keys, vector: Any
) -> None:
    """Where a chunk in the middle is not stored, the prompt is served with the chunks before it alone."""
    both = engines((client, another_client), judge, server, keys, PAIR)
    expected = cold(PAIR, TURN)
    both.writer.store(expected.memory, TURN, only={0, 2, 3})
    same_answer(both.reader, both.reader.answer(TURN, asking=vector), expected, found=1)


@case("LAY-007", targets=SERVERS, needs=ALL, variants=words("exist", "get"))
def test_same_chunk_of_another_prompt(
    client: Subject, another_client: Subject, judge: Judge, server: Server, keys: Keys, vector: Any
) -> None:
    """A chunk with the same tokens behind other ones is another chunk, and is not loaded."""
    both = engines((client, another_client), judge, server, keys, PAIR)
    other, expected = cold(PAIR, OTHER), cold(PAIR, TURN)
    both.writer.store(other.memory, OTHER)
    both.writer.store(expected.memory, TURN, only={0})
    answer = both.reader.answer(TURN, asking=vector)
    others = {"it was computed behind another beginning": other}
    same_answer(both.reader, answer, expected, found=1, others=others)


@case("LAY-007", "LM-GET-002", targets=SERVERS, needs=ALL, variants=caches(PAIR))
def test_stored_twice(
    client: Subject, another_client: Subject, judge: Judge, server: Server, keys: Keys, vector: CacheFormat
) -> None:
    """K/V that was computed anew and stored again is what comes back from then on, also to a client that had loaded the old."""
    both = engines((client, another_client), judge, server, keys, vector)
    old, expected = cold(vector, OTHER), cold(vector, TURN)
    both.writer.store(old.memory, OTHER, as_prompt=TURN)
    both.reader.answer(TURN)
    both.writer.store(expected.memory, TURN)
    answer = both.reader.answer(TURN)
    same_answer(both.reader, answer, expected, found=4, others={"it is what was stored first under this key": old})


@case("LAY-007", "KEY-CHUNK-007", targets=SERVERS, needs=ALL, variants=words("kept", "left-out", "continued"))
def test_last_chunk(client: Subject, another_client: Subject, judge: Judge, server: Server, keys: Keys, vector: str) -> None:
    """A last chunk that is not full serves the prompt that ends with it, if it was kept, and no longer one."""
    both = engines((client, another_client), judge, server, keys, PAIR)
    kept = vector != "left-out"
    both.writer.store(cold(PAIR, TURN).memory, TURN, unfull=kept)
    asked = NEXT_TURN if vector == "continued" else TURN
    answer = both.reader.answer(asked, unfull=kept)
    full = len(TURN) // CHUNK
    same_answer(both.reader, answer, cold(PAIR, asked), found=full + (vector == "kept"))
