"""The journal of a mock server: every connection and every exchange, and a way to wait for one."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from mockserver.buffers import Buffer
from mockserver.endings import Ending
from mockserver.payloads import SeenPayload
from mockserver.records import ConnectionRecord, Exchange, RunningExchange
from mockserver.tape import Tape

T = TypeVar("T")


class Journal:
    """What happened on a server, safe to write and read from any thread.

    At most ``max_exchanges`` exchanges (and as many closed connections) are remembered, oldest forgotten first; the counts go
    on. Bytes of payloads up to ``keep_payload_below`` are kept, larger ones until their digest is made; together never more
    than ``retain_bytes``, beyond which the oldest are let go, with ``digest_all`` after making their digests: what that costs
    slows down every PUT. The newest payload is held until the next one comes, whatever its size. For measurements there are
    ``keep_payloads=False``, with which there are only their lengths, no bytes and no digests, and ``keep_exchanges=False``,
    with which exchanges are counted and nothing more.
    """

    def __init__(
        self,
        *,
        max_exchanges: int = 65536,
        keep_payload_below: int = 64 << 10,
        retain_bytes: int = 64 << 20,
        keep_payloads: bool = True,
        digest_all: bool = False,
        keep_exchanges: bool = True,
    ) -> None:
        if max_exchanges < 1:
            raise ValueError(f"a journal keeps at least 1 exchange, not {max_exchanges}")
        self.tape: Tape | None = None
        """Where connections that begin from now on are noted segment by segment."""
        self._max_exchanges = max_exchanges
        self._keep_below = keep_payload_below
        self._retain_bytes = retain_bytes
        self._keep_payloads = keep_payloads
        self._digest_all = digest_all
        self._keep_exchanges = keep_exchanges
        self._changed = threading.Condition()
        """Of those who wait; whoever writes takes it only while somebody does."""
        self._lock = threading.RLock()
        """Never held while something waits or computes, and taken inside of the other one, not around it."""
        self._waiting = 0
        self._exchanges: deque[RunningExchange] = deque(maxlen=max_exchanges)
        self._open: dict[int, ConnectionRecord] = {}
        self._leaving: set[int] = set()
        """Connections that have ended and whose socket is still open: the reason is noted before the peer can see the end."""
        self._closed: deque[ConnectionRecord] = deque(maxlen=max_exchanges)
        self._connection_count = 0
        self._exchange_count = 0
        self._retaining = threading.Lock()
        self._retained: deque[SeenPayload] = deque()
        self._retained_bytes = 0

    def open_connection(self, peer: str, faults: tuple[str, ...] = ()) -> int:
        """Note a new connection, and the faults that it met at the door.

        Returns:
            Its number, from 1.
        """
        with self._lock:
            self._connection_count += 1
            number = self._connection_count
            self._open[number] = ConnectionRecord(number, peer, time.monotonic(), faults=faults)
        self.tell()
        return number

    def close_connection(self, number: int, ending: Ending, unfinished: bytes = b"") -> None:
        """Note how a connection ended."""
        with self._lock:
            opened = self._open.pop(number)
            self._leaving.add(number)
            self._closed.append(replace(opened, closed_at=time.monotonic(), ending=ending, unfinished=unfinished))
        self.tell()

    def let_go(self, number: int) -> None:
        """Note that the socket of an ended connection is closed: from now on its peer can see the end."""
        with self._lock:
            self._leaving.discard(number)
        self.tell()

    def begin(self, exchange: RunningExchange) -> None:
        """Note an exchange. Its thread goes on filling it in, and calls :meth:`tell` when others should look."""
        with self._lock:
            self._exchange_count += 1
            if self._keep_exchanges:
                self._exchanges.append(exchange)
        if self._waiting:
            self.tell()

    def tell(self) -> None:
        """Wake those who wait for something in the journal. Costs nothing while nobody does."""
        if self._waiting:
            with self._changed:
                self._changed.notify_all()

    def see_payload(self, data: Buffer) -> SeenPayload:
        """A payload to put into an exchange; letting go of older ones where too much is held."""
        payload = SeenPayload(data, keep=len(data) <= self._keep_below)
        if not self._keep_payloads:
            return payload.without_bytes()
        with self._retaining:
            self._retained.append(payload)
            self._retained_bytes += payload.length
            if self._retained_bytes <= self._retain_bytes and len(self._retained) <= self._max_exchanges:
                return payload
            dropped = self._too_much()
        for old in dropped:
            old.release(digest=self._digest_all)
        return payload

    def exchanges(self, command: str | None = None, connection: int | None = None, key: str | None = None) -> list[Exchange]:
        """The remembered exchanges in order of their beginning, the running ones included; filtered where asked."""
        with self._lock:
            return [
                exchange.snapshot()
                for exchange in self._exchanges
                if (command is None or exchange.command == command)
                and (connection is None or exchange.connection == connection)
                and (key is None or exchange.key == key)
            ]

    def last_exchange(self, command: str | None = None, connection: int | None = None) -> Exchange | None:
        """The exchange that began last, or None."""
        with self._lock:
            for exchange in reversed(self._exchanges):
                if command in {None, exchange.command} and connection in {None, exchange.connection}:
                    return exchange.snapshot()
            return None

    def connections(self) -> list[ConnectionRecord]:
        """The remembered connections, in order of acceptance."""
        with self._lock:
            return sorted((*self._closed, *self._open.values()), key=lambda record: record.number)

    def connection(self, number: int) -> ConnectionRecord:
        """One connection.

        Raises:
            KeyError: it never was, or is forgotten.
        """
        for record in self.connections():
            if record.number == number:
                return record
        raise KeyError(f"the journal knows no connection {number}")

    @property
    def open_connections(self) -> list[ConnectionRecord]:
        """The connections that are served right now."""
        with self._lock:
            return list(self._open.values())

    def is_gone(self, number: int) -> bool:
        """Whether a connection has ended and its socket is closed, so that its peer can see the end."""
        with self._lock:
            return 1 <= number <= self._connection_count and number not in self._open and number not in self._leaving

    @property
    def connection_count(self) -> int:
        """Connections accepted so far, the forgotten ones included."""
        with self._lock:
            return self._connection_count

    @property
    def exchange_count(self) -> int:
        """Exchanges begun so far, the forgotten ones included."""
        with self._lock:
            return self._exchange_count

    def wait_for(self, predicate: Callable[[Journal], T], timeout: float = 5.0) -> T:
        """Wait until the predicate, called with this journal after every change, answers something true.

        Returns:
            What the predicate answered.

        Raises:
            TimeoutError: ``timeout`` seconds passed; the message tells what the journal holds.
        """
        with self._changed:
            self._waiting += 1
            try:
                answer = self._changed.wait_for(lambda: predicate(self), timeout)
            finally:
                self._waiting -= 1
            if not answer:
                raise TimeoutError(f"nothing that was waited for happened within {timeout} s; {self._summary()}")
            return answer

    def forget(self) -> None:
        """Drop what is over: exchanges that are done and connections that have ended. The counts go on."""
        with self._lock:
            self._exchanges = deque((exchange for exchange in self._exchanges if not exchange.done), self._max_exchanges)
            self._closed.clear()
        with self._retaining:
            self._retained.clear()
            self._retained_bytes = 0

    def _too_much(self) -> list[SeenPayload]:
        """The oldest payloads, which are held no more."""
        dropped = []
        while len(self._retained) > self._max_exchanges or (
            self._retained_bytes > self._retain_bytes and len(self._retained) > 1
        ):
            oldest = self._retained.popleft()
            self._retained_bytes -= oldest.length
            dropped.append(oldest)
        return dropped

    def _summary(self) -> str:
        last = self.last_exchange()
        counts = f"{self._connection_count} connections ({len(self._open)} open), {self._exchange_count} exchanges"
        if last is None:
            return counts
        state = "ended the connection, " + str(last.ending) if last.ending else "done" if last.done else "still running"
        return f"{counts}, the last one {last.command} {last.key!r} on connection {last.connection}: {state}"
