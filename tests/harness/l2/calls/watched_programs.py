"""Runs a small program whose calls are watched."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from harness.l2.calls.call import FileCall
from harness.l2.calls.table import CHANGES
from harness.l2.calls.watcher import Decision, Watcher

HOST = Path(__file__).resolve().parents[4] / "harness" / "l2" / "host"


def watched(
    folder: Path, program: str, react: Callable[[FileCall], Decision], names: frozenset[str] = CHANGES
) -> tuple[int, Watcher]:
    """Run a program in a folder; its exit status, and the watcher when all is over."""
    watcher = Watcher(folder, react, names=names)
    code = f"import sys; sys.path.insert(0, {str(HOST)!r}); import os, watched; watched.install_if_asked()\n{program}"
    process = subprocess.Popen(
        [sys.executable, "-S", "-c", code],
        cwd=folder,
        env={**os.environ, **watcher.environment, "PYTHONDONTWRITEBYTECODE": "1"},
        pass_fds=watcher.descriptors,
    )
    try:
        watcher.attach()
        return process.wait(20), watcher
    finally:
        process.kill()
        process.wait()
        watcher.stop()
        assert watcher.failure is None
