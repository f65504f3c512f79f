"""Runs targets one after the other, each in a process of its own that is watched and can be lost."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias

from fuzz.examine import Finding
from fuzz.one import ROOM, SLOTS, keep
from fuzz.target import Target

Engine: TypeAlias = Literal["atheris", "plain"]
STUCK: Final = 60.0
"""Seconds of the clock after which a process that executes the same input still is killed."""
_LOOK: Final = 0.5
_START: Final = 120.0
"""Seconds that a process may take until its first execution: imports are slow under atheris."""
_LIVES: Final = 5
"""How often a target is started again after its process was lost."""


@dataclass(frozen=True)
class Wishes:
    """How to fuzz."""

    seconds: float
    findings: Path
    engine: Engine
    seed: int = 1
    memory: int = 2 << 30
    runs: int = 0
    """Executions after which a target is done; 0: when its time is over."""


@dataclass(frozen=True)
class Outcome:
    """What became of a target."""

    target: str
    executions: int
    seconds: float
    peak_bytes: int
    findings: Sequence[str]
    """Names of files in the folder of findings."""


def best_engine() -> Engine:
    """``atheris`` where it is installed."""
    return "atheris" if importlib.util.find_spec("atheris") else "plain"


def fuzz(target: Target, wishes: Wishes, say: Callable[[str], object] = print) -> Outcome:
    """Fuzz one target; its process is started anew with the time that is left when it was lost."""
    until = time.monotonic() + wishes.seconds
    executions, peak, began = 0, 0, time.monotonic()
    found: list[str] = []
    for life in range(_LIVES):
        left = until - time.monotonic()
        if life and left < 1:
            break
        with tempfile.TemporaryDirectory(prefix="lmconform-fuzz-") as folder:
            current, result = Path(folder) / "current", Path(folder) / "result.json"
            words = [
                target.name, "--seconds", f"{left:.1f}", "--runs", str(wishes.runs), "--seed", str(wishes.seed + life),
                "--memory", str(wishes.memory), "--engine", wishes.engine, "--findings", str(wishes.findings),
                "--current", str(current), "--result", str(result),
            ]  # fmt: skip
            status = _watched([sys.executable, "-m", "fuzz.one", *words], current)
            if result.exists():
                summary = json.loads(result.read_text("utf-8"))
                found += summary["findings"]
                return Outcome(
                    target.name,
                    executions + summary["executions"],
                    time.monotonic() - began,
                    max(peak, summary["peak_bytes"]),
                    found,
                )
            count, data = _under_way(current)
            executions += count
            why = f"the process was lost ({status}) at execution {count}"
            name = keep(wishes.findings, target.name, Finding("killed", f"{status}-{life}", why), data, known={})
            say(f"{target.name}: killed: {why} ({name})")
            found.append(name)
    return Outcome(target.name, executions, time.monotonic() - began, peak, found)


def _watched(command: Sequence[str], current: Path) -> str:
    """Run a process to its end, or kill it when it hangs; how it ended, in words."""
    with subprocess.Popen(command, stderr=subprocess.PIPE, start_new_session=True) as process:
        os.set_blocking(process.stderr.fileno(), False)  # type: ignore[union-attr]  # it is a pipe
        last = b""
        count, since = 0, time.monotonic()
        try:
            while True:
                try:
                    process.wait(_LOOK)
                    break
                except subprocess.TimeoutExpired:
                    last = (last + (process.stderr.read() or b""))[-4000:]  # type: ignore[union-attr]  # likewise
                now, moment = _under_way(current)[0], time.monotonic()
                if now != count:
                    count, since = now, moment
                elif moment - since > (STUCK if count else _START):
                    return f"nothing happened for {moment - since:.0f} s"
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
        last = (last + (process.stderr.read() or b""))[-4000:]  # type: ignore[union-attr]  # likewise
        status = process.returncode
    words = last.decode("utf-8", "replace").strip().rpartition("\n")[2]
    return (f"signal {signal.Signals(-status).name}" if status < 0 else f"exit code {status}") + (f": {words}" if status else "")


def _under_way(current: Path) -> tuple[int, bytes]:
    """How many executions began, and the input of the last one."""
    try:
        content = current.read_bytes()
    except OSError:
        return 0, b""
    if len(content) < SLOTS.size:
        return 0, b""
    count, length = SLOTS.unpack_from(content)
    return count, content[SLOTS.size : SLOTS.size + min(length, ROOM)]
