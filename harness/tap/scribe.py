"""Listens and writes beside the traffic, which never waits for it longer than a moment."""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable
from typing import Final, TypeAlias

from harness.tap.event import GAP, Event
from harness.tap.finding import Finding
from harness.tap.keeper import Keeper
from harness.tap.listener import Listener, Piece
from harness.tap.recording import Recorder

MOST_WAITING: Final = 64 << 20
"""Bytes of events that wait to be written; then the traffic is slowed down, and after a moment events are let go."""
MOMENT: Final = 0.25
"""Seconds that the traffic waits at most, once, before events are let go."""
_WEIGHT: Final = 200
"""Bytes that an event takes beside its data."""
_TICK: Final = 0.2
_STROKE: Final = 0.02
"""Seconds in which events gather before they are worked off."""
_MUCH: Final = 4 << 20
"""Bytes at which nobody waits for more."""

_Hears: TypeAlias = Callable[[Listener], Iterable[Finding]]


class Scribe:
    """Gets the events of a proxy, and hands them to a listener and to a recorder in a thread of its own."""

    def __init__(
        self,
        listener: Listener,
        keeper: Keeper,
        recorder: Recorder,
        *,
        teller: Listener | None = None,
        tell: Callable[[Finding], None],
        notice: Callable[[Event], None] = lambda _: None,
        elapsed: Callable[[], float],
        most_waiting: int = MOST_WAITING,
    ) -> None:
        self._listener = listener
        self._teller = teller
        """Hears what is recorded, so that nothing is told that was redacted; None: what is heard is told."""
        self._keeper = keeper
        self._recorder = recorder
        self._tell = tell
        self._notice = notice
        self._elapsed = elapsed
        self._most_waiting = most_waiting
        self._changed = threading.Condition()
        self._waiting: deque[Event] = deque()
        self._bytes = 0
        self._lossy = False
        self._cut: set[int] = set()
        """Connections of which something was let go."""
        self._idle = False
        self._closing = False
        self._taken = 0
        self._thread = threading.Thread(target=self._work, name="lmconform-tap-scribe", daemon=True)
        self.counts: Counter[str] = Counter()
        self.findings: Counter[str] = Counter()
        self.defect = ""
        """What went wrong in the listener, which is a mistake of ours; recording goes on."""

    def start(self) -> None:
        """Begin to work."""
        self._thread.start()

    def put(self, event: Event) -> None:
        """Take an event; called by the thread that passes on the traffic."""
        with self._changed:
            if self._bytes > self._most_waiting and not self._lossy:
                self._changed.wait_for(lambda: self._bytes <= self._most_waiting, MOMENT)
                self._lossy = self._bytes > self._most_waiting
            elif self._lossy and self._bytes < self._most_waiting // 2:
                self._lossy = False
            if event.do == "data" and (self._lossy or event.connection in self._cut):
                self.counts["lost_events"] += 1
                if event.connection in self._cut:
                    return
                self._cut.add(event.connection)
                event = Event(event.at, event.connection, event.side, "error", text=GAP)
            elif event.do in {"close", "reset", "error"}:
                self._cut.discard(event.connection)
            self._waiting.append(event)
            self._bytes += len(event.data) + _WEIGHT
            if self._idle or self._bytes > _MUCH:
                self._changed.notify_all()

    def close(self, patience: float = 10.0, hurried: Callable[[], bool] = lambda: False) -> bool:
        """Work off what waits, write the footer and end.

        Returns:
            Whether that was done: not if nothing went on for so many seconds, since a disk that hangs must not hang the end, or
            if somebody was in a hurry.
        """
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        taken, end = self._taken, time.monotonic() + patience
        while self._thread.is_alive():
            self._thread.join(_TICK)
            if self._taken != taken:
                taken, end = self._taken, time.monotonic() + patience
            if self._thread.is_alive() and (hurried() or time.monotonic() > end):
                return False
        return True

    def _work(self) -> None:
        ticked = 0.0
        while True:
            done = 0
            with self._changed:
                if not self._waiting and not self._closing:
                    self._idle = True
                    self._changed.wait(_TICK)
                    self._idle = False
                    if self._waiting and not self._closing:
                        # Work in strokes: between them the traffic has the interpreter for itself.
                        self._changed.wait_for(lambda: self._closing or self._bytes > _MUCH, _STROKE)
                batch, self._waiting = self._waiting, deque()
                closing = self._closing
            for event in batch:
                self._take(event)
                done += len(event.data) + _WEIGHT
                if done > _MUCH:
                    self._settle(done)
                    done = 0
            self._settle(done)
            now = batch[-1].at if batch else self._elapsed()
            if now - ticked >= _TICK:
                ticked = now
                self._write(self._keeper.tick(now))
                self._listen(lambda one, moment=now: one.tick(moment))  # type: ignore[misc]
            self._recorder.flush()
            if closing and not batch:
                break
        self._write(self._keeper.finish())
        self._listen(lambda one: one.finish(self._elapsed()))
        if self.counts["lost_events"]:
            self._recorder.incomplete(f"{self.counts['lost_events']} segments were {GAP}")
        self._recorder.close(self.counts, self.findings)

    def _settle(self, done: int) -> None:
        """So many bytes do not wait any more."""
        with self._changed:
            self._bytes -= done
            self._changed.notify_all()

    def _take(self, event: Event) -> None:
        self._taken += 1
        if not event.connection:
            self.counts["not_accepted"] += 1
            self._notice(event)
            return
        if event.do == "data":
            self.counts[f"{event.side}_bytes"] += event.size
        elif event.do == "open" and event.side == "client":
            self.counts["connections"] += 1
        self._hear(self._listener, lambda one: one.hear(event), tell=self._teller is None)
        pieces: Iterable[Piece] = ()
        if event.do == "data" and not self.defect:
            pieces = self._listener.pieces()
        elif event.do == "data":
            pieces = (Piece(event.size, "frame" if self._teller is None else "noise"),)
        self._write(self._keeper.keep(event, tuple(pieces)))

    def _listen(self, hear: _Hears) -> None:
        self._hear(self._listener, hear, tell=self._teller is None)
        if self._teller is not None:
            self._hear(self._teller, hear, tell=True)

    def _hear(self, listener: Listener, hear: _Hears, *, tell: bool) -> None:
        if self.defect:
            return
        try:
            for finding in hear(listener):
                if tell:
                    self.findings[finding.rule.name] += 1
                    self._tell(finding)
        except Exception as defect:  # noqa: BLE001  # recording goes on whatever the listener does
            self.defect = f"{type(defect).__name__}: {defect}"

    def _write(self, events: Iterable[Event]) -> None:
        for event in events:
            self._recorder.event(event)
            if self._teller is not None:
                self._hear(self._teller, lambda one, kept=event: one.hear(kept), tell=True)  # type: ignore[misc]
