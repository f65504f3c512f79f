"""A pickle in its instructions, read and never executed."""

from __future__ import annotations

import io
import pickletools
from collections.abc import Iterator
from typing import Any, Final

from docs.generator.spec.annotated import Part

_LONGEST: Final = 56


def parts(data: bytes) -> list[Part]:
    """The instructions of one pickle, each with its bytes."""
    found = list(pickletools.genops(data))
    ends = [*(place for _, _, place in found[1:]), None]
    return [
        Part(data[place:end], opcode.name, _shown(opcode.name, argument))
        for (opcode, argument, place), end in zip(found, ends, strict=True)
        if place is not None
    ]


def length(data: bytes) -> int:
    """The bytes of the pickle that stands at the beginning."""
    stream = io.BytesIO(data)
    for _ in pickletools.genops(stream):
        pass
    return stream.tell()


def sequence(data: bytes, count: int) -> tuple[list[bytes], bytes]:
    """So many pickles that stand one behind the other, and what is behind them."""
    found = []
    for _ in range(count):
        size = length(data)
        found.append(data[:size])
        data = data[size:]
    return found, data


def largest(data: bytes) -> bytes:
    """The longest bytes that a pickle holds."""
    return max(_held(data), key=len)


def _held(data: bytes) -> Iterator[bytes]:
    for _, argument, _ in pickletools.genops(data):
        if isinstance(argument, bytes):
            yield argument


def _shown(name: str, argument: Any) -> str:
    if argument is None:
        return ""
    if isinstance(argument, bytes):
        return f"{len(argument)} bytes"
    if name in {"GLOBAL", "INST"}:
        module, _, what = str(argument).partition(" ")
        return f"{module}.{what}"
    text = f'"{argument}"' if isinstance(argument, str) else str(argument)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
