"""Phrases that several aspects use: names with their numbers, values and outcomes of captures."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from fixturegen.vector import MASKED, Vector
from reports.drift.model import Side
from reports.plain import clip
from reports.words import count

LONGEST_VALUE: Final = 160


def name(value: object) -> str:
    """A name on the wire; none for None."""
    return "none" if value is None else str(value)


def numbered(names: Mapping[Any, int]) -> str:
    """Names with their numbers, such as ``none 0, LocalCPUBackend 1``."""
    return ", ".join(f"{name(value)} {number}" for value, number in sorted(names.items(), key=lambda pair: pair[1]))


def value(found: Any) -> str:
    """A value of a capture on one line."""
    if found == MASKED:
        return "differs from process to process"
    if isinstance(found, dict) and set(found) <= {"int", "bytes", "text", "hex"} and len(found) == 1:
        return str(next(iter(found.values())))
    return found if isinstance(found, str) else clip(json.dumps(found, ensure_ascii=False), LONGEST_VALUE)


def outcome(vector: Vector) -> Side:
    """What a capture says about one input; for decoders with the bytes that went in."""
    given = bytes.fromhex(vector.args["bytes"]["hex"]) if vector.op.startswith("decode_") else None
    if vector.ok is None:
        return Side(clip(vector.refusal, LONGEST_VALUE), given)
    if set(vector.ok) == {"bytes"}:
        data = bytes.fromhex(vector.ok["bytes"]["hex"])
        return Side(count(len(data), "byte"), data)
    if set(vector.ok) == {"text"}:
        return Side(value(vector.ok["text"]))
    return Side(clip(json.dumps(dict(vector.ok), ensure_ascii=False), LONGEST_VALUE), given)


def ranges(numbers: Sequence[int]) -> str:
    """Rising integers as ranges: ``1 to 4``, ``2``, ``1, 3 to 5``."""
    found: list[list[int]] = []
    for number in sorted(numbers):
        if found and number == found[-1][-1] + 1:
            found[-1].append(number)
        else:
            found.append([number])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in found)


def alike(one: Any, other: Any) -> bool:
    """Whether two outcomes are equal as far as neither is masked."""
    if MASKED in (one, other):
        return True
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(alike(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(alike, one, other))
    return bool(one == other)
