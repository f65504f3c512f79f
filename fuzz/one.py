"""Fuzzes one target in this process: started by :mod:`fuzz.campaign`, which watches it.

The input under way is always in the file ``--current``, so that what kills this process is known; the summary is written at
the end, as JSON.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import mmap
import os
import random
import resource
import struct
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, Final

from fuzz.examine import Finding, examine
from fuzz.mutation import mutated
from fuzz.target import Target

PRODUCT: Final = ("wire", "mockserver", "fixturegen", "reports", "harness", "cases")
ROOM: Final = 1 << 20
"""Bytes of the file with the input under way."""
SLOTS: Final = struct.Struct("<QQ")
"""What is in front of it: how many executions began, and how long it is."""
_WARM: Final = 200
"""Executions after which nothing more should be kept."""
_LEAKED: Final = 16
_GROWN: Final = 256 << 20
_KEPT: Final = 40
"""Findings of one target after which nobody looks for more."""


class Bench:
    """Counts executions and keeps what they show."""

    def __init__(self, target: Target, options: argparse.Namespace) -> None:
        self._target = target
        self._options = options
        self._folder: Path = options.findings
        self._began = time.monotonic()
        self._found: dict[tuple[str, str], str] = {}
        self._current = _mapped(options.current)
        self._base: tuple[int, int, int] | None = None
        self.runs = 0

    def once(self, data: bytes) -> None:
        """One execution; ends this process when the time is over."""
        self.runs += 1
        self._current[: SLOTS.size] = SLOTS.pack(self.runs, len(data))
        self._current[SLOTS.size : SLOTS.size + min(len(data), ROOM)] = data[:ROOM]
        finding = examine(self._target, data)
        if finding is not None:
            self._keep(finding, data)
        if self.runs == _WARM:
            self._base = _held()
        over = time.monotonic() - self._began >= self._options.seconds or 0 < self._options.runs <= self.runs
        if over or len(self._found) >= _KEPT:
            self.end()

    def end(self) -> None:
        """Write the summary and leave."""
        held = _held()
        base = self._base or held
        names = ("threads", "open files", "bytes of memory")
        limits = (_LEAKED, _LEAKED, _GROWN)
        for name, before, now, limit in zip(names, base, held, limits, strict=True):
            if now - before > limit:
                self._keep(Finding("leak", name, f"{name}: {before} after {_WARM} executions, {now} after {self.runs}"), b"")
        summary = {
            "target": self._target.name,
            "executions": self.runs,
            "seconds": round(time.monotonic() - self._began, 1),
            "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10,
            "findings": sorted(self._found.values()),
        }
        self._options.result.write_text(json.dumps(summary) + "\n", "utf-8")
        sys.stdout.flush()
        os._exit(0)  # from inside of atheris, and past what targets left running

    def _keep(self, finding: Finding, data: bytes) -> None:
        name = keep(self._folder, self._target.name, finding, data, known=self._found)
        if name:
            print(f"{self._target.name}: {finding.kind}: {finding.place} ({name})", flush=True)


def keep(folder: Path, target: str, finding: Finding, data: bytes, *, known: dict[tuple[str, str], str]) -> str:
    """Write the input of a finding, and beside it what happened; the name of the file, empty if the same was found before."""
    signature = (finding.kind, finding.place)
    if signature in known:
        return ""
    digest = hashlib.sha256(data + finding.place.encode("utf-8", "replace")).hexdigest()[:12]
    name = known[signature] = f"{target}-{finding.kind}-{digest}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)
    (folder / f"{name}.txt").write_text(f"{finding.kind}: {finding.place}\n\n{finding.words}\n", "utf-8", "backslashreplace")
    return name


def _held() -> tuple[int, int, int]:
    """Threads, open files and bytes of memory."""
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return threading.active_count(), len(os.listdir("/proc/self/fd")), pages * resource.getpagesize()  # noqa: PTH208


def _mapped(path: Path) -> mmap.mmap:
    path.write_bytes(bytes(SLOTS.size + ROOM))
    with path.open("r+b") as file:
        return mmap.mmap(file.fileno(), 0)


def _plain(target: Target, bench: Bench, seed: int) -> None:
    """Without atheris: mutations of the seeds, blindly."""
    rng = random.Random(seed)  # noqa: S311  # the same again with the same seed
    seeds = list(target.seeds()) or [b""]
    for data in seeds:
        bench.once(data)
    while True:
        bench.once(mutated(rng.choice(seeds), rng, target.longest, seeds))


def _guided(target: Target, bench: Bench, seed: int, atheris: Any) -> None:
    """With atheris: inputs that reach new code are changed further."""
    seeds = list(target.seeds()) or [b""]

    def change(data: bytes, longest: int, number: int) -> bytes:
        rng = random.Random(number)  # noqa: S311  # likewise
        if rng.random() < 0.5:
            made: bytes = atheris.Mutate(data, longest)
            return made
        return mutated(data, rng, longest, seeds)

    with tempfile.TemporaryDirectory(prefix="lmconform-fuzz-") as folder:
        for index, data in enumerate(seeds):
            (Path(folder) / str(index)).write_bytes(data)
        words = [
            "fuzz",
            folder,
            f"-seed={seed or 1}",
            f"-max_len={target.longest}",
            "-timeout=86400",
            "-rss_limit_mb=0",
            "-verbosity=0",
        ]
        atheris.Setup(words, bench.once, custom_mutator=change)
        atheris.Fuzz()


def main(words: list[str]) -> int:
    """Fuzz one target until the time is over."""
    parser = argparse.ArgumentParser(prog="python -m fuzz.one")
    parser.add_argument("target")
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--runs", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--memory", type=int, default=2 << 30)
    parser.add_argument("--engine", choices=("atheris", "plain"), required=True)
    parser.add_argument("--findings", type=Path, required=True)
    parser.add_argument("--current", type=Path, required=True)
    parser.add_argument("--result", type=Path, required=True)
    options = parser.parse_args(words)
    from fuzz.families import find

    if options.engine == "plain":
        target = find(options.target)
        _confine(options.memory)
        _plain(target, Bench(target, options), options.seed)
        return 0
    import atheris

    with atheris.instrument_imports(include=list(PRODUCT)):
        target = find(options.target)
    _confine(options.memory)
    _guided(target, Bench(target, options), options.seed, atheris)
    return 0


def _confine(limit: int) -> None:
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
