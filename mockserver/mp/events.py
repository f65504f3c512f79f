"""The log of objects that come and go, for subscribers (0.5.6).

A stored chunk is told where its tokens are known, which are those of the transfer that the server drives; a removed one always.
Source: ``lmcache.v1.multiprocess.modules.kv_events``.
"""

from __future__ import annotations

import itertools
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from wire.mp.objects import ObjectKey

_KEPT: Final = 32768


class EventLog:
    """Records in their order; the caller holds the lock of the server."""

    def __init__(self) -> None:
        self.changed: Callable[[], None] = lambda: None
        """Called whenever there is a new record; it must not block."""
        self._incarnation = time.time_ns()
        self._records: deque[dict[str, Any]] = deque(maxlen=_KEPT)
        self._next = 1
        self._tokens: dict[bytes, tuple[Sequence[int], bytes | None]] = {}

    def bind(self, digest: bytes, tokens: Sequence[int], parent: bytes | None) -> None:
        """Say of which tokens a chunk is."""
        self._tokens[digest] = (tokens, parent)
        while len(self._tokens) > _KEPT:
            del self._tokens[next(iter(self._tokens))]

    def stored(self, keys: Iterable[ObjectKey]) -> None:
        """Objects can be read from now on."""
        for model, digests in _by_model(keys).items():
            for digest in digests:
                if digest in self._tokens:
                    tokens, parent = self._tokens[digest]
                    self._append("stored", model, [digest], parent, list(tokens))

    def removed(self, keys: Iterable[ObjectKey]) -> None:
        """Objects are gone."""
        for model, digests in _by_model(keys).items():
            self._append("removed", model, digests, None, [])

    def read(self, model: str, cursor: int, most: int) -> dict[str, Any]:
        """The records of a model behind a cursor."""
        last = self._next - 1
        first = self._records[0]["seq"] if self._records else last + 1
        batch: dict[str, Any] = {
            "enabled": True,
            "incarnation": self._incarnation,
            "next_cursor": min(cursor, last),
            "lost": cursor + 1 < first or cursor > last,
            "events": [],
        }
        for record in itertools.islice(self._records, min(max(0, cursor + 1 - first), len(self._records)), None):
            batch["next_cursor"] = record["seq"]
            if record["model_name"] == model:
                batch["events"].append(record)
                if len(batch["events"]) == most:
                    break
        return batch

    def _append(self, kind: str, model: str, digests: list[bytes], parent: bytes | None, tokens: list[int]) -> None:
        self._records.append(
            {
                "seq": self._next,
                "kind": kind,
                "medium": "CPU",
                "model_name": model,
                "block_hashes": digests,
                "parent_block_hash": parent,
                "token_ids": tokens,
            }
        )
        self._next += 1
        self.changed()


def _by_model(keys: Iterable[ObjectKey]) -> dict[str, list[bytes]]:
    found: dict[str, dict[bytes, None]] = {}
    for key in keys:
        found.setdefault(key.model_name, {})[key.chunk_hash] = None
    return {model: list(digests) for model, digests in found.items()}
