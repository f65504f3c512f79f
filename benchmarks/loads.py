"""Clients in processes of their own: one job a line, as JSON, and what it came to as the answer."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Generic, TypeVar

from benchmarks.servers import command


@dataclass(frozen=True)
class Done:
    """How many requests a job came to, their bytes of payload together, and the seconds that they took."""

    requests: int
    bytes: int
    seconds: float

    @property
    def gigabytes(self) -> float:
        """GB/s of payload."""
        return self.bytes / self.seconds / 1e9

    @property
    def rate(self) -> float:
        """Requests a second."""
        return self.requests / self.seconds


JobT = TypeVar("JobT")


class Load(Generic[JobT]):
    """A client in a process of its own; a job is a dataclass of numbers and texts."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def work(self, job: JobT) -> Done:
        """Let it do a job.

        Raises:
            RuntimeError: its process ended.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        answer = ""
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(asdict(job)) + "\n")  # type: ignore[call-overload]  # a dataclass
            self._process.stdin.flush()
            answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError(f"the load ended in {job}; what it said of that stands above")
        return Done(**json.loads(answer))


@contextlib.contextmanager
def running(module: str, job: type[JobT], *words: str) -> Iterator[Load[JobT]]:  # noqa: ARG001  # says which jobs the load takes
    """The client whose ``main`` is in a module and which does jobs of one kind, until the block ends."""
    with subprocess.Popen(command(module, *words), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield Load(process)
        finally:
            process.terminate()


def serve(work: Callable[[JobT], Done], job: Callable[..., JobT]) -> None:
    """In the process of a client: do the jobs of standard input until it ends."""
    for line in sys.stdin:
        print(json.dumps(asdict(work(job(**json.loads(line))))), flush=True)
