"""Objects of the server: which chunks a key means, and their names."""

import struct

import pytest
from blake3 import blake3

from wire.mp.objects import ObjectKey, chunk_hashes, kv_rank, object_key_text, object_keys
from wire.release import Release

KEY = {
    "model_name": "org/m",
    "world_size": 2,
    "worker_id": 1,
    "token_ids": list(range(10)),
    "start": 0,
    "end": 10,
    "cache_salt": "s",
}


def chain(*chunks: range) -> list[bytes]:
    """The digests, by hand: big-endian tokens behind the digest before."""
    digest = blake3(bytes(12)).digest()
    found = []
    for chunk in chunks:
        digest = blake3(digest + b"".join(struct.pack(">I", token) for token in chunk)).digest()
        found.append(digest)
    return found


def test_only_whole_chunks_have_objects() -> None:
    assert chunk_hashes(KEY, 4) == chain(range(4), range(4, 8))


def test_chunks_before_start_are_hashed_and_not_named() -> None:
    assert chunk_hashes({**KEY, "start": 4}, 4) == chain(range(4), range(4, 8))[1:]


def test_a_lookup_begins_at_the_first_token() -> None:
    assert chunk_hashes({**KEY, "start": 4}, 4, from_start=True) == chain(range(4), range(4, 8))


@pytest.mark.parametrize(("end", "count"), [(-3, 0), (0, 0), (3, 0), (4, 1), (7, 1), (99, 2)])
def test_tokens_behind_the_end_do_not_count(end: int, count: int) -> None:
    assert len(chunk_hashes({**KEY, "end": end}, 4)) == count


def test_a_key_of_the_hash_mode_has_its_one_hash() -> None:
    assert chunk_hashes({"chunk_hash": b"\x00\x01"}, 4) == [b"\x00\x01"]


def test_without_worker_each_chunk_has_an_object_for_each_rank() -> None:
    found = object_keys({**KEY, "worker_id": None}, 4)
    assert [key.kv_rank for key in found] == [0x02000200, 0x02010201] * 2
    assert kv_rank(2, 1) == found[1].kv_rank


@pytest.mark.parametrize(
    ("release", "text"),
    [
        ("0.4.2", "org/m@02010201@00ff"),
        ("0.4.4", "org/m@02010201@00ff@s"),
        ("0.4.7", "org/m@02010201@a@00ff@s"),
    ],
)
def test_the_name_of_an_object_grew_with_the_releases(release: str, text: str) -> None:
    key = ObjectKey(b"\x00\xff", "org/m", 0x02010201, 10, "s")
    assert object_key_text(Release.parse(release), key) == text
