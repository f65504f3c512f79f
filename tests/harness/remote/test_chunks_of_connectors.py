"""What cases about connectors store."""

import math

from harness.remote.chunks import ITEM_SIZES, LARGE, LATENT, STANDARD, Chunks, pattern
from wire.release import Release

CHUNKS = Chunks(Release.parse("0.5.6"))


def test_a_chunk_has_as_many_bytes_as_its_shape_says():
    for chunk in (CHUNKS.chunk(), CHUNKS.chunk(LATENT, tokens=7), CHUNKS.chunk(shape=(16, 2, 8), dtype="uint8", format="KV_T2D")):
        assert len(chunk.payload) == math.prod(chunk.shape) * ITEM_SIZES[chunk.dtype]


def test_a_large_chunk_has_64_mib():
    assert math.prod(LARGE.shape()) * ITEM_SIZES[LARGE.dtype] == 64 << 20


def test_no_two_keys_and_no_two_payloads_are_the_same():
    several = CHUNKS.chunks(20)
    assert len({chunk.key for chunk in several}) == len({chunk.payload for chunk in several}) == 20
    again = CHUNKS.chunk(key=several[0].key, version=2)
    assert again.payload != several[0].payload


def test_every_mebibyte_of_a_large_pattern_is_another():
    data = pattern("x", 3 << 20)
    assert len({data[start : start + 64] for start in range(0, len(data), 1 << 20)}) == 3
    assert len(data) == 3 << 20


def test_latent_attention_has_a_format_of_its_own():
    assert (STANDARD.format, LATENT.format) == ("KV_2LTD", "KV_MLA_FMT")
