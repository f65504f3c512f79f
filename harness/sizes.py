"""Numbers of bytes as people write them: ``4096`` or ``8MiB``."""

from __future__ import annotations

import re
from typing import Final

from wire.numerals import NoNumber, read_integer

_SIZE: Final = re.compile(r"(?P<number>[0-9]+) ?(?:(?P<unit>[KMGT])i?B?|B)?", re.IGNORECASE | re.ASCII)


def size_of(text: str) -> int | None:
    """Bytes of ``4096`` or ``8MiB``; None for anything else."""
    found = _SIZE.fullmatch(text.strip())
    try:
        return read_integer(found["number"]) << 10 * " KMGT".index((found["unit"] or " ").upper()) if found else None
    except NoNumber:
        return None
