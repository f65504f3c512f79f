"""Damages stored bytes on purpose, for those who try what a plugin makes of it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from harness.reference.l2.folder import MANIFEST, fragment_name, place_of

How = Literal["flip", "truncate", "delete"]


def damage(root: Path, key: str, how: How) -> bool:
    """Flip a bit in the first fragment of an object, cut it by one byte, or delete it; False if there is no such object.

    An object without bytes has no fragments; its manifest is damaged instead.
    """
    place = place_of(root, key)
    victim = place / fragment_name(0)
    if not victim.exists():
        victim = place / MANIFEST
    if not victim.exists():
        return False
    if how == "delete":
        victim.unlink()
    elif how == "truncate":
        os.truncate(victim, victim.stat().st_size - 1)
    else:
        data = bytearray(victim.read_bytes())
        data[len(data) // 2] ^= 1
        victim.write_bytes(data)
    return True
