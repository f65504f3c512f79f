"""How long a chunk is, and whether what a server says of its shared memory can be right."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from harness.client import ClientError
from wire.mp.values import Value

ELEMENT_BYTES: Final = {
    "float64": 8,
    "float32": 4,
    "float16": 2,
    "bfloat16": 2,
    "float8_e4m3fn": 1,
    "float8_e5m2": 1,
    "int64": 8,
    "int32": 4,
    "int16": 2,
    "int8": 1,
    "uint8": 1,
}
"""Bytes of an element, by torch's name of the type."""


@dataclass(frozen=True)
class Layout:
    """The chunk of a registered worker."""

    num_layers: int
    hidden_dim_size: int
    dtype: str
    use_mla: bool

    @classmethod
    def of(cls, context: Mapping[str, Any]) -> Layout:
        """The layout that a context describes.

        Raises:
            ClientError: its element type is not known.
        """
        if context["dtype"] not in ELEMENT_BYTES:
            raise ClientError("refused", f"no element type {context['dtype']!r:.40}; known: {', '.join(ELEMENT_BYTES)}")
        return cls(context["num_layers"], context["hidden_dim_size"], context["dtype"], context["use_mla"])

    def shape(self, chunk_size: int) -> tuple[int, ...]:
        """The dimensions of a chunk."""
        return (*(() if self.use_mla else (2,)), self.num_layers, chunk_size, self.hidden_dim_size)

    def length(self, chunk_size: int) -> int:
        """The bytes of a chunk."""
        return (1 if self.use_mla else 2) * self.num_layers * chunk_size * self.hidden_dim_size * ELEMENT_BYTES[self.dtype]


@dataclass(frozen=True)
class Slot:
    """A place in the pool."""

    offset: int
    length: int


def slots_of(found: Value, count: int, length: int, pool_size: int) -> list[Slot]:
    """The slots that a server names, once it is sure that each can hold a chunk and nothing else.

    Raises:
        ClientError: they are not so many, not inside the pool, not as long as a chunk, or one lies on another.
    """
    if not isinstance(found, list) or not all(isinstance(slot, dict) for slot in found):
        raise ClientError("protocol", "the slots of the reply are no array of maps")
    if len(found) != count:
        raise ClientError("refused", f"the reply names {len(found)} slots, and {count} were due")
    slots = [Slot(_integer(slot, "offset"), _integer(slot, "length")) for slot in found]
    for number, slot in enumerate(slots):
        if slot.length != length:
            raise ClientError("refused", f"slot {number} has {slot.length} bytes, and a chunk has {length}")
        if slot.offset < 0 or slot.offset + slot.length > pool_size:
            raise ClientError("refused", f"slot {number} at {slot.offset} is not inside the pool of {pool_size} bytes")
    inside = sorted(slot.offset for slot in slots)
    if any(after - before < length for before, after in itertools.pairwise(inside)):
        raise ClientError("refused", "two slots of the reply lie on each other")
    return slots


def indices_of(found: Value, count: int) -> Sequence[int]:
    """The numbers of the chunks that a server wants, each inside the range and named once.

    Raises:
        ClientError: they are anything else.
    """
    if not isinstance(found, list) or not all(type(index) is int for index in found):
        raise ClientError("protocol", "the chunk indices of the reply are no array of integers")
    if len(set(found)) != len(found) or any(not 0 <= index < count for index in found):
        raise ClientError("refused", f"the chunk indices {found!s:.60} are not {count} chunks' indices, each named once")
    return found


def _integer(slot: Mapping[str, Any], member: str) -> int:
    value = slot.get(member)
    if type(value) is not int:
        raise ClientError("protocol", f"the {member} of a slot is no integer")
    return value
