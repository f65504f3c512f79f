"""Questions about the objects that a key record means."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from fixturegen.inputs import Question
from fixturegen.inputs.mp.samples import Schema

CHUNK: Final = 16
TOKENS: Final[dict[str, dict[str, Any]]] = {
    "two-chunks": {"token_ids": {"range": [0, 32]}, "end": 32},
    "no-tokens": {"token_ids": [], "end": 0},
    "less-than-a-chunk": {"token_ids": {"range": [0, 15]}, "end": 0},
    "one-chunk": {"token_ids": {"range": [0, 16]}, "end": 16},
    "partial-chunk": {"token_ids": {"range": [0, 40]}, "end": 32},
    "end-in-partial-chunk": {"token_ids": {"range": [0, 40]}, "end": 40},
    "end-beyond-tokens": {"token_ids": {"range": [0, 20]}, "end": 32},
    "second-chunk": {"token_ids": {"range": [0, 32]}, "start": 16, "end": 32},
    "start-inside-chunk": {"token_ids": {"range": [0, 32]}, "start": 8, "end": 32},
    "end-before-tokens": {"token_ids": {"range": [0, 64]}, "end": 32},
    "end-before-start": {"token_ids": {"range": [0, 32]}, "start": 32, "end": 16},
    "other-tokens": {"token_ids": {"range": [1, 17]}},
    "largest-tokens": {"token_ids": [2**32 - 1] * 16, "end": 16},
    "token-beyond-32-bit": {"token_ids": [2**32] * 16, "end": 16},
    "negative-token": {"token_ids": [-1] * 16, "end": 16},
    "all-workers": {"worker_id": None},
    "one-worker": {"world_size": 1, "worker_id": 0},
    "worker-7-of-8": {"world_size": 8, "worker_id": 7},
    "world-300": {"world_size": 300, "worker_id": 299},
    "model-with-separator": {"model_name": "a@b"},
    "model-unicode": {"model_name": "模型/é"},
    "salt": {"cache_salt": "tenant-a"},
}
SAME_IN_LOOKUPS: Final = (
    *("other-tokens", "largest-tokens", "token-beyond-32-bit", "negative-token", "one-worker", "worker-7-of-8", "world-300"),
    *("model-with-separator", "model-unicode", "salt"),
)
"""What is asked once: neither the range nor the worker is at its edge."""


def questions(schema: Schema) -> Iterator[Question]:
    """Token ranges, ranks, models, salts and groups, as stores and as lookups see them."""
    if not schema.has_key_field("token_ids"):
        yield _objects("two-chunks", schema.key(), lookup=False)
        return
    for name, changes in TOKENS.items():
        if not set(changes) <= {field["field"] for field in schema.records[schema.key_record]}:
            continue
        for lookup in (False,) if name in SAME_IN_LOOKUPS else (False, True):
            yield _objects(f"{'lookup' if lookup else 'range'}.{name}", schema.key(**changes), lookup=lookup)
    yield _objects("range.group-3", schema.key(), lookup=False, group=3)
    yield _objects("range.group-17", schema.key(), lookup=False, group=17)
    yield _objects("range.chunk-256", schema.key(token_ids={"range": [0, 300]}, end=256), lookup=False, chunk=256)


def _objects(name: str, key: Any, *, lookup: bool, group: int = 0, chunk: int = CHUNK) -> Question:
    return Question(f"mp.objects.{name}", "mp_object_keys", {"key": key, "chunk_size": chunk, "group": group, "lookup": lookup})
