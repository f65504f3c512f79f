"""Whether a server under test is still there, looked at before each of its cases, so that a lost one ends the run soon."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from harness.client import ClientCrash, ClientFailure, ClientHang, NotAsked

WITHIN: Final = 10.0
"""Seconds within which it must answer, asked as often as it takes; something else may be starting it again."""
LIVES: Final = 5
"""How often a server that we start is started again in a run."""
SPENT: Final = 240.0
"""Seconds that cases which fail may take in all: a server that hangs in each of them would hold up a run for hours."""
_LOOK_AGAIN: Final = 0.1


@dataclass
class Watch:
    """One server. ``ask`` raises where it does not answer, and ``revive`` starts it again; None where that is not ours to do."""

    name: str
    """For messages: ``the server at 127.0.0.1:65432``."""
    ask: Callable[[float], bool]
    """Whether it is well, within so many seconds."""
    revive: Callable[[], None] | None = None
    within: float = WITHIN
    _revived: int = field(default=0)
    _spent: float = field(default=0.0)
    _lost: NotAsked | None = field(default=None)

    def failed(self, seconds: float) -> None:
        """A case failed that took so long."""
        self._spent += seconds
        if self._spent > SPENT and self._lost is None:
            words = f"not run: cases that {self.name} failed before took {self._spent:.0f} s, more than {SPENT:g}"
            self._lost = NotAsked(words, operation=None, after=ClientHang)

    def lost_by(self, failure: str) -> ClientFailure | None:
        """A case failed, and the server, which is not ours to start again, answers nobody any more: it did not survive the case.

        None where it answers. Otherwise the case ends as a crash or a hang, whatever the level of what it is about: that others
        are served afterwards is a MUST, and here nobody is.
        """
        if self.revive is not None or self._lost is not None or (problem := self._problem()) is None:
            return None
        self._lose(problem)
        return _kind_of(problem)(f"{failure}; {self.name} did not survive it, and answers nobody any more ({problem})")

    def require(self) -> None:
        """It answers, or does once it was started again.

        Raises:
            NotAsked: it is lost: the verdict is a crash where nobody listens any more, and a hang where somebody does.
            TargetUnavailable: it cannot be started again.
        """
        if self._lost is not None:
            raise NotAsked(str(self._lost), operation=None, after=self._lost.after)
        problem = self._problem()
        if problem is None:
            return
        if self.revive is not None and self._revived < LIVES:
            self._revived += 1
            self.revive()
            return
        raise self._lose(problem)

    def _lose(self, problem: Exception) -> NotAsked:
        again = f", although it was started again {self._revived} times" if self._revived else ""
        self._lost = NotAsked(
            f"not run: {self.name} was lost in an earlier case: it did not answer within {self.within:g} s{again} ({problem})",
            operation=None,
            after=_kind_of(problem),
        )
        return self._lost

    def _problem(self) -> Exception | None:
        """Why it does not answer, or None; a server that is ours and does not listen is not waited for."""
        until = time.monotonic() + self.within
        while True:
            try:
                if self.ask(max(0.1, until - time.monotonic())):
                    return None
                found: Exception = ConnectionError("it answers with failure")
            except Exception as error:  # noqa: BLE001  # whatever a server does to a question is its answer
                found = error
            if time.monotonic() > until or (self.revive is not None and isinstance(found, ConnectionRefusedError)):
                return found
            time.sleep(_LOOK_AGAIN)


def _kind_of(problem: Exception) -> type[ClientFailure]:
    """A crash where nobody listens any more, a hang where somebody does."""
    return ClientCrash if isinstance(problem, ConnectionError) else ClientHang
