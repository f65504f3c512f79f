"""Work that is repeated for some time, here or by the real lmcache in its pinned environment."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from fixturegen.environment import PROBES
from fixturegen.venv import VenvEnvironment
from fixturegen.vllm import VllmTrees, import_paths
from wire.release import Release

_PROGRAM: Final = PROBES / "speed" / "main.py"


def per_second(once: Callable[[], object], units: float, seconds: float) -> float:
    """Units of work a second of processor time, of which one call does so many; from at least one call.

    Work that waits for nothing is measured so: what else the machine does counts less.
    """
    times, begin = 0, time.process_time()
    while not times or time.process_time() - begin < seconds:
        once()
        times += 1
    return times * units / max(time.process_time() - begin, 1e-9)


class RealWork:
    """A process of the pinned interpreter that does the work of ``fixturegen/probes/speed`` and measures it itself."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def per_second(self, work: str, args: Mapping[str, Any], seconds: float) -> float:
        """Units of work a second.

        Raises:
            RuntimeError: the work failed.
        """
        return float(self._ask(work, args, seconds)["per_second"])

    def sample(self, work: str, args: Mapping[str, Any]) -> Any:
        """What the work makes.

        Raises:
            RuntimeError: the work failed.
        """
        return self._ask(work, args, None)["sample"]

    def _ask(self, work: str, args: Mapping[str, Any], seconds: float | None) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"work": work, "args": dict(args), "seconds": seconds}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        answer: dict[str, Any] = json.loads(line) if line else {"error": f"the process ended with {self._process.wait()}"}
        if "error" in answer:
            raise RuntimeError(f"the real lmcache cannot do {work} with {dict(args)}: {answer['error']}")
        return answer


@contextlib.contextmanager
def real_work(release: Release, vllm: str | None = None) -> Iterator[RealWork]:
    """The real lmcache of a release, with the hash functions of a vLLM if one is named, for as long as the block runs.

    Raises:
        EnvironmentUnavailable: the environment cannot be made.
    """
    python, variables = VenvEnvironment().interpreter(release)
    if vllm is not None:
        folders: Sequence[str] = [str(folder) for folder in import_paths(vllm, VllmTrees(), complete=False)]
        variables = {**variables, "PYTHONPATH": os.pathsep.join([variables["PYTHONPATH"], *folders])}
    variables = {**variables, "LMCACHE_LOG_LEVEL": "ERROR"}
    command = [python, str(_PROGRAM)]
    with subprocess.Popen(
        command, env=variables, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        try:
            yield RealWork(process)
        finally:
            process.kill()
