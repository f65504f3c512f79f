"""The message thread: one ROUTER socket, the workers behind it, and the replies.

Operations of the kind SYNC are answered by the thread itself, the others by one of two workers, as many as the real server has
by default. Source: ``lmcache.v1.multiprocess.mq`` and, for 0.5.6, ``lmcache.v1.multiprocess.transport.zmq_impl.mq``.
"""

from __future__ import annotations

import contextlib
import functools
import heapq
import itertools
import os
import queue
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import zmq

from mockserver.door import PortInUseError
from mockserver.faults.plan import shape
from mockserver.mp import behaviour
from mockserver.mp.engine import AFFINITY, Engine
from mockserver.mp.faults.action import MpFault
from mockserver.mp.faults.plan import MpPlanProgress
from mockserver.mp.journal import MpJournal, RunningExchange
from mockserver.mp.outgoing import Outgoing
from mockserver.mp.requests import Dropped, MessageThreadDies, Request, StreamControl, read_operation, read_payloads
from mockserver.mp.sessions import HandlerError
from mockserver.mp.streams import StreamMessage, Streams
from wire.mp.operations import OperationTable

MOST_FRAMES: Final = 64
"""Frames of one message that are kept; no operation takes so many, so that what a message beyond it means does not change."""
MOST_BYTES: Final = 256 << 20
"""The largest frame that is taken; the real server sets no limit."""
_STOP_WITHIN: Final = 10.0
_REBIND_WITHIN: Final = 5.0
_MOST_WAITING: Final = 4096
"""Requests that wait for a worker; the message thread waits beyond that, so that what clients send stays with them."""
MOST_UNSENT: Final = 64 << 20
"""Bytes of replies of the workers that may wait for the message thread, and one reply of each worker; workers wait beyond that.
The socket then holds 1000 messages for each peer that does not read, as that of the real server does, whatever their size."""


@dataclass(frozen=True)
class _Job:
    exchange: RunningExchange
    identity: bytes
    frames: tuple[bytes, bytes]
    request: Request
    payloads: list[object]
    faults: tuple[MpFault, ...]


class MessageThread:
    """Serves one socket until it is stopped, or until a message ends it as it would end the real one."""

    def __init__(
        self,
        context: zmq.Context[zmq.Socket[bytes]],
        address: tuple[str, int],
        table: OperationTable,
        engine: Engine,
        journal: MpJournal,
        faults: Callable[[], MpPlanProgress],
        restart: Callable[[], None],
        name: str,
        *,
        again: bool = False,
    ) -> None:
        self._table = table
        self._engine = engine
        self._journal = journal
        self._faults = faults
        self._restart = restart
        self._stopping = threading.Event()
        self._dead = False
        self._out: queue.SimpleQueue[tuple[float, RunningExchange, bytes, list[bytes], bool]] = queue.SimpleQueue()
        self._unsent = 0
        self._room = threading.Condition()
        """For what waits in ``_out``; what a fault holds back for later is not counted."""
        self._late: list[tuple[float, int, RunningExchange, bytes, list[bytes], bool]] = []
        self._holding = threading.Lock()
        self._held: list[tuple[RunningExchange, bytes, list[bytes]]] = []
        self._order = itertools.count()
        self._streams = Streams(engine)
        self._news_of_objects = threading.Event()
        engine.events.changed = self._objects_changed
        self._wake, self._news = os.pipe()
        for end in (self._wake, self._news):
            os.set_blocking(end, False)
        self._socket = self._bound(context, address, _REBIND_WITHIN if again else 0.0)
        endpoint = self._socket.getsockopt_string(zmq.LAST_ENDPOINT)
        self.address = (address[0], int(endpoint.rpartition(":")[2]))
        self._queues: dict[str, queue.Queue[_Job | None]] = {kind: queue.Queue(_MOST_WAITING) for kind in ("normal", "affinity")}
        targets: list[tuple[str, Callable[[], None]]] = [(f"{name}-messages", self._serve)]
        targets += [(f"{name}-{kind}", lambda jobs=jobs: self._work(jobs)) for kind, jobs in self._queues.items()]  # type: ignore[misc]
        self._threads = [threading.Thread(target=target, name=title, daemon=True) for title, target in targets]
        for thread in self._threads:
            thread.start()

    def _bound(self, context: zmq.Context[zmq.Socket[bytes]], address: tuple[str, int], patience: float) -> zmq.Socket[bytes]:
        sock = context.socket(zmq.ROUTER)
        self.configure(sock)
        host, port = address
        if ":" in host:
            sock.setsockopt(zmq.IPV6, 1)
            host = f"[{host}]"
        deadline = time.monotonic() + patience
        while True:
            try:
                sock.bind(f"tcp://{host}:{port}")
            except zmq.ZMQError as error:
                if error.errno == zmq.EADDRINUSE and time.monotonic() < deadline:
                    self._stopping.wait(0.01)  # a socket that was closed a moment ago gives its port back from another thread
                    continue
                sock.close()
                for end in (self._wake, self._news):
                    os.close(end)
                if error.errno == zmq.EADDRINUSE:
                    text = f"port {port} of {address[0]} is in use by another program; port 0 lets the kernel pick a free one"
                    raise PortInUseError(error.errno, text) from None
                raise OSError(error.errno, f"cannot listen on {address[0]}:{port}: {error.strerror}") from None
            return sock

    def configure(self, sock: zmq.Socket[bytes]) -> None:
        """Set the options of the socket, before it is bound."""
        sock.setsockopt(zmq.LINGER, 0)
        sock.setsockopt(zmq.MAXMSGSIZE, MOST_BYTES)
        if behaviour.MANDATORY[self._table.release]:
            sock.setsockopt(zmq.ROUTER_MANDATORY, 1)

    def stop(self) -> None:
        """End the threads and close the socket, whatever waits in it.

        Raises:
            RuntimeError: a thread does not end, which is a defect of the mock.
        """
        self._stopping.set()
        self._wake_up()
        with self._room:
            self._room.notify_all()
        for jobs in self._queues.values():
            with contextlib.suppress(queue.Full):
                jobs.put_nowait(None)
        others = [thread for thread in self._threads if thread is not threading.current_thread()]
        deadline = time.monotonic() + _STOP_WITHIN
        for thread in others:
            thread.join(max(0.0, deadline - time.monotonic()))
        stuck = [thread.name for thread in others if thread.is_alive()]
        if stuck:
            raise RuntimeError(f"these threads of a mock server did not end within {_STOP_WITHIN} s: {', '.join(stuck)}")
        self._socket.close(linger=0)
        for end in (self._wake, self._news):
            os.close(end)

    def _wake_up(self) -> None:
        with contextlib.suppress(BlockingIOError, OSError):
            os.write(self._news, b"!")

    def _serve(self) -> None:
        poller = zmq.Poller()
        poller.register(self._socket, zmq.POLLIN)
        poller.register(self._wake, zmq.POLLIN)
        look_again = time.monotonic() + behaviour.EVICTION_SECONDS
        while not self._stopping.is_set() and not self._dead:
            ready = dict(poller.poll(self._patience(look_again)))
            if self._socket in ready:
                try:
                    self._receive()
                except MessageThreadDies as why:
                    self._die(str(why))
            if self._wake in ready:
                with contextlib.suppress(BlockingIOError):
                    os.read(self._wake, 4096)
            if self._news_of_objects.is_set():
                self._news_of_objects.clear()
                self._queue_all(self._streams.news())
            if not self._dead:
                self._send_all()
            if time.monotonic() >= look_again:
                look_again = time.monotonic() + behaviour.EVICTION_SECONDS
                with self._engine.lock:
                    self._engine.store.evict()

    def _patience(self, look_again: float) -> int:
        until = min([look_again, *(late[0] for late in self._late[:1])])
        return max(0, int((until - time.monotonic()) * 1000) + 1)

    def _receive(self) -> None:
        identity = bytes(self._socket.recv())
        frames: list[bytes] = []
        count = size = 0
        refused = 0
        while self._socket.getsockopt(zmq.RCVMORE):
            count += 1
            try:
                frame = self._socket.recv()
            except MemoryError:
                refused = count
                continue
            size += len(frame)
            if count <= MOST_FRAMES:
                frames.append(frame)
        connection = self._journal.connection_of(identity)
        exchange = self._journal.begin(connection, identity, frames, count, size)
        if refused:
            self._journal.note(exchange, dropped=f"no memory for frame {refused} of the message", done=True)
            return
        try:
            self._take(exchange, connection, identity, frames)
        except Dropped as why:
            self._journal.note(exchange, dropped=str(why), done=True)
        except MessageThreadDies as why:
            self._journal.note(exchange, dropped=f"the message thread ends: {why}", done=True)
            raise
        except Exception as why:  # noqa: BLE001  # a defect costs its request, and no other
            self._failed(exchange, why)

    def _take(self, exchange: RunningExchange, connection: int, identity: bytes, frames: Sequence[bytes]) -> None:
        read = self.read(frames)
        if isinstance(read, StreamControl):
            self._queue_all(self._streams.control(identity, frames[0], read.words))
            raise Dropped("a word about a stream")
        name = read.operation.name
        self._journal.note(exchange, operation=name)
        faults = tuple(self._faults().actions_for(name, connection, exchange.number))
        if name not in self._engine.handlers:
            if name == "SUBSCRIBE_KV_EVENTS":
                self._subscribe(exchange, identity, frames, read)
                return
            raise Dropped(f"a server like this has no handler for {name}")
        payloads = read_payloads(self._table, read.operation, read.payloads)
        job = _Job(exchange, identity, (frames[0], frames[1]), read, payloads, faults)
        if self._engine.is_sync(name):
            self._answer(job)
        else:
            self._give(self._queues["affinity" if name in AFFINITY else "normal"], job)

    def read(self, frames: Sequence[bytes]) -> Request | StreamControl:
        """The operation of a message, see :func:`mockserver.mp.requests.read_operation`."""
        return read_operation(self._table, frames)

    def _subscribe(self, exchange: RunningExchange, identity: bytes, frames: Sequence[bytes], read: Request) -> None:
        payloads = read_payloads(self._table, read.operation, read.payloads)
        self._queue_all(self._streams.subscribe(exchange, identity, (frames[0], frames[1]), payloads))

    def _objects_changed(self) -> None:
        self._news_of_objects.set()
        self._wake_up()

    def _queue_all(self, messages: Sequence[StreamMessage]) -> None:
        for message in messages:
            self._queue(message.exchange, message.identity, message.frames, last=message.last)

    def _give(self, jobs: queue.Queue[_Job | None], job: _Job) -> None:
        while not self._stopping.is_set():
            with contextlib.suppress(queue.Full):
                jobs.put(job, timeout=0.01)
                return
            if not self._dead:
                self._send_all()  # the workers may be waiting for that

    def _work(self, jobs: queue.Queue[_Job | None]) -> None:
        while not self._stopping.is_set():
            job = jobs.get()
            if job is None:
                return
            try:
                self._answer(job)
            except Exception as why:  # noqa: BLE001  # as in the message thread
                self._failed(job.exchange, why)

    def _failed(self, exchange: RunningExchange, why: Exception) -> None:
        """A request ends without an answer, as where a handler of the real server raises."""
        self._journal.note(exchange, dropped=f"{type(why).__name__}: {why}", done=True)

    def _answer(self, job: _Job) -> None:
        """Execute an operation and put the reply, with its faults, where the message thread takes it from."""
        exchange, operation = job.exchange, job.request.operation
        uid, number = job.frames
        pool_size = self._engine.store.pool.size
        empty = functools.partial(
            Outgoing, self._table.release, operation, uid, number, pool_size=pool_size, payloads=job.payloads
        )
        if instead := [fault for fault in job.faults if fault.before]:
            outgoing, effective = shape(empty(), instead)
            if effective:
                self._journal.note(exchange, faults=effective)
                self._dispatch(exchange, job.identity, outgoing)
                return
        try:
            result = self._engine.call(operation.name, job.payloads)
        except HandlerError as why:
            self._journal.note(exchange, dropped=str(why), done=True)
            return
        outgoing, effective = shape(empty(result=result), job.faults)
        if effective:
            self._journal.note(exchange, faults=effective)
        self._dispatch(exchange, job.identity, outgoing)

    def _dispatch(self, exchange: RunningExchange, identity: bytes, outgoing: Outgoing) -> None:
        message = self.reply(outgoing)
        if outgoing.shrinks:
            with self._engine.lock:
                self._engine.lookups.shrink(outgoing.payloads, outgoing.shrinks)
        if not message:
            self._journal.note(exchange, done=True)
        elif outgoing.held:
            with self._holding:
                self._held.append((exchange, identity, message))
        else:
            with self._holding:  # before this reply leaves: its client may have asked for what is held next
                held, self._held = self._held, []
            for copy in range(outgoing.copies):
                self._queue(exchange, identity, message, last=copy == outgoing.copies - 1, delay=outgoing.delay)
            for late in held:
                self._queue(*late, last=True)
        if outgoing.after != "go on":
            self._out.put((0.0, exchange, b"", [outgoing.after.encode()], True))
            self._wake_up()

    def reply(self, outgoing: Outgoing) -> list[bytes]:
        """The frames of a reply; none where there is none."""
        return outgoing.frames()

    def _queue(self, exchange: RunningExchange, identity: bytes, message: list[bytes], *, last: bool, delay: float = 0.0) -> None:
        of_a_worker = threading.current_thread() is not self._threads[0]
        with self._room:
            if of_a_worker:
                self._room.wait_for(lambda: self._unsent <= MOST_UNSENT or self._stopping.is_set() or self._dead)
            self._unsent += sum(map(len, message))
        self._out.put((time.monotonic() + delay if delay else 0.0, exchange, identity, message, last))
        if of_a_worker:  # the message thread looks by itself before it waits again
            self._wake_up()

    def _send_all(self) -> None:
        with contextlib.suppress(queue.Empty):
            while True:
                due, exchange, identity, message, last = self._out.get_nowait()
                if identity:
                    self._taken(message)
                if due:
                    heapq.heappush(self._late, (due, next(self._order), exchange, identity, message, last))
                else:
                    self._send(exchange, identity, message, last=last)
                if self._dead:
                    return
        while self._late and self._late[0][0] <= time.monotonic():
            _, _, exchange, identity, message, last = heapq.heappop(self._late)
            self._send(exchange, identity, message, last=last)

    def _send(self, exchange: RunningExchange, identity: bytes, message: list[bytes], *, last: bool) -> None:
        if not identity:
            self._end(message[0])
            return
        self._journal.sent(exchange, message, last=last)  # before the peer can have it
        while not self._stopping.is_set():
            try:
                self._socket.send_multipart([identity, *message], flags=zmq.NOBLOCK)
            except zmq.Again:
                self._stopping.wait(0.005)  # the real one blocks here until the peer reads
            except zmq.ZMQError:
                self._journal.note(exchange, dropped="the peer is gone")
                return
            else:
                return

    def _taken(self, message: list[bytes]) -> None:
        """A message waits no longer; workers that waited go on, one beyond the bound at most."""
        with self._room:
            full = self._unsent > MOST_UNSENT
            self._unsent -= sum(map(len, message))
            if full and self._unsent <= MOST_UNSENT:
                self._room.notify_all()

    def _end(self, how: bytes) -> None:
        if how == b"die":
            self._die("a fault")
        else:
            self._restart()

    def _die(self, why: str) -> None:
        """Serve nobody any more, and let no worker wait for that."""
        self._dead = True
        with self._room:
            self._room.notify_all()
        self._journal.died(why)
