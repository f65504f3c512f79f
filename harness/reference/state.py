"""What a process of a reference client holds, for the operation ``state``."""

from __future__ import annotations

import contextlib
import resource
from pathlib import Path


def process_state() -> dict[str, int]:
    """Memory, and where the system tells it, descriptors and threads."""
    answer = {"resident_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}
    with contextlib.suppress(OSError, ValueError):
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
        answer["resident_bytes"] = int(pages) * resource.getpagesize()
        answer["file_descriptors"] = sum(1 for _ in Path("/proc/self/fd").iterdir()) - 1
        answer["threads"] = sum(1 for _ in Path("/proc/self/task").iterdir())
    return answer
