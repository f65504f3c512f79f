"""Removes a shared-memory segment when this process ends, however it ends.

The kernel keeps a named segment until somebody removes it. A small child process waits for the end of a pipe that only this
process holds, which comes with a SIGKILL as well, and removes the segment then. Where even the child was killed, the next pool
that is made removes what dead processes left (:func:`sweep`).
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
from pathlib import Path
from typing import Final

SEGMENTS: Final = Path("/dev/shm")  # noqa: S108  # where Linux keeps POSIX shared memory
PREFIX: Final = "lmcache_l1_pool_lmconform-"
"""What names of pools begin with: the server's own prefix, and ours."""
_NAME: Final = re.compile(re.escape(PREFIX) + r"(?P<pid>\d+)-[0-9a-f]+")
_SCRIPT: Final = 'trap "" INT TERM HUP; read -r line; [ "$line" = done ] || rm -f -- "$0"'


class Leash:
    """Holds one segment; :meth:`let_go` when it is removed already."""

    def __init__(self, name: str) -> None:
        self._process = subprocess.Popen(
            ["/bin/sh", "-c", _SCRIPT, str(SEGMENTS / name)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            cwd="/",
        )

    def let_go(self) -> None:
        """End the child, which removes nothing then."""
        pipe = self._process.stdin
        assert pipe is not None
        with contextlib.suppress(BrokenPipeError):
            pipe.write(b"done\n")
            pipe.flush()
        with contextlib.suppress(BrokenPipeError):
            pipe.close()
        self._process.wait()


def sweep() -> list[str]:
    """Remove the segments of pools whose process is gone; their names."""
    removed = []
    for path in SEGMENTS.glob(f"{PREFIX}*"):
        found = _NAME.fullmatch(path.name)
        if found is not None and not _lives(int(found["pid"])):
            with contextlib.suppress(OSError):
                path.unlink()
                removed.append(path.name)
    return removed


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
