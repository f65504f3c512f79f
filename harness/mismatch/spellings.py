"""Causes that lie in how a hash is written down."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from reports.keys.record import Cause

SPELLINGS: Final[Mapping[str, Cause]] = MappingProxyType(
    {
        cause.id: cause
        for cause in (
            Cause(
                "hash-decimal",
                "The hash is written in decimal there; the key has it in hexadecimal.",
                "Write hexadecimal digits without prefix (0.3.6 and later).",
            ),
            Cause(
                "hash-hexadecimal",
                "The hash is written in hexadecimal there; the key has it in decimal.",
                "Write decimal digits (0.3.3 to 0.3.5).",
            ),
            Cause(
                "hash-unsigned",
                "A negative hash is written as an unsigned number there (two's complement); the key has a minus sign.",
                "Read the 64 bits as a signed number and write a minus sign before the digits of its magnitude.",
            ),
            Cause(
                "hash-signed",
                "A hash from 2^63 on is written as a negative number there (two's complement); the key has it unsigned.",
                "Write the 64 bits of a digest as an unsigned number, without a minus sign.",
            ),
            Cause(
                "hash-upper-case",
                "The hash is written in upper case there.",
                "Write lower-case hexadecimal digits: keys are compared as text.",
            ),
            Cause(
                "hash-0x",
                "The hash has the prefix 0x there.",
                "Write the digits alone.",
            ),
            Cause(
                "hash-zeros-lost",
                "The leading zeros of a digest are lost there: it was written as a number.",
                "Write all bytes of a digest, two digits each (0.3.13 to 0.4.5, and until 0.3.2).",
            ),
            Cause(
                "hash-zeros-added",
                "The hash is filled with leading zeros there.",
                "Write an integer without leading zeros.",
            ),
        )
    }
)
"""Each by its id."""
