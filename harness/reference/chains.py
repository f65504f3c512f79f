"""What both operations that chain hashes need."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from harness.client import ClientError
from harness.reference.values import wire_errors

HASH_OF_NONE: Final = hash(None)
"""An address before CPython 3.12: builtin keys of 0.3.4 to 0.3.15 then hold in this process only, as the real ones do."""


@contextmanager
def chain_errors() -> Iterator[None]:
    """Turn errors of a chain into those of the contract."""
    with wire_errors():
        try:
            yield
        except OverflowError as error:
            raise ClientError("refused", f"a token does not fit into 32 bits: {error}") from error


def check_chunk_size(chunk_size: int) -> None:
    """Refuse a chunk of no tokens."""
    if chunk_size < 1:
        raise ClientError("refused", f"a chunk of {chunk_size} tokens is none")
