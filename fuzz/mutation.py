"""Changes inputs: bytes, numbers, lines, and members of JSON. The same seed gives the same changes, with or without atheris."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Sequence
from typing import Any, Final

_NUMBERS: Final = (
    0,
    1,
    -1,
    2,
    3,
    127,
    128,
    255,
    256,
    65535,
    65536,
    (1 << 31) - 1,
    -(1 << 31),
    1 << 31,
    (1 << 32) - 1,
    1 << 32,
    (1 << 53) + 1,
    (1 << 63) - 1,
    -(1 << 63),
    1 << 63,
    (1 << 64) - 1,
    1 << 64,
    10**400,
    10**4300,
    -(10**5000),
    1.5,
    -0.0,
    1e308,
    5e-324,
)
_TEXTS: Final = (
    "",
    " ",
    "\0",
    "\n",
    "..",
    "../x",
    "/",
    "/dev/null",
    "a/../../b",
    "\\",
    "@",
    "%",
    ":",
    ",",
    "{",
    "}",
    "{port}",
    "'",
    '"',
    "$(x)",
    ";",
    "\ud800",
    "\udfff",
    "\udc80",
    "\u202e",
    "\ufeff",
    "\x1b[31m",
    "é",
    "１",
    "٣",
    "١e٣",
    "１２",
    "x" * 600,
    "null",
    "true",
    "-0",
    "1_000",
    "0x10",
    "1e999",
    "nan",
    "inf",
    "-inf",
    "9" * 4400,
    "2.0" + ".0" * 300,
    "1!2",
    "0.3.1+x",
    "<script>",
    "|",
    "[",
    "]",
    "`",
    "2026-02-30",
)
_WORDS: Final = (
    b"NaN",
    b"Infinity",
    b"1e999",
    b"-0",
    b'"\\ud800"',
    b'"\\udc80\\ud800"',
    b"[" * 1200,
    b'{"a":' * 1200,
    b"\0",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\xed\xa0\x80",
    b"\r\n",
    b"\n\n",
    b"9" * 4400,
    b"1" + b"0" * 400,
    b"-",
    b"\xdf\xff\xff\xff\xff",
    b"\xdd\x7f\xff\xff\xff",
    b"\x91" * 1200,
    b"\xc7\x0c\xff",
    b"\xd7\xff" + b"\xff" * 8,
    b"\xca\x7f\xc0\0\0",
    b"\xcf" + b"\xff" * 8,
    b"\xff\xff\xff\x7f",
    b"\0\0\0\x80",
    b"\xff\xff\xff\xff",
)
_DIGITS: Final = re.compile(rb"-?\d+")
_DEEP: Final = 40


def mutated(data: bytes, rng: random.Random, longest: int, others: Sequence[bytes] = ()) -> bytes:
    """An input made of another, at most so long; ``others`` lend parts of themselves."""
    made = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 5, 8))):
        if rng.random() < 0.4 and (changed := _structured(bytes(made), rng)) is not None:
            made = bytearray(changed)
        else:
            rng.choice(_CHANGES)(made, rng, others)
    return bytes(made[:longest])


def _structured(data: bytes, rng: random.Random) -> bytes | None:
    """The same with one member of one line changed; None where no line is JSON."""
    lines = data.split(b"\n")
    index = rng.randrange(len(lines))
    begin = lines[index].find(b"{")
    if begin < 0 or len(lines[index]) > 1 << 16:
        return None
    try:
        value = json.loads(lines[index][begin:])
    except (ValueError, RecursionError):
        return None
    places = list(_places(value, 0))
    if not places:
        return None
    container, key = rng.choice(places)
    rng.choice(_MEMBERS)(container, key, rng)
    try:
        lines[index] = lines[index][:begin] + json.dumps(value, ensure_ascii=True).encode()
    except (ValueError, RecursionError):  # a whole number of more digits, or arrays deeper, than Python writes
        return None
    return b"\n".join(lines)


def _places(value: Any, depth: int) -> list[tuple[Any, Any]]:
    found: list[tuple[Any, Any]] = []
    if depth > _DEEP or not isinstance(value, dict | list):
        return found
    for key in value if isinstance(value, dict) else range(len(value)):
        found.append((value, key))
        found += _places(value[key], depth + 1)
    return found


def _some_value(rng: random.Random) -> Any:
    return rng.choice(
        (
            None,
            True,
            False,
            [],
            {},
            [[]],
            {"": None},
            [None] * 20,
            float("nan"),
            float("inf"),
            rng.choice(_NUMBERS[:22]),
            rng.choice(_TEXTS),
            rng.choice(_TEXTS),
            "é" * rng.randrange(30),
        )
    )


def _replace(container: Any, key: Any, rng: random.Random) -> None:
    container[key] = _some_value(rng)


def _drop(container: Any, key: Any, rng: random.Random) -> None:
    del rng
    del container[key]


def _rename(container: Any, key: Any, rng: random.Random) -> None:
    if isinstance(container, dict):
        container[rng.choice((*_TEXTS, *map(str, container)))] = container.pop(key)
    else:
        container.append(container[key])


def _nest(container: Any, key: Any, rng: random.Random) -> None:
    value = container[key]
    for _ in range(rng.choice((1, 2, 200, 600))):
        value = [value]
    container[key] = value


def _nudge(container: Any, key: Any, rng: random.Random) -> None:
    value = container[key]
    if isinstance(value, str):
        at = rng.randrange(len(value) + 1)
        container[key] = value[:at] + rng.choice(_TEXTS) + value[at + rng.randrange(3) :]
    elif isinstance(value, int | float) and not isinstance(value, bool):
        container[key] = rng.choice(
            (value + 1, value - 1, -value, value * 1000, float(value) if abs(value) < 1 << 60 else 0, str(value))
        )
    else:
        _replace(container, key, rng)


_MEMBERS: Final[tuple[Callable[[Any, Any, random.Random], None], ...]] = (
    _replace,
    _replace,
    _drop,
    _rename,
    _nest,
    _nudge,
    _nudge,
)


def _span(made: bytearray, rng: random.Random) -> tuple[int, int]:
    begin = rng.randrange(len(made) + 1)
    return begin, min(len(made), begin + rng.choice((1, 1, 2, 4, 8, 32, 200)))


def _flip(made: bytearray, rng: random.Random, _: Sequence[bytes]) -> None:
    if made:
        made[rng.randrange(len(made))] ^= 1 << rng.randrange(8)


def _byte(made: bytearray, rng: random.Random, _: Sequence[bytes]) -> None:
    if made:
        made[rng.randrange(len(made))] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))


def _insert(made: bytearray, rng: random.Random, _: Sequence[bytes]) -> None:
    at = rng.randrange(len(made) + 1)
    made[at:at] = rng.randbytes(rng.choice((1, 2, 4, 16)))


def _delete(made: bytearray, rng: random.Random, _: Sequence[bytes]) -> None:
    begin, end = _span(made, rng)
    del made[begin:end]


def _repeat(made: bytearray, rng: random.Random, _: Sequence[bytes]) -> None:
    begin, end = _span(made, rng)
    made[begin:begin] = bytes(made[begin:end]) * rng.choice((1, 1, 2, 10))


def _cut(made: bytearray, rng: random.Random, _: Sequence[bytes]) -> None:
    del made[rng.randrange(len(made) + 1) :]


def _word(made: bytearray, rng: random.Random, _: Sequence[bytes]) -> None:
    begin, end = _span(made, rng)
    word = rng.choice((*_WORDS, *(text.encode("utf-8", "surrogatepass") for text in _TEXTS)))
    made[begin : rng.choice((begin, end))] = word


def _integer(made: bytearray, rng: random.Random, _: Sequence[bytes]) -> None:
    """Four or eight bytes become an extreme number."""
    if len(made) >= 8:
        width, order = rng.choice((2, 4, 8)), rng.choice(("little", "big"))
        number = rng.choice(_NUMBERS[:22]) % (1 << 8 * width)
        at = rng.randrange(len(made) - width + 1)
        made[at : at + width] = number.to_bytes(width, "little" if order == "little" else "big")


def _decimal(made: bytearray, rng: random.Random, _: Sequence[bytes]) -> None:
    """A number in digits becomes another."""
    found = list(_DIGITS.finditer(made))
    if found:
        one = rng.choice(found)
        number = rng.choice(_NUMBERS[:23])
        made[one.start() : one.end()] = str(number).encode()


def _splice(made: bytearray, rng: random.Random, others: Sequence[bytes]) -> None:
    if others:
        other = rng.choice(others)
        begin, end = _span(bytearray(other), rng)
        at = rng.randrange(len(made) + 1)
        made[at : at + rng.choice((0, 0, end - begin))] = other[begin:end]


def _lines(made: bytearray, rng: random.Random, _: Sequence[bytes]) -> None:
    """A line is written twice, left out, or changes place."""
    lines = bytes(made).split(b"\n")
    one = rng.randrange(len(lines))
    line = lines.pop(one)
    for _again in range(rng.randrange(3)):
        lines.insert(rng.randrange(len(lines) + 1), line)
    made[:] = b"\n".join(lines)


_CHANGES: Final[tuple[Callable[[bytearray, random.Random, Sequence[bytes]], None], ...]] = (
    _flip,
    _byte,
    _byte,
    _insert,
    _delete,
    _repeat,
    _cut,
    _word,
    _word,
    _integer,
    _decimal,
    _splice,
    _splice,
    _lines,
)
