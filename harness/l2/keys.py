"""Keys of objects in the form that a ``native_plugin`` is given, release by release."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace
from typing import Final

from harness.l2.contract import KEYS
from wire.release import Release, ReleaseRange

_RANGES: Final = {form: releases for releases, form in KEYS.rows()}
SALTED: Final = ReleaseRange(_RANGES["salted"].first)
"""Releases whose keys may end in a salt."""
GROUPED: Final = _RANGES["grouped"]
"""Releases whose keys tell the object group."""
SALT_LIMIT: Final = 128
"""Characters of the longest salt (``ObjectKey`` in ``lmcache.v1.distributed.api``)."""


@dataclass(frozen=True)
class L2Key:
    """The parts of a key; a model name may hold anything but ``@``, a salt neither that nor ``/``, a backslash or NUL."""

    model: str
    hash: bytes
    kv_rank: int = 0
    group: int = 0
    salt: str = ""

    def text(self, release: Release) -> str:
        """``model@kv_rank@group@hash[@salt]``, rank in eight hexadecimal digits."""
        parts = [self.model, f"{self.kv_rank:08x}"]
        if release in GROUPED:
            parts.append(f"{self.group:x}")
        parts.append(self.hash.hex())
        if self.salt and release in SALTED:
            parts.append(self.salt)
        return "@".join(parts)


class L2Keys:
    """Makes keys that nothing else uses, also in a store that other runs filled."""

    def __init__(self, release: Release, model: str = "lmconform/l2") -> None:
        self.release = release
        self._model = model

    def one(self, *, model: str | None = None, kv_rank: int = 0, group: int = 0, salt: str = "") -> str:
        """A key."""
        return L2Key(model or self._model, secrets.token_bytes(32), kv_rank, group, salt).text(self.release)

    def some(self, count: int) -> list[str]:
        """Several keys that differ in their hash alone."""
        key = L2Key(self._model, b"")
        return [replace(key, hash=secrets.token_bytes(32)).text(self.release) for _ in range(count)]
