"""Executes a case in a worker without pytest's protocol around it, which costs more than most cases.

It does what that protocol would do for a case, in the same order: fixtures, the function, the ends of fixtures in reverse; the
first exception is how the case ended. A function that wants more than fixtures of ours, such as ``tmp_path``, is left to pytest.
"""

from __future__ import annotations

import contextlib
import inspect
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final

import pytest
from _pytest.assertion import pytest_runtest_protocol as explaining_assertions

from harness import case_fixtures
from harness.matrix import Matrix
from harness.plugin import ERROR, SECONDS, matrix_of
from harness.tape import TAPES

_GIVEN: Final = frozenset({"cell", "request"})
_PASSED_ON: Final = (KeyboardInterrupt, pytest.exit.Exception)
"""What ends the run and not the case."""


@dataclass(frozen=True)
class _Step:
    """One fixture of a case."""

    name: str
    make: Callable[..., Any]
    needs: Sequence[str]
    yields: bool


_LEFT_TO_PYTEST: Final = frozenset({"usefixtures", "skip", "skipif", "xfail", "filterwarnings"})
"""Marks with which a case is not called directly: pytest knows what they ask for."""


class Direct:
    """Executes the cases of one session of pytest."""

    def __init__(self) -> None:
        self._plans: dict[Any, Sequence[_Step] | None] = {}

    def execute(self, item: pytest.Function) -> Mapping[str, Any] | None:
        """The record of a case; None for one that must be left to pytest."""
        matrix = matrix_of(item.config)
        steps = self._plan(item)
        if steps is None or matrix.book is not None:
            return None
        began = time.perf_counter()
        with _assertions_explained(item):
            self._perform(matrix, item, steps)
        item.stash[SECONDS] = time.perf_counter() - began
        return matrix.record(item, item.stash.get(ERROR, None), item.stash[SECONDS]).to_json()

    def _plan(self, item: pytest.Function) -> Sequence[_Step] | None:
        if item.function not in self._plans:
            self._plans[item.function] = planned(item)
        return self._plans[item.function]

    def _perform(self, matrix: Matrix, item: pytest.Function, steps: Sequence[_Step]) -> None:
        TAPES.begin()
        values: dict[str, Any] = {"cell": item.callspec.params["cell"], "request": item._request}  # noqa: SLF001  # as fixtures get it
        with contextlib.ExitStack() as ends, self._noted(matrix, item):
            for step in steps:
                made = step.make(**{name: values[name] for name in step.needs})
                if step.yields:
                    values[step.name] = next(made)
                    ends.callback(self._end, matrix, item, made)
                else:
                    values[step.name] = made
            item.obj(**{name: values[name] for name in item._fixtureinfo.argnames})  # noqa: SLF001  # as pytest calls it

    def _end(self, matrix: Matrix, item: pytest.Function, fixture: Generator[Any, None, None]) -> None:
        with self._noted(matrix, item):
            for _ in fixture:
                raise RuntimeError("a fixture of a case yields more than once")

    @contextlib.contextmanager
    def _noted(self, matrix: Matrix, item: pytest.Function) -> Iterator[None]:
        """The first exception is how the case ended, and what crossed the wire until then belongs to it."""
        try:
            yield
        except _PASSED_ON:
            raise
        except BaseException as error:  # noqa: BLE001  # also an exit is how a case ended
            if ERROR not in item.stash:
                item.stash[ERROR] = error.with_traceback(_without_ours(error.__traceback__))
                matrix.look_at_the_tapes(item)


def planned(item: pytest.Function) -> Sequence[_Step] | None:
    """The fixtures of a case in the order in which pytest makes them; None where one of them is not ours."""
    params = getattr(getattr(item, "callspec", None), "params", {})
    if item.cls is not None or set(params) != {"cell"} or any(mark.name in _LEFT_TO_PYTEST for mark in item.iter_markers()):
        return None
    known = item._fixtureinfo.name2fixturedefs  # noqa: SLF001  # pytest tells nobody else which fixture a name means
    steps: dict[str, _Step] = {}

    def add(name: str) -> bool:
        if name in _GIVEN or name in steps:
            return True
        definitions = known.get(name, ())
        if not definitions:
            return False
        found = definitions[-1]
        ours = getattr(case_fixtures, name, None) if name in case_fixtures.NAMES else None
        if found.scope != "function" or found.params is not None or getattr(ours, "__wrapped__", None) is not found.func:
            return False
        if not all(add(needed) for needed in found.argnames):
            return False
        steps[name] = _Step(name, found.func, tuple(found.argnames), inspect.isgeneratorfunction(found.func))
        return True

    return tuple(steps.values()) if all(add(name) for name in item.fixturenames) else None


@contextlib.contextmanager
def _assertions_explained(item: pytest.Function) -> Iterator[None]:
    """A plain assertion says what it compared, as under pytest."""
    protocol = explaining_assertions(item)
    next(protocol)
    try:
        yield
    finally:
        with contextlib.suppress(StopIteration):
            protocol.send(None)


def _without_ours(found: TracebackType | None) -> TracebackType | None:
    """A traceback that begins in the case: what called it is not where something went wrong."""
    while found is not None and found.tb_next is not None and found.tb_frame.f_code.co_filename == __file__:
        found = found.tb_next
    return found
