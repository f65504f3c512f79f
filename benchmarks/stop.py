"""Commands are stopped at random moments, with SIGTERM and Ctrl-C in turn: do they end in time, say so, and leave nothing?

Each command runs in a session, a temporary folder and with a mark in its environment of its own, by which children, files and
shared memory that stay behind are found. Ends with status 1 where anything was wrong, with what it was.

.venv/bin/python -m benchmarks.stop [--times N] [--within SECONDS] [--only NAME] [--seed N]
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import shlex
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from mockserver.mp.leash import PREFIX
from reports.outputs import JUNIT, PAGE, RESULTS
from reports.results import ResultsError, read_results
from reports.verdict import ExitCode

WITHIN: Final = 1.0
"""Seconds in which a command ends."""
_GONE_WITHIN: Final = 3.0
"""Seconds after that in which whatever belonged to it is gone: the keeper of a leash looks twice."""
_GIVEN_UP: Final = 30.0
_MARK: Final = "LMCONFORM_BENCHMARK_STOP"
_PAUSE: Final = 0.02
_SHARED: Final = Path("/dev/shm")  # noqa: S108  # where shared memory is shown
_OUT: Final = "out"


@dataclass(frozen=True)
class Scene:
    """A command, and the moments at which it is stopped."""

    words: tuple[str, ...]
    longest: float
    """Seconds after its start in which the moment is drawn."""
    statuses: frozenset[int]
    """Those that it may end with, by the documentation."""
    judges: bool = False
    """Whether it writes results."""


_RUN: Final = frozenset({int(ExitCode.CONFORMANT), int(ExitCode.UNDECIDED)})
"""Done before the signal came, or interrupted."""
_SERVE: Final = frozenset({int(ExitCode.CONFORMANT), int(ExitCode.UNDECIDED)})
"""Stopped as servers are, or interrupted before it listened."""
_LATEST: Final = ("--lmcache", "0.5.6")
_LONGEST: Final = 20.0
_ADAPTER: Final = shlex.join([sys.executable, "-m", "harness.clients.host", "harness.reference.lm:ReferenceClient"])
SCENES: Final = {
    "run": Scene(("run", *_LATEST, "--out", _OUT), _LONGEST, _RUN, judges=True),
    "run-alone": Scene(("run", *_LATEST, "--jobs", "1", "--out", _OUT), _LONGEST, _RUN, judges=True),
    "run-adapter": Scene(("run", *_LATEST, "--client", f"stdio:{_ADAPTER}", "--out", _OUT), 10.0, _RUN, judges=True),
    "server": Scene(("server", "reference", *_LATEST, "--protocol", "lm", "--out", _OUT), _LONGEST, _RUN, judges=True),
    "plugin": Scene(("plugin", "reference", *_LATEST, "--out", _OUT), _LONGEST, _RUN, judges=True),
    "serve": Scene(("serve", *_LATEST), 2.0, _SERVE),
    "serve-mp": Scene(("serve", *_LATEST, "--protocol", "mp"), 2.0, _SERVE),
    "tap": Scene(("tap", "--listen", "127.0.0.1:0", "--to", "127.0.0.1:9", "--out", "tap.jsonl"), 2.0, _SERVE),
}


@dataclass
class Stopped:
    """How one command ended."""

    moment: float
    number: signal.Signals
    seconds: float = 0.0
    status: int | None = None
    before: bool = False
    """Whether it had ended before the signal came, so that its end says nothing about a stop."""
    begun: bool = False
    """Whether it had results."""
    wrong: list[str] = field(default_factory=list)


def stop_at(scene: Scene, moment: float, number: signal.Signals, within: float = WITHIN) -> Stopped:
    """Start a command, stop it so many seconds later, and look at what it left."""
    found = Stopped(moment, number)
    token = os.urandom(8).hex()
    shared = _segments()
    with tempfile.TemporaryDirectory(prefix="lmconform-stop-") as name:
        folder, scratch = Path(name) / "work", Path(name) / "scratch"
        folder.mkdir()
        scratch.mkdir()
        said = folder / "said"
        with said.open("wb") as file:
            process = subprocess.Popen(
                [sys.executable, "-m", "harness.cli.main", *scene.words],
                stdin=subprocess.DEVNULL, stdout=file, stderr=file, cwd=folder, start_new_session=True,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), _MARK: token, "TMPDIR": str(scratch)},
            )  # fmt: skip
            _stop(process, found)
        _judge_end(scene, found, said.read_text(errors="replace"), within)
        _judge_remains(found, token, scratch, shared)
        results = folder / _OUT / RESULTS
        found.begun = scene.judges and results.exists() and results.stat().st_size > 0
        if found.begun:
            found.wrong += _judge_results(folder / _OUT, found.status)
    return found


def _stop(process: subprocess.Popen[bytes], found: Stopped) -> None:
    with contextlib.suppress(subprocess.TimeoutExpired):
        found.status = process.wait(found.moment)
        found.before = True
        return
    began = time.monotonic()
    process.send_signal(found.number)
    try:
        found.status = process.wait(_GIVEN_UP)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    found.seconds = time.monotonic() - began


def _judge_end(scene: Scene, found: Stopped, said: str, within: float) -> None:
    if found.seconds > within:
        found.wrong.append(f"it ended after {found.seconds:.2f} s, at most {within:g} s are due")
    # The interpreter itself needs a moment until it comes to our code; what it does about a signal before is its own.
    early = found.status == -found.number and "harness/" not in said
    if early:
        return
    if found.status not in scene.statuses:
        found.wrong.append(f"status {found.status}, due is one of {sorted(scene.statuses)}; it said: {said.strip()[-300:]}")
    if "Traceback" in said:
        found.wrong.append(f"a traceback: {said.strip()[-600:]}")


def _judge_remains(found: Stopped, token: str, scratch: Path, shared: set[str]) -> None:
    """Wait a moment for what ends behind it, then name what is left."""
    until = time.monotonic() + _GONE_WITHIN
    while True:
        remains = [
            *(f"process {pid}: {_command(pid)}" for pid in _marked(token)),
            *(f"{path.relative_to(scratch)} in the temporary folder" for path in scratch.iterdir()),
            *(f"shared memory {name}" for name in _segments() - shared),
        ]
        if not remains or time.monotonic() >= until:
            break
        time.sleep(_PAUSE)
    found.wrong += [f"left behind: {words}" for words in remains]
    for pid in _marked(token):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _judge_results(folder: Path, status: int | None) -> list[str]:
    """Results that were begun are kept, marked incomplete unless the run had ended, and told in the reports."""
    try:
        results = read_results(folder / RESULTS)
    except ResultsError as error:
        return [f"results that cannot be read: {error}"]
    wrong = []
    if results.footer is None:
        wrong.append("results without a footer")
    if (results.incomplete is None) != (status == ExitCode.CONFORMANT):
        wrong.append(f"results that are {'complete' if results.incomplete is None else 'incomplete'} with status {status}")
    return wrong + [f"no {name} beside the results" for name in (JUNIT, PAGE) if not (folder / name).exists()]


def _segments() -> set[str]:
    """Shared memory of mocks, by its name, whose process is gone: what lives is at work for somebody else."""
    return {path.name for path in _SHARED.glob(f"{PREFIX}*") if not _lives(path.name.removeprefix(PREFIX).partition("-")[0])}


def _lives(pid: str) -> bool:
    return (Path("/proc") / pid).exists()


def _marked(token: str) -> Iterator[int]:
    """Processes that inherited the mark."""
    wanted = f"{_MARK}={token}".encode()
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if wanted in path.read_bytes().split(b"\0"):
                yield int(path.parent.name)
        except OSError:
            continue


def _command(pid: int) -> str:
    try:
        return (Path("/proc") / str(pid) / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")[-120:]
    except OSError:
        return "gone meanwhile"


def told(scene: Scene, ends: Sequence[Stopped]) -> str:
    """How often a command was stopped and how long that took; one that had ended before the signal counts apart."""
    stopped = [found for found in ends if not found.before]
    said = [f"stopped {len(stopped)} times"]
    if len(stopped) < len(ends):
        said.append(f"{len(ends) - len(stopped)} had ended before")
    if stopped:
        took = [found.seconds for found in stopped]
        said.append(f"it took {statistics.median(took):.2f} s in the median, {max(took):.2f} s at most")
    said.append(f"status {', '.join(map(str, sorted({found.status for found in ends}, key=str)))}")
    if scene.judges:
        said.append(f"{sum(found.begun for found in stopped)} had results")
    return "; ".join(said)


def main(words: Sequence[str] | None = None) -> int:
    """Stop commands, and tell."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.stop", description="Commands stopped at random moments.")
    parser.add_argument("--times", type=int, default=10, metavar="N", help="that each command is stopped (default: 10)")
    parser.add_argument("--within", type=float, default=WITHIN, metavar="SECONDS", help="in which it ends (default: 1)")
    parser.add_argument("--only", choices=sorted(SCENES), help="one command (default: all)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="another seed gives other moments (default: 1)")
    given = parser.parse_args(words)
    moments = random.Random(given.seed)  # noqa: S311  # the same moments every time
    wrong = 0
    for name, scene in SCENES.items():
        if given.only not in {None, name}:
            continue
        ends = []
        for time_ in range(given.times):
            number = (signal.SIGTERM, signal.SIGINT)[time_ % 2]
            found = stop_at(scene, moments.uniform(0, scene.longest), number, given.within)
            ends.append(found)
            for line in found.wrong:
                wrong += 1
                print(f"wrong: {name}, {number.name} after {found.moment:.2f} s: {line}", flush=True)
        print(f"{name}: {told(scene, ends)}", flush=True)
    print(f"{wrong} wrong" if wrong else "nothing wrong")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
