"""What both operations that chain hashes need."""

from __future__ import annotations

from typing import Final

from harness.client import ClientError

HASH_OF_NONE: Final = hash(None)
"""An address before CPython 3.12: builtin keys of 0.3.4 to 0.3.15 then hold in this process only, as the real ones do."""


def check_chunk_size(chunk_size: int) -> None:
    """Refuse a chunk of no tokens."""
    if chunk_size < 1:
        raise ClientError("refused", f"a chunk of {chunk_size} tokens is none")
