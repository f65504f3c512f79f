"""The program that makes the kernel ask us before chosen system calls: classic BPF, as ``seccomp`` takes it."""

from __future__ import annotations

import platform
import struct
from collections.abc import Iterable
from typing import Final

from harness.l2.calls.table import ARCHITECTURES, CALLS

_LOAD: Final = 0x20
_JUMP_IF_EQUAL: Final = 0x15
_RETURN: Final = 0x06
_ALLOW: Final = 0x7FFF0000
_ASK: Final = 0x7FC00000
_NUMBER_AT: Final = 0
_ARCHITECTURE_AT: Final = 4


def numbers(names: Iterable[str], machine: str | None = None) -> dict[int, str]:
    """The calls of these names that a machine has (this one, if none is given), by number."""
    found = {CALLS[name].number(machine or platform.machine()): name for name in names}
    return {number: name for number, name in found.items() if number is not None}


def filter_program(names: Iterable[str], machine: str | None = None) -> bytes:
    """A program that asks for the calls of these names and lets all others through.

    Raises:
        KeyError: the machine is none whose calls are known.
    """
    asked = sorted(numbers(names, machine))
    count = len(asked)
    steps = [
        (_LOAD, 0, 0, _ARCHITECTURE_AT),
        (_JUMP_IF_EQUAL, 1, 0, ARCHITECTURES[machine or platform.machine()]),
        (_RETURN, 0, 0, _ALLOW),
        (_LOAD, 0, 0, _NUMBER_AT),
        *((_JUMP_IF_EQUAL, count - place, 0, number) for place, number in enumerate(asked)),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _ASK),
    ]
    return b"".join(struct.pack("=HBBI", *step) for step in steps)
