"""Memory for payloads: allocated once, filled by the kernel, never copied."""

from __future__ import annotations

import contextlib
import mmap

Buffer = bytes | memoryview
"""A payload. Equal content compares equal, and ``bytes(...)`` makes a copy of either."""

MAPPED_FROM = 32 << 20
"""Below, the C library hands out memory that earlier values used; above, it would map fresh pages as we do."""


def writable(size: int) -> memoryview:
    """Memory for ``size`` bytes.

    Large buffers are private anonymous mappings: their pages come into being as bytes arrive, so that a request which
    claims two gigabytes and sends none costs nothing.

    Raises:
        MemoryError: the system refuses a mapping of this size.
    """
    if size < MAPPED_FROM:
        return memoryview(bytearray(size))
    try:
        mapped = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError as error:
        raise MemoryError(f"no memory for a payload of {size} bytes: {error}") from None
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with contextlib.suppress(OSError):  # a kernel without huge pages; the mapping works as it is
            mapped.madvise(mmap.MADV_HUGEPAGE)
    return memoryview(mapped)
