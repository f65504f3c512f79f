"""Memory for payloads: allocated once, filled by the kernel, never copied."""

from __future__ import annotations

import contextlib
import mmap
import sys
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Final

Buffer = bytes | memoryview
"""A payload. Equal content compares equal, and ``bytes(...)`` makes a copy of either."""

MAPPED_FROM: Final = 32 << 20
"""Below, the C library hands out memory that earlier values used; above, it would map fresh pages as we do."""

_REMEMBERED: Final = 192 << 20
"""Bytes of mappings, together, that may be used again; so much may stay with a process that needs it no more."""
_mappings: Final[deque[mmap.mmap]] = deque()
_using: Final = threading.Lock()


def writable(size: int) -> memoryview:
    """Memory for ``size`` bytes.

    Large buffers are private anonymous mappings: their pages come into being as bytes arrive, so that a request which
    claims two gigabytes and sends none costs nothing. A mapping that nobody holds any more is used again, with what was in it:
    a new page costs the kernel more than the bytes that go into it.

    Where the system refuses, mappings that are remembered go back to it, and it is asked once more.

    Raises:
        MemoryError: the system has no memory of this size.
    """
    if size < MAPPED_FROM:
        try:
            return memoryview(bytearray(size))
        except MemoryError:
            _forget_mappings()
            return memoryview(bytearray(size))
    with _using:
        for mapped, references in _references(_mappings):
            # Nobody can come by it but under this lock.
            if len(mapped) == size and references <= _NOBODY:
                return memoryview(mapped)
    try:
        mapped = _new_mapping(size)
    except OSError:
        _forget_mappings()
        try:
            mapped = _new_mapping(size)
        except OSError as error:
            raise MemoryError(f"no memory for a payload of {size} bytes: {error.strerror}") from None
    held = memoryview(mapped)
    _remember(mapped)
    return held


def _remember(mapped: mmap.mmap) -> None:
    """Remember a mapping, and forget the oldest ones where they are too much; those that somebody holds live on with them."""
    if len(mapped) <= _REMEMBERED:
        with _using:
            _mappings.append(mapped)
            while sum(map(len, _mappings)) > _REMEMBERED:
                _mappings.popleft()


def _forget_mappings() -> None:
    """Give the mappings that nobody holds back to the system; the others go with those who hold them."""
    with _using:
        _mappings.clear()


def _references(mappings: Iterable[mmap.mmap]) -> Iterator[tuple[mmap.mmap, int]]:
    """Each mapping with the number of references to it."""
    for mapped in mappings:
        yield mapped, sys.getrefcount(mapped)


def _references_of_nobody() -> int:
    """What `_references` counts for a mapping that is remembered and that nobody holds; releases of Python differ.

    Without a global lock of the interpreter counts say nothing, and no mapping is used again.
    """
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        return 0
    remembered = deque([mmap.mmap(-1, 1)])
    return next(references for _, references in _references(remembered))


_NOBODY: Final = _references_of_nobody()


def _new_mapping(size: int) -> mmap.mmap:
    mapped = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with contextlib.suppress(OSError):  # a kernel without huge pages; the mapping works as it is
            mapped.madvise(mmap.MADV_HUGEPAGE)
    return mapped
