"""How a property is tried: how many examples, drawn from which seed, and how the smallest one that fails is told."""

from __future__ import annotations

import functools
import gc
import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from harness import drawn_constants
from harness.client import ClientFailure
from harness.failure import CaseFailure, TargetUnavailable, UnsupportedByClient

if TYPE_CHECKING:
    from hypothesis import settings
    from hypothesis.stateful import RuleBasedStateMachine

SHRINKING: Final = 20.0
"""Seconds for making a failing example smaller; each try may cost a timeout."""

SET_ASIDE: Final = 250
"""After so many examples what they left is taken out of the reach of the garbage collector, until the property is tried."""


class _Enough(BaseException):
    """Ends hypothesis at once: the client hangs or died, or an example was made smaller for long enough."""


@dataclass(frozen=True)
class Examples:
    """A decorator for properties; put it above ``@given``.

    Two properties, and two cells of one, draw from different seeds; the same cell draws the same examples for the same seed.
    """

    count: int
    seed: int
    cell: str
    """Id of the execution."""
    shrink: bool = True
    """Look for the smallest example that fails, and not only for one."""
    asked: bool = False
    """Somebody asked for so many examples; otherwise a costly property may make do with fewer."""

    def costly(self, few: int) -> Examples:
        """As many as were asked for, but only a few where nobody asked: the property takes long for each of them."""
        return self if self.asked else replace(self, count=min(self.count, few))

    def __call__(self, function: Callable[..., None]) -> Callable[[], None]:
        """The property with its settings, as a function that tries all examples."""
        from hypothesis import seed

        inner = function.hypothesis  # type: ignore[attr-defined]  # what @given makes of a function
        guard = _Guard()
        inner.inner_test = guard.around(inner.inner_test)
        tried = self._settings()(seed(self._number(function.__name__))(function))
        return guard.outside(tried)

    def run_machine(self, machine: Callable[[], RuleBasedStateMachine], *, steps: int) -> None:
        """Try a machine; each example is a run of so many steps."""
        from hypothesis.stateful import get_state_machine_test

        number = self._number("machine")
        machine._hypothesis_internal_use_seed = number  # type: ignore[attr-defined]  # noqa: SLF001  # as @seed does to classes
        tried: Any = get_state_machine_test(machine, settings=self._settings(steps))  # type: ignore[arg-type]  # any factory does
        guard = _Guard()
        tried.hypothesis.inner_test = guard.around(tried.hypothesis.inner_test)
        guard.outside(tried)()

    def _settings(self, steps: int = 50) -> settings:
        from hypothesis import HealthCheck, Phase, Verbosity, settings
        from hypothesis.configuration import set_hypothesis_home_dir

        set_hypothesis_home_dir(home())
        unwanted = set() if self.shrink else {Phase.shrink, Phase.explain}
        return settings(
            phases=[phase for phase in Phase if phase not in unwanted],
            database=None,
            deadline=None,
            max_examples=self.count,
            stateful_step_count=steps,
            report_multiple_bugs=False,
            suppress_health_check=list(HealthCheck),
            verbosity=Verbosity.quiet,
        )

    def _number(self, name: str) -> int:
        digest = hashlib.sha256(f"{self.seed} {self.cell} {name}".encode()).digest()
        return int.from_bytes(digest[:8], "big")


def home() -> Path:
    """Where hypothesis keeps what it remembers between runs."""
    import platformdirs

    return platformdirs.user_cache_path("lmcache-conformance") / "hypothesis"


class _Guard:
    """Ends the search for a smaller example where going on is senseless or takes too long.

    It also keeps pauses short: hypothesis remembers every example, and a garbage collection that looks through ten thousand of
    them stops client and mock for seconds on a busy machine, which looks like a hang. What was looked through once is set aside.
    """

    def __init__(self) -> None:
        self._failure: BaseException | None = None
        self._until = 0.0
        self._count = 0

    def around(self, test: Callable[..., Any]) -> Callable[..., Any]:
        """The function that gets each example."""

        @functools.wraps(test)
        def guarded(*args: Any, **members: Any) -> Any:
            if self._failure is not None and time.monotonic() > self._until:
                raise _Enough
            self._count += 1
            if self._count % SET_ASIDE == 0:
                gc.collect()
                gc.freeze()
            try:
                return test(*args, **members)
            except (ClientFailure, UnsupportedByClient, TargetUnavailable) as ended:
                self._failure = ended
                raise _Enough from ended
            except CaseFailure as failure:
                if self._failure is None:
                    self._until = time.monotonic() + SHRINKING
                self._failure = failure
                raise

        return guarded

    def outside(self, tried: Callable[[], None]) -> Callable[[], None]:
        """The function that tries all of them."""
        from hypothesis.errors import HypothesisException

        @functools.wraps(tried)
        def check() -> None:
            try:
                with drawn_constants.of_hypothesis_alone():
                    tried()
            except (_Enough, HypothesisException):
                # Also where a failure does not come back each time: what was seen once is the verdict.
                if self._failure is None:
                    raise
                raise self._failure from None
            finally:
                gc.unfreeze()

        return check
