"""Between the JSON values of the contract and the values of :mod:`wire`, and between their errors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from harness.client import ClientError, UnsupportedError
from harness.reference.codec import Codec
from wire.errors import DecodeError, EncodeError
from wire.keys import CacheKey, ChunkHash
from wire.lm.frames import Description
from wire.numerals import NoNumber, decimal, shown
from wire.release import KNOWN_RELEASES, Release


def release_of(text: str) -> Release:
    """A release that the reference client declares.

    Raises:
        UnsupportedError: any other text.
    """
    if text not in KNOWN_RELEASES:
        raise UnsupportedError(f"release {text!r} is not known; known: {KNOWN_RELEASES[0]} to {KNOWN_RELEASES[-1]}")
    return Release.parse(text)


@contextmanager
def wire_errors() -> Iterator[None]:
    """Turn errors of the codecs into those of the contract: unwritable values are refused, unreadable bytes are illegal."""
    try:
        yield
    except EncodeError as error:
        raise ClientError("refused", str(error)) from error
    except DecodeError as error:
        raise ClientError("protocol", str(error)) from error


def hash_from_json(value: Mapping[str, str]) -> ChunkHash:
    """A hash: an integer, text, or bytes.

    Raises:
        EncodeError: an integer of more digits than Python reads.
    """
    if "int" in value:
        try:
            return int(value["int"])
        except ValueError:
            raise EncodeError(f"the chunk hash {shown(value['int'])!r} is no integer, or has more digits than are read") from None
    return value["text"] if "text" in value else bytes.fromhex(value["bytes"])


def hash_to_json(value: ChunkHash) -> dict[str, str]:
    """The inverse of :func:`hash_from_json`.

    Raises:
        EncodeError: an integer of more digits than Python writes, which a hexadecimal key may well hold.
    """
    if isinstance(value, int):
        try:
            return {"int": decimal(value)}
        except NoNumber as error:
            raise EncodeError(f"the chunk hash cannot be told: {error}") from None
    return {"text": value} if isinstance(value, str) else {"bytes": value.hex()}


def key_from_json(value: Mapping[str, Any]) -> CacheKey:
    """A cache key."""
    return CacheKey(
        model=value["model"],
        world_size=value["world_size"],
        worker_id=value["worker_id"],
        chunk_hash=hash_from_json(value["chunk_hash"]),
        dtype=value["dtype"],
        fmt=value["fmt"],
        layer=value["layer"],
        tags=tuple((name, text) for name, text in value["tags"]),
    )


def key_text(codec: Codec, release: Release, value: Mapping[str, Any]) -> str:
    """The key string of a key of the contract.

    A key whose string would be read back as another one is refused, although lmcache writes it (KEY-FMT-009).

    Raises:
        ClientError: of class ``refused``.
        EncodeError: the release has no words for a part of it.
    """
    key = key_from_json(value)
    for part in (key.model, key.fmt or "", *(text for tag in key.tags for text in tag)):
        if "@" in part:
            raise ClientError("refused", f"{part!r} contains the separator of keys, '@'")
    for name, _ in key.tags:
        if "%" in name:
            raise ClientError("refused", f"the tag name {name!r} contains the separator of tags, '%'")
    return codec.write_key(release, key)


def key_to_json(key: CacheKey) -> dict[str, Any]:
    """The inverse of :func:`key_from_json`."""
    return {
        "model": key.model,
        "world_size": key.world_size,
        "worker_id": key.worker_id,
        "chunk_hash": hash_to_json(key.chunk_hash),
        "dtype": key.dtype,
        "fmt": key.fmt,
        "layer": key.layer,
        "tags": [list(pair) for pair in key.tags],
    }


def description_to_json(about: Description) -> dict[str, Any]:
    """The members that requests and replies share."""
    return {
        "length": about.length,
        "format": about.format,
        "dtype": about.dtype,
        "shape": list(about.shape),
        "location": about.location,
    }
