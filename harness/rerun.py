"""The command that executes one case again, as reports show it."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING, Final

from harness.case import Cell
from harness.plugin import CLIENT_START, DEADLINE, SEED
from harness.protocols import DECLARED, declared, protocol_of
from harness.sides import FACTS

if TYPE_CHECKING:
    from harness.matrix import Matrix

COMMAND_SETTING: Final = "LMCONFORM_COMMAND"
"""Set by the launcher of the source tree: how the user called it, so that commands in reports can be copied."""
_OPTIONS: Final = {"kind": "--type", "params": "--params", "backend": "--backend", "url": "--url"}
"""Options that name more of what is judged, by member of its options."""


def rerun(matrix: Matrix, identity: str, cell: Cell) -> str:
    """What to type for one execution of a run."""
    words = [
        os.environ.get(COMMAND_SETTING, "lmconform"),
        *_subject(matrix),
        "--lmcache",
        str(cell.release),
        *_target(matrix, cell),
    ]
    if matrix.side != "client" and not matrix.lenient:
        words += ["--require", "should"]
    if matrix.side == "client" and _must_be_told(matrix, identity):
        words += ["--protocol", protocol_of(identity)]
    if matrix.examples is not None:
        words += ["--examples", str(matrix.examples)]
    if matrix.seed != SEED:
        words += ["--seed", str(matrix.seed)]
    if matrix.budget.call != DEADLINE:
        words += ["--deadline", f"{matrix.budget.call:g}"]
    if matrix.budget.start != CLIENT_START:
        words += ["--client-start", f"{matrix.budget.start:g}"]
    return shlex.join([*words, "--only", identity])


def _subject(matrix: Matrix) -> list[str]:
    """The command that judges it, and what names it there."""
    command = FACTS[matrix.side].command
    if matrix.options is None:
        return [command, "--client", matrix.spec]
    if matrix.side == "server":
        return [command, matrix.spec, "--protocol", matrix.protocol]
    told = {option: getattr(matrix.options, name) for name, option in _OPTIONS.items()}
    return [command, matrix.spec, *(word for option, value in told.items() if value is not None for word in (option, value))]


def _target(matrix: Matrix, cell: Cell) -> list[str]:
    """Where it is executed; a server, and a side with one target, leave no choice."""
    words = ["--target", cell.target] if matrix.side != "server" and len(FACTS[matrix.side].targets) > 1 else []
    if cell.target != "live":
        return words
    address = matrix.live.address
    if address is not None:
        return [*words, "--live", f"{address[0]}:{address[1]}"] if matrix.side == "client" else words
    return [*words, "--runtime", matrix.live.runtime] if matrix.live.runtime != "venv" else words


def _must_be_told(matrix: Matrix, identity: str) -> bool:
    """Whether the wire of a case is one that the client declares nothing of."""
    return matrix.protocol != DECLARED and protocol_of(identity) not in declared(matrix.session().description.operations)
