"""Servers in processes of their own, which say in their first line where they listen."""

from __future__ import annotations

import contextlib
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_LISTENS: Final = re.compile(r"listens on (?:\w+://)?127\.0\.0\.1:(\d+)")


@dataclass(frozen=True)
class RunningServer:
    """A server of this machine: its port on the loopback address, and its process."""

    port: int
    pid: int

    def forget_peak(self) -> None:
        """Let the kernel take the memory that it has now for the most that it ever had."""
        Path(f"/proc/{self.pid}/clear_refs").write_text("5")

    def peak_mib(self) -> float:
        """The most memory that it had since, in MiB (``VmHWM``)."""
        status = dict(line.split(":", 1) for line in Path(f"/proc/{self.pid}/status").read_text().splitlines())
        return int(status["VmHWM"].split()[0]) / 1024


def command(module: str, *words: str) -> list[str]:
    """The command that runs ``main`` of a module of ours, which its package may have imported by then."""
    return [sys.executable, "-c", f"from {module} import main; main()", *words]


@contextlib.contextmanager
def started(module: str, *words: str) -> Iterator[RunningServer]:
    """The ``main`` of a module until the block ends, once it has said where it listens.

    Raises:
        RuntimeError: it ended, or said something else.
    """
    words_of_it = command(module, *words)
    with subprocess.Popen(words_of_it, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            said = process.stdout.readline()
            found = _LISTENS.search(said)
            if found is None:
                raise RuntimeError(f"{module} {' '.join(words)} did not say where it listens, but {said!r}")
            yield RunningServer(int(found[1]), process.pid)
        finally:
            process.terminate()
