"""The mock server as a thing that starts and stops."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from types import TracebackType
from typing import ClassVar, Self

from mockserver.buffers import Buffer
from mockserver.faults.plan import NO_FAULTS, FaultPlan, PlanProgress
from mockserver.journal import Journal
from mockserver.listener import Listener
from mockserver.lm.replies import Replies
from mockserver.lm.requests import RequestReader, ServerRequest
from mockserver.lm.session import Desk, Session
from mockserver.store import Store, StoredValue
from wire.keys import CacheKey, parse_key_as_server
from wire.lm.frames import Description, without_location
from wire.lm.profile import LmProfile, lm_profile
from wire.release import Release

_REMEMBERED_REQUESTS = 4096


class LmServer:
    """An ``lm://`` server of one release of lmcache, one thread per connection.

    Use it in a ``with`` statement, or call :meth:`start` and :meth:`stop`. Without faults it cannot be told from the real
    server of that release. Journal and store may be handed in, to be shared or to outlive the server. A subclass may read
    requests, answer them or hold conversations in another way.
    """

    replies_class: ClassVar[type[Replies]] = Replies
    session_class: ClassVar[type[Session]] = Session

    def __init__(
        self,
        release: str | Release,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        faults: FaultPlan = NO_FAULTS,
        journal: Journal | None = None,
        store: Store | None = None,
        allow_remote: bool = False,
        on_restart: Callable[[LmServer], None] = lambda _: None,
    ) -> None:
        self.release = Release.parse(release) if isinstance(release, str) else release
        self.profile: LmProfile = lm_profile(self.release)
        self._reader = RequestReader(self.profile)
        self.journal = journal if journal is not None else Journal()
        self.store = store if store is not None else Store()
        self._host = host
        self._wanted_port = port
        self._on_restart = on_restart
        self._life = threading.Lock()
        self._allow_remote = allow_remote
        self._progress = PlanProgress(NO_FAULTS)
        self._listener: Listener | None = None
        self.set_faults(faults)
        self._desk = Desk(
            profile=self.profile,
            store=self.store,
            journal=self.journal,
            replies=self.replies_class(self.profile),
            read_request=functools.lru_cache(_REMEMBERED_REQUESTS)(self.read_request),
            faults=lambda: self._progress,
            restart=lambda how: self.restart(moves=how.moves, empties=how.empties),
        )

    def read_request(self, header: bytes) -> ServerRequest:
        """Judge a header.

        Raises:
            DecodeError: the real server would drop the connection.
        """
        return self._reader.read(header)

    def start(self) -> Self:
        """Listen and serve.

        Raises:
            PortInUseError: another program has the port.
            RemoteHostError: the host can be reached from other machines, and ``allow_remote`` is not set.
            RuntimeError: it runs already.
        """
        if self._listener is not None:
            raise RuntimeError(f"the mock server on {self.url} runs already")
        self._listener = self._listen(self._wanted_port)
        return self

    def stop(self) -> None:
        """End every connection, stalled ones included, and wait for the threads. Nothing happens when it does not run."""
        with self._life:
            if self._listener is not None:
                self._listener.stop()
                self._listener = None

    def restart(self, *, moves: bool = True, empties: bool = True) -> None:
        """Stop and start at once, on another port and with an empty store; the journal and the counts of the plan go on.

        Called from the thread of a connection, that connection is left to end by itself. Nothing happens where the server
        does not run, or is being stopped or restarted at this moment.
        """
        if not self._life.acquire(blocking=False):
            return
        try:
            old = self._listener
            if old is None:
                return
            if empties:
                self.store.clear()
            if moves:
                self._listener = self._listen(0)
                own = old.stop()
            else:
                self._listener = None
                own = old.stop()
                self._listener = self._listen(old.address[1])
            self._listener.adopt(own)
            if empties:
                self.store.clear()  # what connections stored until they ended
        finally:
            self._life.release()
        self._on_restart(self)

    def _listen(self, port: int) -> Listener:
        return Listener(
            lambda connection, faults: self.session_class(self._desk, connection, faults).run,
            lambda: self._progress.plan.welcome(self.journal.connection_count + 1),
            host=self._host,
            port=port,
            allow_remote=self._allow_remote,
            name=f"mock-lm-{self.release}",
        )

    @property
    def address(self) -> tuple[str, int]:
        """Host and port.

        Raises:
            RuntimeError: the server does not run.
        """
        if self._listener is None:
            raise RuntimeError("the mock server does not run; use it in a with statement, or call start()")
        return self._listener.address

    @property
    def port(self) -> int:
        """The port; the kernel picked it where none was asked for."""
        return self.address[1]

    @property
    def url(self) -> str:
        """The address as LMCache's configuration takes it: ``lm://host:port``."""
        host, port = self.address
        return f"lm://[{host}]:{port}" if ":" in host else f"lm://{host}:{port}"

    def set_faults(self, plan: FaultPlan) -> None:
        """Use another plan from the next request and the next connection on; its counts begin at zero.

        Raises:
            NotApplicableError: the plan names a header field that this release does not have.
        """
        plan.check(self.profile.header.reply)
        with self._life:
            before, self._progress = self._progress.plan, PlanProgress(plan)
            if self._listener is not None and (before.guards_the_door or plan.guards_the_door):
                self._listener.reconsider()

    def key(self, text: str) -> CacheKey:
        """The identity under which the store keeps what is put under this key string.

        Raises:
            DecodeError: the real server would drop the connection.
        """
        return parse_key_as_server(self.release, text)

    def preload(self, key: str, about: Description, data: Buffer | None) -> None:
        """Put a value into the store without a connection; ``None`` stands for a payload that was cut.

        Raises:
            DecodeError: the key is none of this release.
        """
        self.store.put(self.key(key), StoredValue(data, without_location(about)))

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()
