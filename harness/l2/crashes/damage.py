"""Damages one file of a folder, whatever it is, as a disk may."""

from __future__ import annotations

from pathlib import Path
from random import Random


def damage_one_file(folder: Path, random: Random) -> str | None:
    """Flip a bit, cut, blank or remove; in words, or None if there is no file with anything in it."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink() and path.stat().st_size)
    if not files:
        return None
    path = random.choice(files)
    content = bytearray(path.read_bytes())
    name = path.relative_to(folder)
    place = random.choice((0, len(content) - 1, random.randrange(len(content))))
    match random.choice(("flip", "flip", "flip", "cut", "blank", "remove")):
        case "flip":
            content[place] ^= 1 << random.randrange(8)
            path.write_bytes(content)
            return f"a bit of byte {place} of {name} was flipped"
        case "cut":
            path.write_bytes(content[:place])
            return f"{name} was cut to {place} of {len(content)} bytes"
        case "blank":
            path.write_bytes(bytes(len(content)))
            return f"{name} was overwritten with {len(content)} zeros"
        case _:
            path.unlink()
            return f"{name} was removed"
