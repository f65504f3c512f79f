"""A program in a container, from its start to its end, without any network."""

from __future__ import annotations

import contextlib
import dataclasses
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import requests
from docker.models.containers import Container

from fixturegen.containers.container import Limits, Mount, Order, Reach, create, removed_at_last
from fixturegen.containers.engine import Engine, engine_trouble
from fixturegen.containers.last_words import decoded, last_words, quoted
from fixturegen.errors import EnvironmentUnavailable

_STDIN: Final = "/run/stdin"


@dataclasses.dataclass(frozen=True)
class CompletedRun:
    """What a program in a container wrote, and its exit status."""

    stdout: str
    stderr: str
    code: int


def run_to_end(engine: Engine, order: Order, limits: Limits, *, stdin: str | None, timeout: float) -> CompletedRun:
    """Run a program with some standard input, and remove its container; ``timeout`` is in seconds.

    Raises:
        EnvironmentUnavailable: it did not end in time, or met the memory limit.
    """
    with _stdin_mount(stdin) as given:
        # A file behind the program's back: a stream attached to a container can lose its end.
        argv = ["sh", "-c", f'exec "$@" <{_STDIN}', "sh", *order.argv] if given else order.argv
        placed = dataclasses.replace(order, argv=argv, mounts=(*order.mounts, *given))
        container = create(engine, placed, limits, Reach())
        with removed_at_last(container):
            return _finished(container, order, limits, timeout)


def _finished(container: Container, order: Order, limits: Limits, timeout: float) -> CompletedRun:
    with engine_trouble(f"start {quoted(order.argv)}"):
        container.start()
    code = _wait(container, order, timeout)
    with engine_trouble(f"read what {order.argv[0]} wrote"):
        stdout = decoded(container.logs(stdout=True, stderr=False))
        stderr = decoded(container.logs(stdout=False, stderr=True))
        container.reload()
    if container.attrs["State"].get("OOMKilled"):
        raise EnvironmentUnavailable(
            f"{quoted(order.argv)} met the memory limit of {limits.memory}: raise `memory`{last_words(stderr)}"
        )
    return CompletedRun(stdout, stderr, code)


def _wait(container: Container, order: Order, timeout: float) -> int:
    try:
        return int(container.wait(timeout=timeout)["StatusCode"])
    except requests.exceptions.RequestException:
        # The SDK tells a deadline and a lost engine apart by nothing that lasts; the engine itself knows.
        with engine_trouble(f"wait for {order.argv[0]}"):
            container.reload()
            written = decoded(container.logs())
        raise EnvironmentUnavailable(
            f"{quoted(order.argv)} did not end within {timeout:g} s: give it more time, or see what holds it{last_words(written)}"
        ) from None


@contextlib.contextmanager
def _stdin_mount(text: str | None) -> Iterator[tuple[Mount, ...]]:
    if text is None:
        yield ()
        return
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", prefix="lmconform-stdin-") as file:
        file.write(text)
        file.flush()
        yield (Mount(Path(file.name), _STDIN),)
