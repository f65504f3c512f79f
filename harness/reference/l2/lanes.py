"""Two queues for one crew of threads: what somebody waits for goes ahead of what can wait."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

Work = TypeVar("Work")


class Lanes(Generic[Work]):
    """Loads, lookups and deletes are urgent: an engine stands still until they are done. Stores are patient."""

    def __init__(self) -> None:
        self._urgent: deque[Work] = deque()
        self._patient: deque[Work] = deque()
        self._changed = threading.Condition()
        self._closed = False

    def put(self, work: Work, *, urgent: bool) -> bool:
        """Queue something; False if the lanes are closed."""
        with self._changed:
            if self._closed:
                return False
            (self._urgent if urgent else self._patient).append(work)
            self._changed.notify_all()
            return True

    def take(self, *, urgent_only: bool = False) -> Work | None:
        """The next thing to do, once there is one; None when the lanes are closed."""
        with self._changed:
            while True:
                if self._closed:
                    return None
                if self._urgent:
                    return self._urgent.popleft()
                if self._patient and not urgent_only:
                    return self._patient.popleft()
                self._changed.wait()

    def close(self) -> list[Work]:
        """Send every worker home; what nobody began."""
        with self._changed:
            self._closed = True
            left = [*self._urgent, *self._patient]
            self._urgent.clear()
            self._patient.clear()
            self._changed.notify_all()
            return left


class Crew(Generic[Work]):
    """Threads that do what comes along the lanes.

    With two or more of them the first never takes a store, so that a load does not even wait for a store that has begun.
    """

    def __init__(self, lanes: Lanes[Work], do: Callable[[Work], None], *, threads: int) -> None:
        self._lanes = lanes
        self._do = do
        self._threads = [
            threading.Thread(target=self._run, args=(number == 0 and threads > 1,), name=f"l2-reference-{number}", daemon=True)
            for number in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    def _run(self, urgent_only: bool) -> None:
        while (work := self._lanes.take(urgent_only=urgent_only)) is not None:
            self._do(work)
            del work  # else an idle thread keeps the buffers of its last batch alive

    def join(self, seconds: Callable[[], float]) -> bool:
        """Wait for all of them while there are seconds left; whether they are gone."""
        for thread in self._threads:
            thread.join(max(0.0, seconds()))
        return not any(thread.is_alive() for thread in self._threads)
