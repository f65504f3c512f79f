"""Whether a value is what a release takes, or even just what lmcache itself writes; and if not, where the first wrong byte is.

``loose`` is how servers and clients read: unknown members of records are passed over, those with a default may be missing.
``exact`` is how lmcache writes: every field of a record, in its order, and nothing else.
"""

from __future__ import annotations

import itertools
import pickletools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import msgspec

from harness.tap.mp.packed import Path
from wire.mp.frames import COERCED
from wire.mp.records import ENUMERATIONS, MAPS, RECORDS
from wire.mp.registration import DATA_ONLY, MODULES
from wire.mp.types import Array, Map, Named, Optional, Scalar, Tuple, Type
from wire.mp.values import SALT_FORBIDDEN, SALT_LIMIT, WRAPPER_EXTENSION, Value, ValueRefused, unpack
from wire.release import Release

_INSTRUCTIONS: Final = 64
"""Of a pickle, within which it names its class."""
_TAGS: Final = frozenset({"cuda", "cuda_raw", "cuda_vmm", "cpu_shm", "musa", "npu"})
_SIMPLE: Final[dict[str, type]] = {"bool": bool, "str": str, "bytes": bytes, "map": dict}


@dataclass(frozen=True)
class Misfit:
    """The first place where a value is not what it should be."""

    path: Path
    """In the value."""
    expected: str
    got: str
    about: str = "value"
    """``value``; ``members`` where a record has too many or too few of them, or another order."""


def misfit(release: Release, type_: Type, value: Value, *, exact: bool) -> Misfit | None:
    """Where a payload or a result as a whole does not fit; None if it fits."""
    if COERCED[release] and not exact and type_ in (Scalar("int"), Scalar("bool")):
        return None if _converts(type_, value) else Misfit((), str(type_), kind(value))
    return next(_wrong(release, type_, value, (), exact), None)


def _converts(type_: Type, value: Value) -> bool:
    if type_ == Scalar("bool"):
        return True
    try:
        int(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


def _wrong(release: Release, type_: Type, value: Value, path: Path, exact: bool) -> Iterator[Misfit]:
    match type_:
        case Optional(inner):
            if value is not None:
                yield from _wrong(release, inner, value, path, exact)
        case Array() | Tuple() | Map():
            yield from _wrong_container(release, type_, value, path, exact)
        case Named(name):
            yield from _wrong_named(release, name, value, path, exact)
        case Scalar("ext"):
            yield from _wrong_wrapper(release, value, path)
        case Scalar(name):
            if not _is_scalar(name, value):
                yield Misfit(path, name, kind(value))


def _wrong_container(release: Release, type_: Array | Tuple | Map, value: Value, path: Path, exact: bool) -> Iterator[Misfit]:
    members: Iterable[tuple[object, Type, Value]] = ()
    match type_:
        case Array(element) if isinstance(value, list):
            if not (element == Scalar("int") and set(map(type, value)) <= {int}):  # thousands of tokens, as a rule
                members = ((index, element, member) for index, member in enumerate(value))
        case Tuple(elements) if isinstance(value, list) and len(value) == len(elements):
            members = ((index, element, value[index]) for index, element in enumerate(elements))
        case Map(key, member_type) if isinstance(value, dict):
            pairs = (((name, key, name), (name, member_type, member)) for name, member in value.items())
            members = itertools.chain.from_iterable(pairs)
        case _:
            yield Misfit(path, str(type_), kind(value))
    for step, inner, member in members:
        yield from _wrong(release, inner, member, (*path, step), exact)


def _is_scalar(name: str, value: Value) -> bool:
    if name == "any":
        return True
    if name in ("int", "float"):
        return isinstance(value, int if name == "int" else int | float) and not isinstance(value, bool)
    return isinstance(value, _SIMPLE[name])


def _wrong_named(release: Release, name: str, value: Value, path: Path, exact: bool) -> Iterator[Misfit]:
    if name in ENUMERATIONS:
        known = ENUMERATIONS[name][release]
        if value not in known:
            yield Misfit(path, f"{name}: {', '.join(known)}", kind(value))
        return
    if not isinstance(value, dict):
        yield Misfit(path, f"a map, {name}", kind(value))
        return
    if name in MAPS or name not in RECORDS:
        return
    fields = RECORDS[name][release]
    names = [field.name for field in fields]
    missing = next((field.name for field in fields if field.name not in value and (exact or field.required)), None)
    extra = next((str(member) for member in value if member not in names), None)
    if missing is not None:
        yield Misfit(
            path, f"{_a(name)} with {missing}, of {len(names)} members", f"{len(value)} members without {missing}", "members"
        )
    if exact and extra is not None:
        yield Misfit(path, f"{_a(name)} of {len(names)} members", f"{len(value)} members, also {extra:.40}", "members")
    if exact and missing is None and extra is None and list(value) != names:
        index = next(index for index, (one, other) in enumerate(zip(value, names, strict=True)) if one != other)
        yield Misfit((*path, list(value)[index]), f"{names[index]} as member {index}", str(list(value)[index]), "members")
    for field in fields:
        if field.name in value:
            yield from _wrong(release, field.type, value[field.name], (*path, field.name), exact)
    salt = value.get("cache_salt")
    if "cache_salt" in names and isinstance(salt, str) and (set(salt) & set(SALT_FORBIDDEN) or len(salt) > SALT_LIMIT):
        yield Misfit((*path, "cache_salt"), f"at most {SALT_LIMIT} characters, none of @ / \\ NUL", f"a text of {len(salt)}")


def _wrong_wrapper(release: Release, value: Value, path: Path) -> Iterator[Misfit]:
    if not isinstance(value, msgspec.msgpack.Ext) or value.code != WRAPPER_EXTENSION:
        yield Misfit(path, f"an extension value of type {WRAPPER_EXTENSION}", kind(value))
        return
    data = bytes(value.data)
    form = wrapper_form(data)
    if DATA_ONLY[release]:
        if not form.startswith("a map of type"):
            yield Misfit(path, "a KV tensor as a map", form)
        return
    known = {f"a pickle of {modules[release]}.{name}" for name, modules in MODULES.items() if modules[release] is not None}
    if form not in known:
        class_name = form.rpartition(".")[2]
        module = MODULES[class_name][release] if class_name in MODULES else None
        yield Misfit(path, f"a pickle of {module}.{class_name}" if module else "a pickle of a class that the release has", form)


def wrapper_form(data: bytes) -> str:
    """As what a KV tensor crosses the wire: ``a map of type cuda``, or ``a pickle of`` a class. The pickle is not loaded."""
    if data[:1] == b"\x80" and len(data) > 1 and data[1] <= 5:
        named = pickled_class(data)
        return f"a pickle of {named}" if named else "a pickle of no class"
    try:
        value = unpack(data)
    except ValueRefused:
        return "bytes that are neither a map nor a pickle"
    if isinstance(value, dict):
        tag = value.get("type")
        return f"a map of type {tag}" if tag in _TAGS else "a map without a known type"
    return "bytes that are neither a map nor a pickle"


def pickled_class(data: bytes) -> str | None:
    """The first name that a pickle imports, as ``module.name``; read from its instructions, of which none is carried out."""
    texts: list[str] = []
    try:
        for count, (opcode, argument, _) in enumerate(pickletools.genops(data)):
            if opcode.name == "GLOBAL":
                return ".".join(str(argument).split(" ", 1))[:200]
            if opcode.name == "STACK_GLOBAL":
                return ".".join(texts[-2:])[:200] if len(texts) > 1 else None
            if isinstance(argument, str):
                texts.append(argument)
            if count > _INSTRUCTIONS:
                return None
    except Exception:  # noqa: BLE001  # whatever a hostile pickle does to its reader
        return None
    return None


def kind(value: Value) -> str:
    """What a value is, in words that tell none of its content but small numbers."""
    if value is None:
        return "nil"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return f"the integer {value}"
    if isinstance(value, float):
        return "a float"
    if isinstance(value, str):
        return f"a text of {len(value)} characters"
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    if isinstance(value, list):
        return f"an array of {len(value)}"
    if isinstance(value, dict):
        return f"a map of {len(value)}"
    return f"an extension value of type {value.code}" if isinstance(value, msgspec.msgpack.Ext) else type(value).__name__


def _a(name: str) -> str:
    return f"{'an' if name[0] in 'AEIO' else 'a'} {name}"
