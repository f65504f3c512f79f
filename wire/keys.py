"""Cache keys: what identifies one chunk of KV cache, and the key string that crosses the wire.

Source: ``lmcache.utils`` of each release (``CacheEngineKey``, ``LayerCacheEngineKey``, ``parse_cache_key``).
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

from wire.errors import DecodeError, EncodeError
from wire.numerals import NoNumber, decimal
from wire.release import RangeTable, Release

ChunkHash = int | bytes | str
"""A signed integer of any width, a digest, or (until 0.3.2) opaque text."""

HashStyle = Literal["text", "decimal", "decimal-read-as-hex", "hex"]

TAG_PREFIX: Final = "lmcache.tag."
"""Request settings whose name begins so are tags; the name of the tag is what follows."""


@dataclass(frozen=True)
class CacheKey:
    """Identity of one chunk, or of one layer of it.

    ``fmt`` is the serving engine's name (None from 0.3.13), ``dtype`` a torch name (None until 0.3.9), ``tags`` are ordered.
    ``settings`` are what 0.3.4 and 0.3.5 make of tags that they read: part of identity, sorted, and never written back.
    """

    model: str
    world_size: int
    worker_id: int
    chunk_hash: ChunkHash
    dtype: str | None = None
    fmt: str | None = None
    layer: int | None = None
    tags: tuple[tuple[str, str], ...] = ()
    settings: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class KeyGrammar:
    """How a release writes and reads key strings."""

    prefix: bool
    """``fmt@`` stands in front."""
    hash_style: HashStyle
    dtype_names: Mapping[str, str] | None
    """torch name to the name in the key; None where keys carry no dtype."""
    tags: bool
    digests: bool
    """Hashes that are bytes can be written."""
    server_layers: bool
    """A server takes layer keys; before 0.3.14 its parser looked at the wrong part and dropped the connection."""
    tags_become_settings: bool = False
    """A tag that is read is taken for a request setting: a tag only if its name begins with :data:`TAG_PREFIX` once more."""

    @functools.cached_property
    def dtype_of_name(self) -> dict[str, str]:
        """Name in the key to torch name; where two dtypes share a name the later one wins, as it does upstream."""
        return {name: dtype for dtype, name in (self.dtype_names or {}).items()}


_COMMON = {
    "float16": "half",
    "bfloat16": "bfloat16",
    "float32": "float",
    "float64": "double",
    "int8": "int8",
    "uint8": "uint8",
    "int16": "int16",
    "int32": "int32",
    "int64": "int64",
    "bool": "bool",
}
_FP8_SHARED: Final[Mapping[str, str]] = MappingProxyType(
    {
        **_COMMON,
        "float8_e4m3fn": "fp8_e4m3",
        "float8_e4m3fnuz": "fp8_e4m3",
        "float8_e5m2": "fp8_e5m2",
        "float8_e5m2fnuz": "fp8_e5m2",
    }
)
_FP8_OWN: Final[Mapping[str, str]] = MappingProxyType(
    {
        **_COMMON,
        "float8_e4m3fn": "fp8_e4m3fn",
        "float8_e4m3fnuz": "fp8_e4m3fnuz",
        "float8_e5m2": "fp8_e5m2",
        "float8_e5m2fnuz": "fp8_e5m2fnuz",
    }
)

KEY_GRAMMARS = RangeTable(
    "key grammar",
    ("0.3.1", KeyGrammar(True, "text", None, tags=False, digests=False, server_layers=False)),
    ("0.3.3", KeyGrammar(True, "decimal", None, tags=False, digests=False, server_layers=False)),
    (
        "0.3.4",
        KeyGrammar(True, "decimal-read-as-hex", None, tags=True, digests=False, server_layers=False, tags_become_settings=True),
    ),
    ("0.3.6", KeyGrammar(True, "hex", None, tags=True, digests=False, server_layers=False)),
    ("0.3.9.post1", KeyGrammar(True, "hex", _FP8_SHARED, tags=True, digests=False, server_layers=False)),
    ("0.3.13", KeyGrammar(False, "hex", _FP8_SHARED, tags=True, digests=True, server_layers=False)),
    ("0.3.14", KeyGrammar(False, "hex", _FP8_OWN, tags=True, digests=True, server_layers=True)),
)


def format_key(release: Release, key: CacheKey) -> str:
    """The key string of a release.

    Raises:
        EncodeError: the key has a part that the release cannot write, or lacks one that it must, or a number in base 10 is so
            long that Python, and with it lmcache, does not write it.
    """
    grammar = KEY_GRAMMARS[release]
    middle = _format_hash(release, grammar, key.chunk_hash)
    before, behind = _around_hash(release, grammar, key)
    return f"{before}{middle}{behind}"


def format_keys(release: Release, identity: CacheKey, hashes: Sequence[ChunkHash]) -> list[str]:
    """The key strings that differ in their hash alone; ``identity`` gives the rest.

    Raises:
        EncodeError: as `format_key` does, for the first key that the release cannot write.
    """
    if not hashes:
        return []
    grammar = KEY_GRAMMARS[release]
    _format_hash(release, grammar, hashes[0])
    before, behind = _around_hash(release, grammar, identity)
    return [f"{before}{_format_hash(release, grammar, value)}{behind}" for value in hashes]


def _around_hash(release: Release, grammar: KeyGrammar, key: CacheKey) -> tuple[str, str]:
    """What stands before the hash of a key and behind it."""
    before = [key.model, _decimal("world size", key.world_size), _decimal("worker id", key.worker_id)]
    if grammar.prefix:
        if key.fmt is None:
            raise EncodeError(f"keys of lmcache {release} begin with the engine's name; fmt is missing")
        before.insert(0, key.fmt)
    behind = []
    if grammar.dtype_names is not None:
        try:
            behind.append(grammar.dtype_names[key.dtype or ""])
        except KeyError:
            raise EncodeError(f"dtype {key.dtype!r} has no name in keys of lmcache {release}") from None
    if key.layer is not None:
        behind.append(_decimal("layer", key.layer))
    if key.tags and not grammar.tags:
        raise EncodeError(f"keys of lmcache {release} carry no tags")
    behind += [f"{name}%{value}" for name, value in key.tags]
    return "".join(f"{part}@" for part in before), "".join(f"@{part}" for part in behind)


def any_key(release: Release, model: str = "lmconform") -> str:
    """A key string that every server of the release can parse, for requests that are about no key (HEALTH, LIST)."""
    grammar = KEY_GRAMMARS[release]
    return format_key(
        release,
        CacheKey(
            model=model,
            world_size=1,
            worker_id=0,
            chunk_hash="0" if grammar.hash_style == "text" else 0,
            dtype="float16" if grammar.dtype_names is not None else None,
            fmt="vllm" if grammar.prefix else None,
        ),
    )


def parse_key(release: Release, text: str) -> CacheKey:
    """Read a key string of either class: a part behind the dtype that is all digits is a layer.

    Raises:
        DecodeError: too few parts, a number that is none, an unknown dtype, or a tag without ``%``.
    """
    grammar = KEY_GRAMMARS[release]
    parts = text.split("@")
    position = _fixed_parts(grammar)
    layered = len(parts) > position and parts[position].isdigit()
    return _parse(release, grammar, text, parts, layered=layered)


def parse_key_as_server(release: Release, text: str) -> CacheKey:
    """Read the key field of a request as the real server does: integers as Python's ``int`` takes them.

    Two keys name the same value on a server exactly when the results are equal. Source: ``ClientMetaMessage.deserialize``.

    Raises:
        DecodeError: the real server would drop the connection.
    """
    grammar = KEY_GRAMMARS[release]
    text = text.strip()
    parts = text.split("@")
    position = _fixed_parts(grammar)
    layered = grammar.server_layers and len(parts) > position and parts[position].isdigit()
    return _parse(release, grammar, text, parts, layered=layered)


def _fixed_parts(grammar: KeyGrammar) -> int:
    return 4 + grammar.prefix + (grammar.dtype_names is not None)


def _parse(release: Release, grammar: KeyGrammar, text: str, parts: list[str], *, layered: bool) -> CacheKey:
    needed = _fixed_parts(grammar)
    if len(parts) < needed or (not grammar.tags and len(parts) > needed + layered):
        raise DecodeError(f"key {text!r} has {len(parts)} parts, lmcache {release} needs {needed}")
    fmt = parts[0] if grammar.prefix else None
    model, world, worker, digest = parts[grammar.prefix : grammar.prefix + 4]
    dtype = None
    if grammar.dtype_names is not None:
        name = parts[needed - 1]
        try:
            dtype = grammar.dtype_of_name[name]
        except KeyError:
            raise DecodeError(f"key {text!r}: no dtype is called {name!r} in lmcache {release}") from None
    tags = _parse_tags(text, parts[needed + layered :]) if len(parts) > needed + layered else {}
    settings: dict[str, str] = {}
    if grammar.tags_become_settings:
        settings = {name: value for name, value in tags.items() if not name.startswith(TAG_PREFIX)}
        tags = {name.removeprefix(TAG_PREFIX): value for name, value in tags.items() if name.startswith(TAG_PREFIX)}
    try:
        return CacheKey(
            model=model,
            world_size=int(world),
            worker_id=int(worker),
            chunk_hash=_parse_hash(grammar, digest),
            dtype=dtype,
            fmt=fmt,
            layer=int(parts[needed]) if layered else None,
            tags=tuple(tags.items()),
            settings=tuple(sorted(settings.items())),
        )
    except ValueError as error:
        raise DecodeError(f"key {text!r}: {error}") from None


def _parse_tags(text: str, parts: list[str]) -> dict[str, str]:
    tags: dict[str, str] = {}
    for part in parts:
        name, separator, value = part.partition("%")
        if not separator:
            raise DecodeError(f"key {text!r}: {part!r} is no tag, a tag reads name%value")
        tags[name] = value
    return tags


def _decimal(what: str, value: int) -> str:
    try:
        return decimal(value)
    except NoNumber as error:
        raise EncodeError(f"the {what} of a key cannot be written: {error}") from None


def _format_hash(release: Release, grammar: KeyGrammar, value: ChunkHash) -> str:
    if grammar.hash_style == "text":
        if isinstance(value, str):
            return value
    elif isinstance(value, int):
        return f"{value:x}" if grammar.hash_style == "hex" else _decimal("chunk hash", value)
    elif isinstance(value, bytes) and grammar.digests:
        return value.hex()
    raise EncodeError(f"a chunk hash of type {type(value).__name__} cannot be written in keys of lmcache {release}")


def _parse_hash(grammar: KeyGrammar, text: str) -> ChunkHash:
    if grammar.hash_style == "text":
        return text
    return int(text, 10 if grammar.hash_style == "decimal" else 16)
