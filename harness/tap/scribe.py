"""Listens and writes beside the traffic, which never waits for it longer than a moment."""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable
from typing import Final

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


class Scribe:
    """Gets the events of a proxy, and hands them to a listener and to a recorder in a thread of its own.

    What is told is what ``teller`` hears. It is the listener itself, or one that hears only what is written down, so that nothing
    is told that a redacted recording does not have.
    """

    def __init__(
        self,
        listener: Listener,
        keeper: Keeper,
        recorder: Recorder | None,
        *,
        tell: Callable[[Finding], None],
        teller: Listener | None = None,
        notice: Callable[[Event], None] = lambda _: None,
        elapsed: Callable[[], float],
        most_waiting: int = MOST_WAITING,
    ) -> None:
        self._listener = listener
        self._keeper = keeper
        self._recorder = recorder
        self._tell = tell
        self._teller = listener if teller is None else teller
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
            elif event.do in {"close", "reset"}:
                self._cut.discard(event.connection)
            self._waiting.append(event)
            self._bytes += len(event.data) + _WEIGHT
            if self._idle or self._bytes > _MUCH:
                self._changed.notify_all()

    def close(self, patience: float = 10.0) -> bool:
        """Work off what waits, write the footer and end.

        Returns:
            Whether that could be done in so many seconds; a disk that hangs must not hang the end.
        """
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._thread.join(patience)
        return not self._thread.is_alive()

    def _work(self) -> None:
        while True:
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
                with self._changed:
                    self._bytes -= len(event.data) + _WEIGHT
                    self._changed.notify_all()
            now = batch[-1].at if batch else self._elapsed()
            self._write(self._keeper.tick(now))
            self._listen(lambda moment=now: self._teller.tick(moment))  # type: ignore[misc]
            if self._recorder is not None:
                self._recorder.flush()
            if closing and not batch:
                break
        self._write(self._keeper.finish())
        self._listen(lambda: self._teller.finish(self._elapsed()))
        if self._recorder is not None:
            if self.counts["lost_events"]:
                self._recorder.incomplete(f"{self.counts['lost_events']} segments were {GAP}")
            self._recorder.close(self.counts, self.findings)

    def _take(self, event: Event) -> None:
        if event.do == "data":
            self.counts[f"{event.side}_bytes"] += event.size
        elif event.do == "open" and event.side == "client":
            self.counts["connections"] += 1
        if event.do == "error":
            self._notice(event)
        pieces: Iterable[Piece] = ()
        if self._teller is self._listener or self._keeper.needs_pieces:
            self._listen(lambda: self._listener.hear(event), told=self._teller is self._listener)
        if event.do == "data" and self._keeper.needs_pieces:
            pieces = self._listener.pieces() if not self.defect else (Piece(event.size, "frame"),)
        self._write(self._keeper.keep(event, tuple(pieces)))

    def _listen(self, hear: Callable[[], Iterable[Finding]], *, told: bool = True) -> None:
        if self.defect:
            return
        try:
            for finding in hear():
                if told:
                    self.findings[finding.rule.name] += 1
                    self._tell(finding)
        except Exception as defect:  # noqa: BLE001  # recording goes on whatever the listener does
            self.defect = f"{type(defect).__name__}: {defect}"

    def _write(self, events: Iterable[Event]) -> None:
        for event in events:
            if self._teller is not self._listener:
                self._listen(lambda one=event: self._teller.hear(one))  # type: ignore[misc]
            if self._recorder is not None:
                self._recorder.event(event)
