"""The mock MP server as a thing that starts and stops."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, ClassVar, Self

import zmq

from mockserver.door import loopback_address
from mockserver.mp import behaviour
from mockserver.mp.behaviour import MODES, Mode
from mockserver.mp.engine import Engine
from mockserver.mp.faults.plan import NO_MP_FAULTS, MpFaultPlan, MpPlanProgress
from mockserver.mp.journal import MpJournal
from mockserver.mp.messages import MessageThread
from mockserver.mp.objects import ObjectStore
from mockserver.mp.pool import DEFAULT_POOL_SIZE, Pool
from wire.mp.operations import operation_table
from wire.release import Release


class MpServer:
    """A multiprocess server of one release of lmcache, over ZeroMQ.

    Use it in a ``with`` statement, or call :meth:`start` and :meth:`stop`. Without faults it cannot be told from the real server
    of that release on a machine without a GPU, as far as ``docs/reference/mp-mock.md`` says.
    """

    engine_class: ClassVar[type[Engine]] = Engine
    message_thread_class: ClassVar[type[MessageThread]] = MessageThread
    """What executes operations and what carries messages; a server with a defect has others."""

    def __init__(
        self,
        release: str | Release,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        allow_remote: bool = False,
        chunk_size: int = 16,
        pool_size: int = DEFAULT_POOL_SIZE,
        shared_memory: bool = True,
        mode: Mode = "engine_driven",
        faults: MpFaultPlan = NO_MP_FAULTS,
        journal: MpJournal | None = None,
        on_restart: Callable[[MpServer], None] = lambda _: None,
    ) -> None:
        if chunk_size < 1 or pool_size < behaviour.ALIGNMENT or mode not in MODES:
            raise ValueError(
                f"chunk_size is from 1, not {chunk_size}; pool_size from {behaviour.ALIGNMENT}, not {pool_size}; "
                f"mode one of {', '.join(MODES)}, not {mode!r}"
            )
        self.release = Release.parse(release) if isinstance(release, str) else release
        self.table = operation_table(self.release)
        self.chunk_size = chunk_size
        self.journal = journal if journal is not None else MpJournal()
        self.restarts = 0
        """How often it was restarted, by a fault or by :meth:`restart`."""
        self._host = host
        self._wanted_port = port
        self._allow_remote = allow_remote
        self._pool_size = pool_size
        self._shared = shared_memory
        self._mode: Mode = mode
        self._on_restart = on_restart
        self._life = threading.RLock()
        self._progress = MpPlanProgress(faults)
        self._context: zmq.Context[zmq.Socket[bytes]] | None = None
        self._thread: MessageThread | None = None
        self._engine: Engine | None = None
        self._restarting: threading.Thread | None = None

    def start(self) -> Self:
        """Listen and serve.

        Raises:
            PortInUseError: another program has the port.
            RemoteHostError: the host can be reached from other machines, and ``allow_remote`` is not set.
            RuntimeError: it runs already.
        """
        with self._life:
            if self._thread is not None:
                raise RuntimeError(f"the mock server on {self.url} runs already")
            host = loopback_address(self._host, allow_remote=self._allow_remote)
            self._engine = self._new_engine()
            self._context = zmq.Context()
            try:
                self._thread = self._listen((host, self._wanted_port))
            except BaseException:
                self._close()
                raise
        return self

    def stop(self) -> None:
        """As a crash: unanswered requests stay unanswered, the pool is gone. Nothing happens when it does not run."""
        restarting = self._restarting
        if restarting is not None and restarting is not threading.current_thread():
            restarting.join()
        with self._life:
            thread, self._thread = self._thread, None
            if thread is not None:
                thread.stop()
            self._close()

    def restart(self, *, forget: bool = True) -> None:
        """Stop and start on the same port. The journal and the counts of the plan go on.

        With ``forget``, registrations, sessions and objects are lost, and the name of the pool stands for new memory, as after
        the restart of a real server whose pool has a name in its configuration.
        Nothing happens where it does not run.
        """
        with self._life:
            thread, self._thread = self._thread, None
            if thread is None:
                return
            address = thread.address
            thread.stop()
            if forget and self._engine is not None:
                name = self._engine.store.pool.name
                self._engine.close()
                self._engine = self._new_engine(name)
            self._thread = self._listen(address, again=True)
            self.restarts += 1
        self._on_restart(self)

    def _restart_soon(self) -> None:
        """Restart from a thread of its own, since it is the message thread that asks."""
        thread = threading.Thread(target=self.restart, name=f"mock-mp-{self.release}-restart", daemon=True)
        thread.start()
        self._restarting = thread  # only now: stop() may join it

    def _new_engine(self, name: str = "") -> Engine:
        shared = self._shared and self._mode != "lmcache_driven" and behaviour.SHARED_POOL[self.release]
        pool = Pool(self._pool_size, shared=shared, name=name)
        return self.engine_class(self.release, chunk_size=self.chunk_size, pool=pool, mode=self._mode)

    def _listen(self, address: tuple[str, int], *, again: bool = False) -> MessageThread:
        assert self._context is not None
        assert self._engine is not None
        self.journal.revived()
        return self.message_thread_class(
            self._context,
            address,
            self.table,
            self._engine,
            self.journal,
            lambda: self._progress,
            self._restart_soon,
            f"mock-mp-{self.release}",
            again=again,
        )

    def _close(self) -> None:
        if self._engine is not None:
            with self._engine.lock:
                self._engine.close()
            self._engine = None
        if self._context is not None:
            self._context.destroy(linger=0)
            self._context = None

    @property
    def address(self) -> tuple[str, int]:
        """Host and port.

        Raises:
            RuntimeError: the server does not run.
        """
        with self._life:
            thread = self._thread
        if thread is None:
            raise RuntimeError("the mock server does not run; use it in a with statement, or call start()")
        return thread.address

    @property
    def port(self) -> int:
        """The port; the kernel picked it where none was asked for."""
        return self.address[1]

    @property
    def url(self) -> str:
        """The address as ZeroMQ takes it: ``tcp://host:port``."""
        host, port = self.address
        return f"tcp://[{host}]:{port}" if ":" in host else f"tcp://{host}:{port}"

    @property
    def engine(self) -> Engine:
        """The state of the server.

        Raises:
            RuntimeError: the server does not run.
        """
        with self._life:
            engine = self._engine
        if engine is None:
            raise RuntimeError("the mock server does not run; use it in a with statement, or call start()")
        return engine

    @property
    def store(self) -> ObjectStore:
        """The objects and their locks; take ``engine.lock`` to look at several things at once."""
        return self.engine.store

    @property
    def shm_name(self) -> str:
        """The name of the pool; empty where it is not in shared memory."""
        return self.store.pool.name

    @property
    def pool_size(self) -> int:
        """Bytes of the pool."""
        return self._pool_size

    def status(self) -> dict[str, Any]:
        """What the real server's HTTP ``/status`` says, as far as it is modelled, by the same names."""
        return self.engine.status()

    def set_faults(self, plan: MpFaultPlan) -> None:
        """Use another plan from the next request on; its counts begin at zero."""
        self._progress = MpPlanProgress(plan)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()
