"""Questions about chunk keys, chains, token hashes and defaults."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fixturegen.inputs.identities import identity
from wire.chunks import CHUNK_CHAINS, TEXT_ALGORITHM
from wire.keys import KEY_GRAMMARS
from wire.release import Release

Asked = Iterator[tuple[str, str, dict[str, Any]]]

TOKENS: dict[str, list[int]] = {
    "none": [],
    "one": [7],
    "almost": list(range(1, 16)),
    "exact": list(range(1, 17)),
    "one-more": list(range(1, 18)),
    "three": [(index * 7919) % 50000 for index in range(48)],
    "three-and-rest": [(index * 7919) % 50000 for index in range(53)],
    "edges": [0, 1, 2**31 - 1, 2**31, 2**32 - 1, 0, 0, 151643] * 4,
}
LONG = [(index * 104729) % 151936 for index in range(520)]


def questions(release: Release) -> Asked:
    """Chunk sizes, partial chunks both ways, masks, identities; then token hashes and defaults."""
    for name, tokens in TOKENS.items():
        for unfull in (True, False):
            ending = "unfull" if unfull else "full"
            yield f"lm.chunks.{name}-{ending}", "chunk_keys", _ask(release, tokens, save_unfull_chunk=unfull)
    for size in (1, 8, 256):
        yield f"lm.chunks.size-{size}", "chunk_keys", _ask(release, LONG[: 3 * size + size // 2], chunk_size=size)
    for skip in (16, 32, 48):
        yield f"lm.chunks.skip-{skip}", "chunk_keys", _ask(release, TOKENS["three-and-rest"], skip=skip)
    yield "lm.chunks.skip-odd", "chunk_keys", _ask(release, TOKENS["three-and-rest"], skip=5)
    yield "lm.chunks.other-prefix", "chunk_keys", _ask(release, [9, *TOKENS["three"][1:]])
    yield "lm.chunks.swapped-chunks", "chunk_keys", _ask(release, TOKENS["three"][16:32] + TOKENS["three"][:16])
    yield "lm.chunks.rank-3-of-8", "chunk_keys", _ask(release, TOKENS["three"], world_size=8, worker_id=3)
    yield "lm.chunks.other-model", "chunk_keys", _ask(release, TOKENS["three"], model="Qwen/Qwen2.5-7B")
    if KEY_GRAMMARS[release].dtype_names is not None:
        yield "lm.chunks.dtype-float8", "chunk_keys", _ask(release, TOKENS["three"], dtype="float8_e4m3fn")
    if KEY_GRAMMARS[release].tags:
        tags = [["user", "alice"], ["tier", "gold"]]
        yield "lm.chunks.tags", "chunk_keys", _ask(release, TOKENS["three"], tags=tags)
    for name, answers in {
        "ints": [{"int": "11"}, {"int": "-22"}, {"int": "33"}, {"int": "44"}],
        "bytes": [{"bytes": f"{start:02x}" + "a7" * 31} for start in (0, 128, 255, 1)],
    }.items():
        args = {**_ask(release, TOKENS["three-and-rest"], save_unfull_chunk=True), "answers": answers}
        yield f"lm.chain.{name}", "chain_inputs", args
    yield "lm.defaults", "defaults", {}
    for name, tokens in TOKENS.items():
        yield f"mp.tokens.{name}", "token_hashes", {"tokens": tokens, "chunk_size": 16}
    for size in (1, 256):
        yield f"mp.tokens.size-{size}", "token_hashes", {"tokens": LONG[: 2 * size + 3], "chunk_size": size}


def _ask(release: Release, tokens: list[int], **changes: Any) -> dict[str, Any]:
    text_chain = CHUNK_CHAINS[release].third == "text chain"
    made: dict[str, Any] = {
        "tokens": tokens,
        "algorithm": TEXT_ALGORITHM if text_chain else "builtin",
        "none_hash": {"text": ""} if text_chain else {"int": "0"},
        "chunk_size": 16,
        "save_unfull_chunk": True,
        "skip": 0,
    }
    return {**made, **identity(release), **changes}
