"""Payloads that say which value they are, so that a mixture of two is seen as such."""

from __future__ import annotations

import itertools
import struct
import zlib
from dataclasses import dataclass
from typing import Final

_MARK: Final = struct.Struct("<4sIIII")
_MAGIC: Final = b"lmcv"
_SUM: Final = struct.Struct("<I")
SMALLEST: Final = _MARK.size + _SUM.size
"""Bytes of the smallest stamped payload."""


@dataclass(frozen=True, order=True)
class Stamp:
    """Which value a payload is: the number of its key, who wrote it, and the how-many-eth value of that writer it is."""

    key: int
    writer: int
    sequence: int

    def payload(self, size: int) -> bytes:
        """A payload of ``size`` bytes: the stamp again and again, and a CRC-32 over all of it at the end."""
        if size < SMALLEST:
            raise ValueError(f"a stamped payload has at least {SMALLEST} bytes, not {size}")
        mark = _MARK.pack(_MAGIC, self.key, self.writer, self.sequence, size)
        body = (mark * (size // len(mark) + 1))[: size - _SUM.size]
        return body + _SUM.pack(zlib.crc32(body))

    def __str__(self) -> str:
        return f"value {self.sequence} of writer {self.writer} for key {self.key}"


class TornError(ValueError):
    """A payload is not one stamped value; the message says what it is made of."""


def read_stamp(payload: bytes) -> Stamp:
    """Which value a payload is.

    Raises:
        TornError: it is cut, mixed or none.
    """
    if len(payload) < SMALLEST:
        raise TornError(f"{len(payload)} bytes are no stamped payload")
    magic, key, writer, sequence, size = _MARK.unpack_from(payload)
    if magic != _MAGIC:
        raise TornError(f"the payload does not begin as a stamped one does: {payload[:16].hex()}")
    stamp = Stamp(key, writer, sequence)
    if size != len(payload):
        raise TornError(f"{len(payload)} bytes that begin as {stamp}, which has {size}")
    if payload != stamp.payload(size):
        raise TornError(f"{len(payload)} bytes that begin as {stamp} and go on as {_others(payload, stamp)}")
    return stamp


def _others(payload: bytes, stamp: Stamp) -> str:
    """The stamps behind the first, where they begin, or that there are none."""
    for start in itertools.count(payload.find(_MAGIC, 1)):
        start = payload.find(_MAGIC, start)  # noqa: PLW2901  # from one mark to the next
        if start < 0 or start + _MARK.size > len(payload):
            return "bytes of no stamped value"
        _, key, writer, sequence, _ = _MARK.unpack_from(payload, start)
        if Stamp(key, writer, sequence) != stamp:
            return f"{Stamp(key, writer, sequence)} from byte {start} on"
    raise AssertionError("not reached")
