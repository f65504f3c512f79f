"""Expected keys: what a text from a log, a store or the wire says, part by part, and which hashes it may spell."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from harness.usage import UsageError
from wire.keys import KEY_GRAMMARS, ChunkHash, HashStyle
from wire.release import Release

_HASH: Final = re.compile(r"-?(0[xX])?[0-9a-fA-F]{1,80}")
"""256 bits have 78 decimal digits."""
_DECIMAL: Final = re.compile(r"-?[0-9]+")
_NUMBER: Final = re.compile(r"-?[0-9]{1,18}")
_ENDINGS: Final = ("metadata", "kv_bytes", ".data", ".pt")
"""What the Redis connector and the file stores put behind a key."""
_SLASH: Final = "-SEP-"
"""What stands for a slash in file names."""

_LONGEST: Final = 200
"""Characters that a message shows of a text that is no key."""

Spelled = tuple[str, int, int]
"""A value in one form: ``int`` or ``digest``, the number of bytes of a digest, and the number."""


@dataclass(frozen=True)
class Expected:
    """A text that is a key, or the hash of one alone."""

    text: str
    hash_text: str
    bare: bool = True
    """Only the hash."""
    fmt: str | None = None
    model: str = ""
    world_size: str = ""
    worker_id: str = ""
    dtype: str | None = None
    layer: str | None = None
    tags: tuple[tuple[str, str], ...] = ()
    from_file: bool = False
    """It is the name of a file, in which the slashes of a model may have become dashes."""


def read_expected(text: str, release: Release, *, model: str = "") -> Expected:
    """Read a key string of whatever release, or a bare hash; where a text can be read in two ways, as the release writes it.

    ``model`` is known to be a model, also if it holds the separator.

    Raises:
        UsageError: it is neither.
    """
    clean, from_file = _bared(text.strip())
    shown = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
    if "@" not in clean:
        if not _HASH.fullmatch(clean):
            raise UsageError(
                f"--expect {shown!r} is neither a key nor a hash: a key has parts joined with '@', "
                "a hash is hexadecimal or decimal digits, with a minus sign if it is negative"
            )
        return Expected(text, clean)
    readings = list(_readings(text, clean.split("@"), from_file))
    if not readings:
        raise UsageError(
            f"--expect {shown!r} is no key: a key of lmcache {release} reads {_form(release)}, "
            "where world size and worker id are numbers and the hash is digits"
        )
    grammar = KEY_GRAMMARS[release]
    return min(
        readings,
        key=lambda found: (
            "@" in found.model and found.model != model,
            (found.fmt is not None) != grammar.prefix,
            (found.dtype is not None) != (grammar.dtype_names is not None),
            len(found.model),
        ),
    )


def spelled_values(text: str) -> Iterator[Spelled]:
    """The values that a hash may be, in whatever way it is written."""
    digits = text.lower().replace("0x", "", 1)
    bodies = [(digits, 16)] if not _DECIMAL.fullmatch(digits) else [(digits, 16), (digits, 10)]
    for body, base in bodies:
        number = int(body, base)
        yield "int", 0, number
        if 1 << 63 <= number < 1 << 64:
            yield "int", 0, number - (1 << 64)
        if -(1 << 63) <= number < 0:
            yield "int", 0, number + (1 << 64)
        if number >= 0:
            for size in (8, 16, 32):
                if number < 1 << 8 * size:
                    yield "digest", size, number


def spelled(value: ChunkHash) -> Spelled:
    """The form of a computed value that `spelled_values` gives."""
    if isinstance(value, str):
        value = bytes.fromhex(value)
    if isinstance(value, bytes):
        return "digest", len(value), int.from_bytes(value, "big")
    return "int", 0, value


def spelling(value: ChunkHash, text: str, style: HashStyle, *, bare: bool) -> tuple[str, ...] | None:
    """The ids of the causes that a value is written as this text and not as the release writes it; None: it is not the value.

    A bare hash may be in either base.
    """
    variants = list(_variants(value, style, bare=bare))
    return min((causes for written, causes in variants if written == text), key=len, default=None)


def _variants(value: ChunkHash, style: HashStyle, *, bare: bool) -> Iterator[tuple[str, tuple[str, ...]]]:
    raw = bytes.fromhex(value) if isinstance(value, str) else value
    number = int.from_bytes(raw, "big") if isinstance(raw, bytes) else raw
    decimal = style in {"decimal", "decimal-read-as-hex"} and not isinstance(raw, bytes)
    signs: list[tuple[int, tuple[str, ...]]] = [(number, ())]
    if isinstance(raw, int) and raw < 0:
        signs.append((raw + (1 << 64), ("hash-unsigned",)))
    if isinstance(raw, int) and 1 << 63 <= raw < 1 << 64:
        signs.append((raw - (1 << 64), ("hash-signed",)))
    for signed, sign in signs:
        base = () if decimal or bare else ("hash-decimal",)
        yield str(signed), (*sign, *base)
        base = ("hash-hexadecimal",) if decimal and not bare else ()
        for digits, width in _widths(raw, signed):
            for written, case in ((digits, ()), (digits.upper(), ("hash-upper-case",))):
                if case and written == digits:
                    continue
                yield written, (*sign, *base, *width, *case)
                prefixed = written.replace("-", "-0x") if written.startswith("-") else f"0x{written}"
                yield prefixed, (*sign, *base, *width, *case, *(() if bare else ("hash-0x",)))


def _widths(raw: int | bytes, number: int) -> Iterator[tuple[str, tuple[str, ...]]]:
    short = f"{number:x}"
    if isinstance(raw, bytes):
        yield raw.hex(), ()
        if short != raw.hex():
            yield short, ("hash-zeros-lost",)
        return
    yield short, ()
    sign, digits = ("-", short[1:]) if number < 0 else ("", short)
    if len(digits) < 16:
        yield sign + digits.zfill(16), ("hash-zeros-added",)


def _bared(text: str) -> tuple[str, bool]:
    for ending in _ENDINGS:
        if "@" in text and text.endswith(ending) and len(text) > len(ending):
            bared = text.removesuffix(ending)
            if ending.startswith("."):
                return bared.rpartition("/")[2].replace(_SLASH, "/"), True
            return bared, False
    return text, False


def _readings(text: str, parts: list[str], from_file: bool) -> Iterator[Expected]:
    for at in range(3, len(parts)):
        world, worker, digits = parts[at - 2 : at + 1]
        if not (_NUMBER.fullmatch(world) and _NUMBER.fullmatch(worker) and _HASH.fullmatch(digits)):
            continue
        rest = parts[at + 1 :]
        dtype = rest.pop(0) if rest and "%" not in rest[0] and not rest[0].isdigit() else None
        layer = rest.pop(0) if rest and _NUMBER.fullmatch(rest[0]) else None
        if not all("%" in part for part in rest):
            continue
        tags = tuple((name, value) for name, _, value in (part.partition("%") for part in rest))
        for prefixed in (False, True):
            named = parts[prefixed : at - 2]
            if named:
                fmt = parts[0] if prefixed else None
                yield Expected(text, digits, False, fmt, "@".join(named), world, worker, dtype, layer, tags, from_file)


def _form(release: Release) -> str:
    grammar = KEY_GRAMMARS[release]
    parts = ["model", "world size", "worker id", "hash"]
    return "@".join([*(["fmt"] if grammar.prefix else []), *parts, *(["dtype"] if grammar.dtype_names is not None else [])])
