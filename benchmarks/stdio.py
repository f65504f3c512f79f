"""What the contract costs: a call of an adapter over standard streams beside a bare echo of lines of the same size."""

from __future__ import annotations

import contextlib
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks.comparison import Comparison, Contender, Target
from harness.clients.stdio import StdioSession
from harness.interpreter import program

DEADLINE: Final = 10.0
SIZES: Final = {"PUT of 1 MiB": 1 << 20, "PUT of 4 KiB": 4 << 10}
MOST: Final = 100.0
"""Microseconds that a call may cost over the echo."""
_NOTE: Final = (
    "The adapter answers at once, so that the contract alone is measured: JSON, schemas, deadlines and supervision, on both "
    "sides. A value of more than 64 KiB travels in a file, in the echo as well. Figures are medians of single calls; the "
    "overhead is the median of adapter less echo, one after the other."
)


class Immediate:
    """A client whose answers need no work."""

    def hello(self, **_: Any) -> dict[str, Any]:
        """What it is."""
        return {"name": "immediate", "version": "1", "language": "python", "operations": ["exist", "put"], "releases": ["0.5.6"]}

    def exist(self, **_: Any) -> dict[str, Any]:
        """Every key is there."""
        return {"exists": True}

    def put(self, **_: Any) -> dict[str, Any]:
        """Every value is stored."""
        return {}


@contextlib.contextmanager
def opened() -> Iterator[Sequence[Comparison]]:
    """An adapter, and an echo for each comparison."""
    with contextlib.ExitStack() as ends:
        lengths: list[int] = []
        session = StdioSession(
            program("harness.clients.host", ["benchmarks.stdio:Immediate"]), listen=lambda _, line: lengths.append(len(line))
        )
        ends.callback(session.stop)
        folder = Path(tempfile.mkdtemp(dir=_quick_folder()))
        ends.callback(shutil.rmtree, folder)
        calls = {"EXIST": ("exist", _exist())}
        for name, size in SIZES.items():
            calls[name] = ("put", _put(os.urandom(size)))
        found = []
        for name, (op, args) in calls.items():
            lengths.clear()
            session.call(op, args, deadline=DEADLINE)
            request, answer = lengths
            payload = args.get("payload", b"")
            echo = ends.enter_context(_echo(request, answer + 1, payload if request < len(payload) else None, folder))
            found.append(_comparison(name, _asking(session, op, args), echo))
        yield found


def _quick_folder() -> str | None:
    """Where the harness leaves long values, too."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # noqa: S108  # mkdtemp makes a private directory in it


def _exist() -> dict[str, Any]:
    return {"connection": "main", "key": _KEY}


_KEY: Final[Mapping[str, Any]] = {
    "model": "m",
    "world_size": 1,
    "worker_id": 0,
    "chunk_hash": {"int": "7"},
    "dtype": "float16",
    "fmt": None,
    "layer": None,
    "tags": [],
}


def _put(payload: bytes) -> dict[str, Any]:
    about = {"format": "BINARY", "dtype": "uint8", "shape": [len(payload), 0, 0, 0], "location": None}
    return {"connection": "main", "key": _KEY, **about, "payload": payload}


def _asking(session: StdioSession, op: str, args: Mapping[str, Any]) -> Callable[[], object]:
    return lambda: session.call(op, args, deadline=DEADLINE)


@contextlib.contextmanager
def _echo(request: int, answer: int, payload: bytes | None, folder: Path) -> Iterator[Callable[[], object]]:
    """One exchange with the echo program: a line there and back, with a file if there is a payload."""
    path = folder / "value"
    name = f"{path}" if payload is not None else ""
    line = name.encode().ljust(request - 1) + b"\n"
    command = [sys.executable, "-S", str(Path(__file__).with_name("echo.py")), str(answer)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        there, back = process.stdin.fileno(), process.stdout.fileno()

        def once() -> None:
            if payload is not None:
                path.write_bytes(payload)
            rest = line
            while rest:
                rest = rest[os.write(there, rest) :]
            while not os.read(back, 1 << 16).endswith(b"\n"):
                pass

        try:
            yield once
        finally:
            process.kill()


def _comparison(name: str, adapter: Callable[[], object], echo: Callable[[], object]) -> Comparison:
    def overhead(seconds: float) -> float:
        ours, bare = _microseconds([adapter, echo], seconds)
        return statistics.median(one - other for one, other in zip(ours, bare, strict=True))

    return Comparison(
        name,
        "us",
        "less",
        (
            Contender("adapter", lambda seconds: statistics.median(*_microseconds([adapter], seconds))),
            Contender("echo", lambda seconds: statistics.median(*_microseconds([echo], seconds))),
            Contender("overhead", overhead),
        ),
        (Target("overhead", at_most=MOST),),
        _NOTE,
    )


def _microseconds(works: Sequence[Callable[[], object]], seconds: float) -> list[list[float]]:
    """How long each took, in turns, for about so many seconds."""
    took: list[list[float]] = [[] for _ in works]
    end = time.perf_counter() + seconds
    while not took[0] or time.perf_counter() < end:
        for work, mine in zip(works, took, strict=True):
            begin = time.perf_counter()
            work()
            mine.append((time.perf_counter() - begin) * 1e6)
    return took
