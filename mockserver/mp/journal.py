"""What happened on a mock MP server: requests by connection, what was answered, and a way to wait for it."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Final, TypeVar

from mockserver.tape import Tape

T = TypeVar("T")

KEPT_REASON = 400
"""Characters of the reason why a request was dropped; peers write into it."""
KEPT_REPLIES = 64
"""Of each request so many messages are kept; a subscription may have any number."""
KEPT_IDENTITIES = 65536
"""So many are known again; of those before, the one that sends once more counts as new."""
KEPT_FRAMES = 32
KEPT_BYTES = 64 << 10
"""Of each message so many frames and bytes are kept; the counts are those of the whole message."""


@dataclass(frozen=True)
class Exchange:
    """One request, and what the server did about it as far as it had got when the journal was asked."""

    number: int
    """From 1, over the whole server."""
    connection: int
    """From 1, in the order in which the identities first sent something."""
    identity: bytes
    """The address that the ROUTER socket gave or the client chose."""
    frames: tuple[bytes, ...]
    """The request: uid, operation and payloads."""
    frame_count: int
    size: int
    """Bytes of all frames."""
    at: float
    """``time.monotonic`` of the arrival."""
    operation: str = ""
    """The name in capitals; empty where the release has none for what stands there."""
    replies: tuple[tuple[bytes, ...], ...] = ()
    """Messages that left because of it, without the address, in their order."""
    replied_at: float | None = None
    """When the first of these left."""
    faults: tuple[str, ...] = ()
    """The faults that took effect, as ``--fault`` spells them."""
    dropped: str = ""
    """Why there is no reply, where the real server would have given none either."""
    done: bool = False
    """Whether nothing more happens about it."""

    @property
    def uid(self) -> bytes:
        """The first frame."""
        return self.frames[0] if self.frames else b""

    @property
    def payloads(self) -> tuple[bytes, ...]:
        """The frames behind the operation."""
        return self.frames[2:]

    @property
    def reply(self) -> tuple[bytes, ...] | None:
        """The first message that left; None where none has."""
        return self.replies[0] if self.replies else None


class RunningExchange:
    """An exchange that the threads of the server go on filling in, under the lock of the journal; it gives out snapshots."""

    __slots__ = (
        *("at", "connection", "done", "dropped", "faults", "forgotten", "frame_count", "frames", "identity", "number"),
        *("operation", "replied_at", "replies", "size", "weight"),
    )

    def __init__(
        self,
        number: int,
        connection: int,
        identity: bytes,
        frames: tuple[bytes, ...],
        frame_count: int,
        size: int,
        operation: str,
    ) -> None:
        self.number = number
        self.connection = connection
        self.identity = identity
        self.frames = frames
        self.frame_count = frame_count
        self.size = size
        self.at = time.monotonic()
        self.operation = operation
        self.replies: tuple[tuple[bytes, ...], ...] = ()
        self.replied_at: float | None = None
        self.faults: tuple[str, ...] = ()
        self.dropped = ""
        self.done = False
        self.weight = 0
        """Bytes of the frames that are kept of it."""
        self.forgotten = False
        """Whether the journal has let it go."""

    def agrees(self, operation: str | None, connection: int | None) -> bool:
        """Whether it is of an operation and a connection; None means any."""
        return operation in {None, self.operation} and connection in {None, self.connection}

    def snapshot(self) -> Exchange:
        """As far as it has got."""
        return Exchange(**{name: getattr(self, name) for name in _SHOWN})


_SHOWN: Final = tuple(field.name for field in fields(Exchange))


class MpJournal:
    """Exchanges in the order of their arrival, safe from any thread.

    The oldest are forgotten beyond a limit, of their number or of their bytes.
    """

    def __init__(self, *, max_exchanges: int = 16384, retain_bytes: int = 256 << 20) -> None:
        self.tape: Tape | None = None
        """Where messages are noted from now on."""
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._waiting = 0
        self._max_exchanges = max_exchanges
        self._retain_bytes = retain_bytes
        self._exchanges: deque[RunningExchange] = deque()
        self._weight = 0
        self._connections: dict[bytes, int] = {}
        self._connection_count = 0
        self._places: dict[int, int] = {}
        """Of connections on the tape, by their number here."""
        self._count = 0
        self._dead = ""

    def connection_of(self, identity: bytes) -> int:
        """The number of a connection; a new one where its identity is new."""
        with self._lock:
            if identity not in self._connections:
                self._connection_count += 1
                self._connections[identity] = self._connection_count
                if self.tape is not None:
                    self._place(self.tape, self._connection_count)
                while len(self._connections) > KEPT_IDENTITIES:
                    del self._connections[next(iter(self._connections))]
            return self._connections[identity]

    def _place(self, tape: Tape, connection: int) -> int:
        """The place of a connection on the tape, which other servers may share."""
        with self._lock:
            if connection not in self._places:
                self._places[connection] = tape.open("its first message")
                while len(self._places) > KEPT_IDENTITIES:
                    del self._places[next(iter(self._places))]
            return self._places[connection]

    def begin(
        self, connection: int, identity: bytes, frames: Sequence[bytes], frame_count: int, size: int, operation: str = ""
    ) -> RunningExchange:
        """Note a request; the name of its operation where that is known already."""
        kept = _kept(frames, size)
        if self.tape is not None:
            self.tape.message(self._place(self.tape, connection), "client", frames, size)
        with self._lock:
            self._count += 1
            running = RunningExchange(self._count, connection, identity, kept, frame_count, size, operation)
            self._exchanges.append(running)
            self._weigh(running, kept)
            self._tell()
        return running

    def note(self, running: RunningExchange, **changes: object) -> None:
        """Fill in fields of an exchange; a reason is cut where it is long."""
        if isinstance(reason := changes.get("dropped"), str):
            changes["dropped"] = reason[:KEPT_REASON]
            if self.tape is not None:
                place = self._place(self.tape, running.connection)
                self.tape.did(place, "server", "silence", f"not answered: {reason[:KEPT_REASON]}")
        with self._lock:
            for name, value in changes.items():
                setattr(running, name, value)
            self._tell()

    def sent(self, running: RunningExchange, frames: Sequence[bytes], *, last: bool) -> None:
        """Note a message that left."""
        kept = _kept(frames, sum(map(len, frames)))
        if self.tape is not None:
            self.tape.message(self._place(self.tape, running.connection), "server", frames)
        with self._lock:
            if len(running.replies) < KEPT_REPLIES:
                running.replies = (*running.replies, kept)
                self._weigh(running, kept)
            if running.replied_at is None:
                running.replied_at = time.monotonic()
            running.done = running.done or last
            self._tell()

    def died(self, why: str) -> None:
        """Note that the message thread is over."""
        if self.tape is not None:
            self.tape.did(0, "server", "close", f"the message thread ends: {why[:KEPT_REASON]}")
        with self._lock:
            self._dead = why[:KEPT_REASON]
            self._tell()

    def revived(self) -> None:
        """Note that a new message thread begins."""
        with self._lock:
            self._dead = ""
            self._tell()

    @property
    def death(self) -> str:
        """Why the message thread is over; empty while it lives."""
        with self._lock:
            return self._dead

    def exchanges(self, operation: str | None = None, connection: int | None = None) -> list[Exchange]:
        """The remembered exchanges, filtered where asked."""
        with self._lock:
            return [running.snapshot() for running in self._exchanges if running.agrees(operation, connection)]

    def last_exchange(self, operation: str | None = None, connection: int | None = None) -> Exchange | None:
        """The one that arrived last, or None."""
        with self._lock:
            found = next((running for running in reversed(self._exchanges) if running.agrees(operation, connection)), None)
            return None if found is None else found.snapshot()

    @property
    def exchange_count(self) -> int:
        """Requests so far, the forgotten ones included."""
        with self._lock:
            return self._count

    @property
    def connection_count(self) -> int:
        """Identities so far."""
        with self._lock:
            return self._connection_count

    def wait_for(self, predicate: Callable[[MpJournal], T], timeout: float = 5.0) -> T:
        """Wait until the predicate, called with this journal after every change, answers something true.

        Returns:
            What the predicate answered.

        Raises:
            TimeoutError: ``timeout`` seconds passed.
        """
        with self._changed:
            self._waiting += 1
            try:
                answer = self._changed.wait_for(lambda: predicate(self), timeout)
            finally:
                self._waiting -= 1
            if not answer:
                last = self._exchanges[-1].snapshot() if self._exchanges else None
                raise TimeoutError(
                    f"nothing that was waited for happened within {timeout} s; the journal holds {self._count} exchanges, "
                    f"the last is {last.operation or last.frames if last else 'none'}"
                )
            return answer

    def forget(self) -> None:
        """Drop the exchanges that are done; the counts go on."""
        with self._lock:
            going = [one for one in self._exchanges if one.done]
            staying = [one for one in self._exchanges if not one.done]
            self._exchanges.clear()
            self._exchanges.extend(staying)
            for one in going:
                self._let_go(one)

    def _tell(self) -> None:
        """Wake those who wait, with the lock held."""
        if self._waiting:
            self._changed.notify_all()

    def _weigh(self, running: RunningExchange, kept: Sequence[bytes]) -> None:
        """Count frames that are kept, and forget the oldest exchanges where there is too much of them."""
        size = sum(map(len, kept))
        running.weight += size
        if not running.forgotten:
            self._weight += size
        while len(self._exchanges) > self._max_exchanges or (self._weight > self._retain_bytes and len(self._exchanges) > 1):
            self._let_go(self._exchanges.popleft())

    def _let_go(self, running: RunningExchange) -> None:
        """An exchange is no longer of the journal's; what is kept of it from now on weighs nothing."""
        running.forgotten = True
        self._weight -= running.weight


def _kept(frames: Sequence[bytes], size: int) -> tuple[bytes, ...]:
    """What is kept of a message."""
    if size <= KEPT_BYTES:
        return tuple(frames[:KEPT_FRAMES])
    return tuple(frame[:KEPT_BYTES] for frame in frames[:KEPT_FRAMES])
