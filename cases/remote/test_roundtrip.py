"""What is stored comes back as it was, and nothing else does."""

from typing import Any

from cases.remote.promises import comes_back, miss, promise, says, store, stored, whole_or_miss
from harness.case import Variant, parameters
from harness.judge import Judge
from harness.remote.chunks import CHUNK_TOKENS, LARGE, LATENT, STANDARD, Chunks, Layout
from harness.remote.connector import Connector
from harness.remote.contract import KEY_HAS_DTYPE, KEY_HAS_TAGS
from harness.remote.session import Connectors
from wire.release import Release

LAYOUTS: dict[str, Layout] = {
    "whole-float16": STANDARD,
    "whole-bfloat16": Layout(dtype="bfloat16"),
    "whole-float32": Layout(dtype="float32"),
    "whole-uint8": Layout(dtype="uint8"),
    "odd": Layout(layers=3, heads=1, size=5),
    "latent": LATENT,
    "latent-bfloat16": Layout(kv=1, layers=3, heads=1, size=36, dtype="bfloat16"),
}
PARTS: dict[str, dict[str, Any]] = {
    "model": {"model": "lmconform/another"},
    "world-size": {"world_size": 2},
    "worker": {"world_size": 2, "worker_id": 1},
    "dtype": {"dtype": "bfloat16"},
    "tag": {"tags": (("tenant", "a"),)},
    "tag-value": {"tags": (("tenant", "b"),)},
}


@promise("CONN-SEM-001", "CONN-SEM-002", "CONN-MEM-001", "CONN-MEM-002", variants=parameters(*LAYOUTS))
def test_stored(connectors: Connectors, chunks: Chunks, judge: Judge, vector: str) -> None:
    """A full chunk of any engine comes back with its bytes, shape, dtype and format."""
    connector = connectors.open(layout=LAYOUTS[vector])
    several = chunks.chunks(3, LAYOUTS[vector])
    store(connector, judge, *several)
    for chunk in several:
        comes_back(judge, connector.get(chunk.key), chunk)


@promise("CONN-SEM-002", variants=parameters("KV_T2D", "KV_2TD"))
def test_layer_by_layer(connectors: Connectors, chunks: Chunks, judge: Judge, vector: str) -> None:
    """A chunk of one layer, which has three dimensions, comes back as it was stored."""
    connector = connectors.open(config={"use_layerwise": True})
    tokens, hidden = CHUNK_TOKENS, STANDARD.heads * STANDARD.size
    shape = (tokens, 2, hidden) if vector == "KV_T2D" else (2, tokens, hidden)
    chunk = chunks.chunk(shape=shape, format=vector)
    store(connector, judge, chunk)
    comes_back(judge, connector.get(chunk.key), chunk)


@promise("CONN-SEM-008", "CONN-SEM-002", variants=parameters(1, 7, CHUNK_TOKENS - 1))
def test_last_chunk(connectors: Connectors, chunks: Chunks, judge: Judge, vector: int) -> None:
    """The last chunk of a prompt, which has fewer tokens than a full one, comes back with as many."""
    for layout in (STANDARD, LATENT):
        connector = connectors.open(layout=layout)
        chunk = chunks.chunk(layout, tokens=vector)
        store(connector, judge, chunk)
        comes_back(judge, connector.get(chunk.key), chunk, cite="CONN-SEM-008")


@promise("CONN-SEM-009", "CONN-SEM-002", releases="0.3.4 and later", variants=parameters(1, 7, CHUNK_TOKENS))
def test_without_metadata(connectors: Connectors, chunks: Chunks, judge: Judge, vector: int) -> None:
    """With ``save_chunk_meta: false`` a chunk with any number of tokens comes back all the same."""
    connector = connectors.open(extra_config={"save_chunk_meta": False})
    several = [chunks.chunk(tokens=vector) for _ in range(2)]
    store(connector, judge, *several)
    for chunk in several:
        comes_back(judge, connector.get(chunk.key), chunk, cite="CONN-SEM-009")


@promise("CONN-SEM-003")
def test_nothing(connector: Connector, chunks: Chunks, judge: Judge) -> None:
    """What was never stored is a miss, before and after something else is stored."""
    stranger = chunks.key()
    miss(judge, connector.get(stranger), because="nothing was stored yet")
    store(connector, judge, chunks.chunk())
    miss(judge, connector.get(stranger), because="only another key was stored")


@promise("CONN-SEM-004")
def test_existence(connector: Connector, chunks: Chunks, judge: Judge) -> None:
    """``exists`` says what ``get`` does."""
    several = chunks.chunks(3)
    for chunk in several:
        says(judge, connector.exists(chunk.key), False, what="exists of a key that was never stored", cite="CONN-SEM-004")
    store(connector, judge, *several[:2])
    for number, chunk in enumerate(several):
        there = number < 2
        says(judge, connector.exists(chunk.key), there, what="exists after some were stored", cite="CONN-SEM-004")
        judge.holds((connector.get(chunk.key).found is not None) is there, "get and exists do not agree", cite="CONN-SEM-004")


@promise("CONN-SEM-005", releases="0.3.4 and later")
def test_existence_at_once(connector: Connector, chunks: Chunks, judge: Judge) -> None:
    """``exists_sync``, in a thread of its own, says the same."""
    chunk, stranger = chunks.chunk(), chunks.key()
    says(judge, connector.exists_sync(chunk.key), False, what="exists_sync before it was stored", cite="CONN-SEM-005")
    store(connector, judge, chunk)
    says(judge, connector.exists_sync(chunk.key), True, what="exists_sync after it was stored", cite="CONN-SEM-005")
    says(judge, connector.exists_sync(stranger), False, what="exists_sync of another key", cite="CONN-SEM-005")


def parts(release: Release) -> list[Variant]:
    """Variants: the parts that keys of the release have."""
    known = {"dtype": KEY_HAS_DTYPE, "tag": KEY_HAS_TAGS, "tag-value": KEY_HAS_TAGS}
    return [Variant(name, name) for name in PARTS if name not in known or known[name][release]]


@promise("CONN-SEM-006", variants=parts)
def test_another_key(connector: Connector, chunks: Chunks, judge: Judge, vector: str) -> None:
    """Two keys that differ in one part are two objects."""
    first = chunks.chunk(key=chunks.key(tags=(("tenant", "a"),)) if vector == "tag-value" else None)
    other = first.key.changed(**PARTS[vector])
    texts = connector.texts([first.key, other])
    store(connector, judge, first)
    miss(judge, connector.get(other), because=f"{texts[1]} was never stored, only {texts[0]}", cite="CONN-SEM-006")
    says(
        judge, connector.exists(other), False, what=f"exists of {texts[1]}, while only {texts[0]} is stored", cite="CONN-SEM-006"
    )
    second = chunks.chunk(key=other, version=2)
    store(connector, judge, second)
    for chunk in (first, second):
        comes_back(judge, connector.get(chunk.key), chunk, after="beside one with another key", cite="CONN-SEM-006")


@promise("CONN-SEM-007")
def test_stored_twice(connector: Connector, chunks: Chunks, judge: Judge) -> None:
    """A key that is stored again holds one of the two objects, whole."""
    first = chunks.chunk()
    second = chunks.chunk(key=first.key, version=2)
    shorter = chunks.chunk(key=first.key, version=3, tokens=3)
    store(connector, judge, first, first)
    comes_back(judge, connector.get(first.key), first, after="stored twice")
    for again in (second, shorter, first):
        store(connector, judge, again)
        got = connector.get(first.key)
        judge.holds(got.found is not None, "a key that was stored again is a miss", cite="CONN-SEM-007", client_answered=str(got))
        whole_or_miss(judge, got, first, second, shorter, because="after the key was stored again", cite="CONN-SEM-007")


@promise("CONN-SEM-012", once_for="contract")
def test_large(connectors: Connectors, chunks: Chunks, judge: Judge) -> None:
    """A chunk of 64 MiB comes back."""
    connector = connectors.open(layout=LARGE, pool=160 << 20)
    chunk = chunks.chunk(LARGE)
    store(connector, judge, chunk)
    comes_back(judge, connector.get(chunk.key), chunk, cite="CONN-SEM-012")


@promise("CONN-SEM-013")
def test_compressed(connector: Connector, chunks: Chunks, judge: Judge) -> None:
    """An object of plain bytes, which lmcache's own compression makes, comes back."""
    size = 777
    made = chunks.chunk(shape=(size,), dtype="uint8", format="BINARY_BUFFER")
    chunk = type(made)(made.key, made.payload, made.format, None, (size, 0, 0, 0))
    answer = connector.put(chunk)
    judge.holds(
        answer.raised is None,
        "put of an object of plain bytes raised",
        cite="CONN-SEM-013",
        client_answered=f"raised {answer.raised}",
    )
    got = connector.get(chunk.key)
    if got.found is None:
        judge.fail("an object of plain bytes does not come back", cite="CONN-SEM-013", client_answered=str(got))
    judge.same_bytes(chunk.payload, got.found.payload, what="the plain bytes that were stored", cite="CONN-SEM-013")


@promise("CONN-SEM-010")
def test_listing(connector: Connector, chunks: Chunks, judge: Judge) -> None:
    """``list`` answers the text of every stored key."""
    several = chunks.chunks(3)
    store(connector, judge, *several)
    texts = connector.texts([chunk.key for chunk in several])
    answer = connector.listing()
    right = answer.kind == "list" and set(texts) <= set(answer.value)
    judge.holds(
        right, "list does not name what is stored", cite="CONN-SEM-010", client_answered=str(answer), conformant_answer=str(texts)
    )


@promise("CONN-SEM-011", releases="0.3.9 and later")
def test_removed(connector: Connector, chunks: Chunks, judge: Judge) -> None:
    """What was removed is a miss, what was not is there, and the key can be stored again."""
    connector.need("remove_sync")
    gone, kept = chunks.chunks(2)
    says(judge, connector.remove(gone.key), False, what="remove_sync of what was never stored", cite="CONN-SEM-011")
    store(connector, judge, gone, kept)
    says(judge, connector.remove(gone.key), True, what="remove_sync of a stored key", cite="CONN-SEM-011")
    miss(judge, connector.get(gone.key), because="it was removed", cite="CONN-SEM-011")
    says(judge, connector.exists(gone.key), False, what="exists of a removed key", cite="CONN-SEM-011")
    comes_back(judge, connector.get(kept.key), kept, after="after another was removed", cite="CONN-SEM-011")
    stored(judge, connector.put(gone))
    comes_back(judge, connector.get(gone.key), gone, after="after it was removed and stored again", cite="CONN-SEM-011")
