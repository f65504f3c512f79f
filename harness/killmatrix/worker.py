"""A process that executes cases against one mutant after the other; what to execute comes on standard input, as JSON lines.

The first line that it writes lists its executions; then come, for ``{"mutant": NAME, "side": SIDE, "first": [...], "then": [...],
"limit": SECONDS}``, two lines for each execution and ``{"done": true}``. All of ``first`` is executed, ``then`` until the mutant
is found. No mutant (null) stands for the reference client and the mock as they are.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from typing import IO, Any, Final

import pytest

from harness.bare_pytest import bare_pytest
from harness.case import Cell, TargetName, spec_of
from harness.executions import case_id, cell_of, topic_and_case
from harness.killmatrix.kill import kills
from harness.killmatrix.standin import StandIns
from harness.matrix import Matrix
from harness.mp.targets import mp_mocks_made_by
from harness.mutants.mutant import MpServerMutant, ServerMutant, load_server_mutants
from harness.plugin import ERROR, SECONDS, matrix_of
from harness.runner import own_output
from harness.targets import mocks_made_by
from harness.usage import UsageError, parse_targets
from mockserver.lm import LmServer
from reports.record import CaseRecord
from reports.side import Side
from reports.verdict import ExitCode

SOUND: Final = {"lm": "reference", "mp": "reference-mp"}
"""By protocol the client without a defect; it is that of cases that judge a server as well, in which none takes part."""
REFERENCE: Final = "reference"
"""The server, plugin or connector without a defect, in a run of their side."""

AnyServer = ServerMutant | MpServerMutant | None
"""A server with a defect; None for servers as they are."""


def main(words: Sequence[str]) -> int:
    """The program: the targets that clients meet, then arguments of pytest, whose targets are all there are."""
    with own_output() as output, os.fdopen(os.dup(0), "rb") as tasks:
        worker = MutantWorker(parse_targets(words[0]), tasks, output)
        try:
            return bare_pytest(words[1:], worker)
        except UsageError as error:
            worker.say({"usage": str(error)})
            return int(ExitCode.USAGE)


class MutantWorker:
    """The plugin that takes the place of pytest's own loop over all cases."""

    def __init__(self, targets: Sequence[TargetName], tasks: IO[bytes], output: IO[str]) -> None:
        self._targets = targets
        self._tasks = tasks
        self._output = output
        self._record: CaseRecord | None = None
        self._broken: list[str] = []

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A module of cases that cannot be imported is a fault of the harness."""
        if report.failed:
            self._broken.append(f"{report.nodeid} cannot be collected:\n{report.longreprtext}")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Execute what is asked for, until nothing more is."""
        run = matrix_of(session.config).side
        items = [item for item in session.items if self._takes_part(item, run)]
        self.say({"executions": [_described(item) for item in items], "broken": self._broken})
        for line in self._tasks:
            self._perform(items, matrix_of(session.config), json.loads(line))
            self.say({"done": True})
        return True

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the record, which comes with the report of the last phase."""
        record = getattr(report, "lmconform", None)
        if record is not None:
            self._record = CaseRecord.from_json(record)

    def _takes_part(self, item: pytest.Item, run: Side) -> bool:
        """In runs of clients live servers that are judged have stand-ins; other cases take part where they are asked for."""
        cell, spec = cell_of(item), spec_of(getattr(item, "function", None))
        return (
            cell is not None
            and spec is not None
            and (cell.target in self._targets or (run == "client" and spec.judges == "server"))
        )

    def _perform(self, items: Sequence[pytest.Item], matrix: Matrix, task: dict[str, Any]) -> None:
        name, side = task["mutant"], task["side"]
        matrix.shrink = False
        server: AnyServer = None
        if matrix.side != "client":
            matrix.change_subject(REFERENCE if name is None else f"mutant:{name}")
        else:
            matrix.change_subject(SOUND[matrix.protocol] if name is None or side == "server" else f"mutant:{name}")
            server = load_server_mutants()[name] if name is not None and side == "server" else None
        until = time.monotonic() + task["limit"] if task["limit"] is not None else None
        found = False
        for number in task["first"]:
            if found and until is not None and time.monotonic() > until:
                break
            found |= self._execute(items[number], number, matrix, task, server)
        for number in task["then"]:
            if found or (until is not None and time.monotonic() > until):
                break
            found |= self._execute(items[number], number, matrix, task, server)
        matrix.dismiss_client()

    def _execute(self, item: pytest.Item, number: int, matrix: Matrix, task: dict[str, Any], server: AnyServer) -> bool:
        cell, spec = cell_of(item), spec_of(getattr(item, "function", None))
        assert cell is not None
        assert spec is not None
        if ERROR in item.stash:
            del item.stash[ERROR]
        item.stash[SECONDS] = 0.0
        self._record = None
        self.say({"begins": number})
        with _surroundings(matrix, cell, matrix.side == "client" and spec.judges == "server", server):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
        record = self._record
        assert record is not None
        killed = task["mutant"] is not None and kills(item.stash.get(ERROR, None), spec, task["side"], matrix.side)
        self.say(
            {
                "execution": number,
                "verdict": record.verdict.value,
                "killed": killed,
                "seconds": record.seconds,
                "why": record.why,
            }
        )
        return killed

    def say(self, line: dict[str, Any]) -> None:
        """Tell whoever started this process."""
        self._output.write(json.dumps(line, ensure_ascii=True, separators=(",", ":")) + "\n")
        self._output.flush()


@contextlib.contextmanager
def _surroundings(matrix: Matrix, cell: Cell, about_servers: bool, server: AnyServer) -> Iterator[None]:
    """The servers that a case meets: a live one that is judged has a stand-in, beside the mock as it is."""
    if isinstance(server, MpServerMutant):
        with mp_mocks_made_by(server.make):
            yield
        return
    make = server.make if server is not None else LmServer
    if about_servers and cell.target == "live":
        real, matrix.live = matrix.live, StandIns(make=make)
        try:
            yield
        finally:
            matrix.live.close()
            matrix.live = real
    else:
        with mocks_made_by(make):
            yield


def _described(item: pytest.Item) -> dict[str, Any]:
    cell, function = cell_of(item), getattr(item, "function", None)
    spec = spec_of(function)
    assert cell is not None
    assert spec is not None
    return {
        "id": case_id(item, cell),
        "case": topic_and_case(item),
        "title": (function.__doc__ or "").strip().splitlines()[0],
        "release": str(cell.release),
        "target": cell.target,
        "judges": spec.judges,
        "variant": cell.variant.id if cell.variant else None,
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
