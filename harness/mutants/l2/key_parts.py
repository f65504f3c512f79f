"""Keys of storage plugins taken apart, for mutants that see less of them than there is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from harness.reference.l2 import ReferencePlugin
from harness.reference.l2.batches import Batch, Kind


@dataclass(frozen=True)
class KeyParts:
    """``model@kv_rank[@group]@hash[@salt]``; empty where a part is not there."""

    model: str
    rank: str = ""
    group: str = ""
    digest: str = ""
    salt: str = ""

    @classmethod
    def of(cls, key: str) -> Self:
        """The parts of a key, of whatever release: a group has eight digits at most, a hash has more."""
        model, *rest = key.split("@")
        rank = rest.pop(0) if rest else ""
        group = rest.pop(0) if rest and len(rest[0]) <= 8 else ""
        return cls(model, rank, group, *rest[:2])


class NamedOtherwise(ReferencePlugin):
    """The reference plugin with another name for each object."""

    def name(self, parts: KeyParts) -> str:
        """Under which the object is kept; keys with the same name share it."""
        raise NotImplementedError

    def _batch(self, kind: Kind, keys: Sequence[str], buffers: Sequence[Any] = ()) -> Batch:
        return super()._batch(kind, [self.name(KeyParts.of(key)) for key in keys], buffers)
