"""Expected keys whose hash is right and whose other parts, spelling or place are not."""

import pytest
from derived import TOKENS, builtins, cut, digests, folded, keys, sha, whole

ONE = keys(folded())[1]
HASH = ONE.split("@")[3]
LARGE = next(value for value in folded() if value >= 2**63)
NEGATIVE = next(value for value in builtins(cut(), 0) if value < 0)
BUILTIN = {"algorithm": "builtin", "vllm": None}
DECIMAL = {"lmcache": "0.3.3", "algorithm": "builtin", "vllm": None}
"""A release that writes hashes in decimal."""


def zeros():
    """Tokens whose first digest begins with a zero digit, and that digest."""
    for first in range(1000):
        (value,) = digests([(first,) * 16], sha("0"), carry=whole)
        if value.hex().startswith("0"):
            return [first] * 16, value
    raise AssertionError


ZERO_TOKENS, ZERO_DIGEST = zeros()
SHORT_TOKENS = next([n] * 16 for n in range(1000) if len(keys(folded(pieces=[(n,) * 16]))[0].split("@")[3]) == 15)

PARTS = {
    # the engine's name
    "fmt-kept=vllm": (f"vllm@{ONE}", {}),
    "fmt-missing": ("m@1@0@{hash}", {"lmcache": "0.3.3", "algorithm": "builtin", "vllm": None}),
    "fmt=sglang": ("sglang@m@1@0@{hash}", {"fmt": "vllm", "lmcache": "0.3.3", "algorithm": "builtin", "vllm": None}),
    # the model
    "model-case=Meta/llama": (f"Meta/llama@1@0@{HASH}@bfloat16", {"model": "meta/Llama"}),
    "model-path=Llama": (f"Llama@1@0@{HASH}@bfloat16", {"model": "meta/Llama"}),
    "model-path=/models/Llama": (f"/models/Llama@1@0@{HASH}@bfloat16", {"model": "meta/Llama"}),
    "model=Qwen": (f"Qwen@1@0@{HASH}@bfloat16", {"model": "meta/Llama"}),
    # world size and worker
    "world-size-collapsed=1": (ONE, {"world_size": 8}),
    "world-size-kept=8": (f"m@8@0@{HASH}@bfloat16", {"world_size": 8, "mla": True}),
    "world-size=4": (f"m@4@0@{HASH}@bfloat16", {"world_size": 8}),
    "worker-id=3": (f"m@1@3@{HASH}@bfloat16", {"worker_id": 0}),
    # the dtype
    "dtype-torch-name=float16": (f"m@1@0@{HASH}@float16", {"dtype": "float16"}),
    "dtype-torch-name=torch.float16": (f"m@1@0@{HASH}@torch.float16", {}),
    "dtype-torch-name=torch.bfloat16": (f"m@1@0@{HASH}@torch.bfloat16", {"dtype": "bfloat16"}),
    "dtype-fp8-name=fp8_e4m3": (f"m@1@0@{HASH}@fp8_e4m3", {"dtype": "float8_e4m3fn"}),
    "dtype=half": (f"m@1@0@{HASH}@half", {"dtype": "bfloat16"}),
    "dtype=fp9": (f"m@1@0@{HASH}@fp9", {}),
    "dtype-missing": (f"m@1@0@{HASH}", {}),
    "dtype-kept=half": ("vllm@m@1@0@{hash}@half", {"lmcache": "0.3.3", "algorithm": "builtin", "vllm": None}),
    # the layer
    "layer-off-by-one=3": (f"{ONE}@3", {"layer": 2}),
    "layer=7": (f"{ONE}@7", {"layer": 2}),
    "layer-missing": (ONE, {"layer": 2}),
    "layer-added=0": (f"{ONE}@0", {}),
    # tags
    "tags-order": (f"{ONE}@tier%gold@user%alice", {"tags": (("user", "alice"), ("tier", "gold"))}),
    "tags-dropped": (f"{ONE}@user%alice", {"tags": (("user", "alice"), ("tier", "gold"))}),
    "tags-added": (f"{ONE}@user%alice", {}),
    "tags-prefix": (f"{ONE}@lmcache.tag.user%alice", {"tags": (("user", "alice"),)}),
    "tags": (f"{ONE}@user%bob", {"tags": (("user", "alice"),)}),
    # the spelling of the hash
    "hash-decimal": (f"m@1@0@{int(HASH, 16)}@bfloat16", {}),
    "hash-hexadecimal": (f"vllm@m@1@0@{builtins(cut(), 0, third=())[0]:x}", DECIMAL),
    "hash-unsigned": (f"m@1@0@{NEGATIVE % 2**64:x}@bfloat16", BUILTIN),
    "hash-signed": (f"m@1@0@{LARGE - 2**64:x}@bfloat16", {}),
    "hash-upper-case": (f"m@1@0@{HASH.upper()}@bfloat16", {}),
    "hash-0x": (f"m@1@0@0x{HASH}@bfloat16", {}),
    "hash-zeros-lost": (f"m@1@0@{ZERO_DIGEST.hex().lstrip('0')}@bfloat16", {"lmcache": "0.4.5", "tokens": ZERO_TOKENS}),
    "hash-zeros-added": (
        keys(folded(pieces=[tuple(SHORT_TOKENS)]))[0].replace("m@1@0@", "m@1@0@0"),
        {"tokens": SHORT_TOKENS},
    ),
}


@pytest.mark.parametrize("cause", PARTS)
def test_the_part_that_differs_is_named_and_no_other(causes, cause):
    expected, deployment = PARTS[cause]
    expected = expected.replace("{hash}", str(builtins(cut(), 0, third=())[0]))
    assert causes(expected, **deployment) == [{cause}]


def test_several_parts_are_all_named(causes):
    expected = f"vllm@Qwen@1@3@{HASH.upper()}@half@1"
    given = {"model": "m", "world_size": 8, "worker_id": 0, "dtype": "bfloat16", "layer": 2}
    assert causes(expected, **given) == [
        {
            "fmt-kept=vllm",
            "model=Qwen",
            "world-size-collapsed=1",
            "worker-id=3",
            "dtype=half",
            "layer-off-by-one=1",
            "hash-upper-case",
        }
    ]


def test_parts_and_hash_are_explained_together(causes):
    (expected,) = keys(folded("42")[:1], world=4)
    assert causes(expected, world_size=8) == [{"seed=42", "world-size=4"}]


def test_parts_that_were_not_said_are_taken_from_the_expected_key(comparison):
    found = comparison(f"Qwen@8@3@{HASH}@half")
    assert found.matches
    assert {part.name: part.verdict for part in found.parts} == dict.fromkeys(
        ("model", "world size", "worker id", "dtype"), "not given"
    )


def test_what_stores_put_around_a_key_does_not_count(causes):
    given = {"model": "meta/Llama"}
    for text in (
        f"meta/Llama@1@0@{HASH}@bfloat16kv_bytes",
        f"meta/Llama@1@0@{HASH}@bfloat16metadata",
        f"/tmp/cache/meta-SEP-Llama@1@0@{HASH}@bfloat16.data",
        f"/tmp/cache/meta-Llama@1@0@{HASH}@bfloat16.pt",
    ):
        assert causes(text, **given) == [set()], text


def test_a_hash_alone_may_be_in_either_base(causes):
    for text in (HASH, str(int(HASH, 16)), f"0x{HASH}"):
        assert causes(text) == [set()], text
    for text in (f"{NEGATIVE:x}", str(NEGATIVE)):
        assert causes(text, **BUILTIN) == [set()], text


def test_an_unsigned_hash_is_seen_in_either_base(causes):
    assert causes(str(NEGATIVE % 2**64), **BUILTIN) == [{"hash-unsigned"}]
    assert causes(f"{NEGATIVE % 2**64:x}", **BUILTIN) == [{"hash-unsigned"}]


def test_hashes_of_which_some_are_written_signed_say_nothing_about_tokens(causes):
    found = folded()
    assert any(value >= 2**63 for value in found[1:])
    signed = [value - 2**64 if value >= 2**63 else value for value in found]
    assert causes(keys(signed)) == [{"hash-signed"}]
    assert causes([str(value) for value in signed]) == [{"hash-signed"}]


def test_a_model_that_holds_the_separator_is_read_up_to_the_numbers(causes):
    assert causes(f"me@home@1@0@{HASH}@bfloat16", model="me@home") == [set()]


# which chunk


def test_one_key_may_be_of_any_chunk(comparison):
    for index, key in enumerate(keys(folded())):
        found = comparison(key)
        assert found.matches
        (chunk,) = found.explanations[0].chunks
        assert (chunk.index, chunk.start, chunk.end) == (index, 16 * index, 16 * index + 16)


def test_keys_of_skipped_chunks_are_known(causes):
    assert causes(keys(folded())[0], skip=16) == [{"skip-ignored=16"}]
    assert causes(keys(folded()), skip=16) == [{"skip-ignored=16"}]
    assert causes(keys(folded())[1:], skip=16) == [set()]


def test_several_keys_are_those_of_the_first_chunks(causes):
    assert causes(keys(folded())[1:]) == [{"chunk-index=1"}]
    assert causes(keys(folded())[::-1]) == [{"chunk-order"}]


def test_a_key_of_a_partial_chunk_where_it_has_none(causes):
    every = keys(folded(pieces=cut(partial=True)))
    assert causes(every[3]) == [{"partial-chunk-hashed"}]
    assert causes(every) == [{"partial-chunk-hashed"}]
    assert causes(every, save_unfull_chunk=True) == [set()]


def test_no_key_of_a_partial_chunk_where_it_has_one(causes):
    full = keys(folded())
    assert causes(full, save_unfull_chunk=True) == [{"partial-chunk-missing"}]
    assert causes(full[:2], save_unfull_chunk=True) == [set()]
    assert causes(full[2], save_unfull_chunk=True) == [set()]


def test_the_first_chunk_whose_tokens_differ_is_named(comparison):
    other = [*TOKENS[:20], 7, *TOKENS[21:]]
    found = comparison(keys(folded(pieces=cut(other))))
    assert [cause.id for cause in found.explanations[0].causes] == ["tokens-differ"]
    assert found.explanations[0].causes[0].value == "16"
    assert found.covers == 1
    assert not found.matches


def test_tokens_that_differ_later_do_not_hide_another_seed(comparison):
    other = [*TOKENS[:40], 7, *TOKENS[41:]]
    found = comparison(keys(folded("42", pieces=cut(other))))
    assert [cause.id for cause in found.explanations[0].causes] == ["seed", "tokens-differ"]
    assert found.covers == 2
