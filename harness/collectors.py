"""Who wants to know of records, and in which order they are told."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from harness.expectations.book import Book
from reports.record import CaseRecord
from reports.side import Side
from reports.verdict import SHOWN


class Collectors:
    """Those who want to know of records: listeners in the order of the cases, watchers as soon as there is one."""

    def __init__(self) -> None:
        self._listeners: list[Callable[[CaseRecord], None]] = []
        self._watchers: list[Callable[[CaseRecord], None]] = []
        self.before_first: Callable[[], None] | None = None
        """Called once, before the first record is handed out."""
        self.cut_short = False
        """Set by :meth:`lose`."""
        self.results: Path | None = None
        """The results file that this run began to write."""
        self.asked = self.shown = False
        """Whether a case that judges what the run is about has ended, and whether one passed or failed as listed."""
        self.side: Side = "client"
        """What that is."""
        self.book: Book | None = None
        """The list of known failures that records are held against before anybody sees them."""

    def listen(self, listener: Callable[[CaseRecord], None]) -> None:
        """Call ``listener(record)`` for every record from now on, as the results file wants it."""
        self._listeners.append(listener)

    def watch(self, watcher: Callable[[CaseRecord], None]) -> None:
        """Call ``watcher(record)`` for every record from now on, as a progress bar wants it."""
        self._watchers.append(watcher)

    def show(self, record: Mapping[str, Any]) -> None:
        """Hand a record to the watchers."""
        case = self._judged(record)
        for watcher in self._watchers:
            watcher(case)

    def add(self, record: Mapping[str, Any]) -> None:
        """Hand a record to the listeners; all cases before it have been handed to them."""
        self._begin()
        case = self._judged(record)
        if case.judges == self.side:
            self.asked = True
            self.shown = self.shown or case.verdict in SHOWN
        for listener in self._listeners:
            listener(case)

    def _judged(self, record: Mapping[str, Any]) -> CaseRecord:
        case = CaseRecord.from_json(record)
        return case if self.book is None else self.book.judged(case)

    def lose(self) -> None:
        """A case ended without a record, so that the run cannot be complete."""
        self._begin()
        self.cut_short = True

    def _begin(self) -> None:
        if self.before_first is not None:
            begin, self.before_first = self.before_first, None
            begin()

    def clear(self) -> None:
        """Forget every listener."""
        self._listeners.clear()
        self._watchers.clear()
        self.before_first = None
        self.cut_short = self.asked = self.shown = False
        self.book = None
        self.side = "client"


collectors = Collectors()
"""Of this process: pytest gives reports to hooks that know no configuration."""
