"""What the operations do, apart from the wire: the state of one server, behind one lock.

A handler takes decoded payloads and gives a result; :class:`HandlerError` stands for an exception in the real handler,
which leaves the request without an answer. Source: ``lmcache.v1.multiprocess.server`` and, from 0.4.6 on,
``lmcache.v1.multiprocess.modules``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final

from mockserver.mp import behaviour
from mockserver.mp.behaviour import Mode
from mockserver.mp.contexts import EngineDriven
from mockserver.mp.events import EventLog
from mockserver.mp.layouts import Layouts
from mockserver.mp.lookups import Lookups
from mockserver.mp.objects import ObjectStore
from mockserver.mp.peers import Peers
from mockserver.mp.pool import Pool
from mockserver.mp.sessions import Sessions
from mockserver.mp.tensors import ServerDriven
from wire.release import Release

Handler = Callable[..., Any]

SYNC: Final = frozenset(
    {
        *("REGISTER_KV_CACHE", "UNREGISTER_KV_CACHE", "GET_CHUNK_SIZE", "NOOP", "GET_EXPERIMENTAL"),
        *("REGISTER_KV_CACHE_NON_GPU_CONTEXT", "UNREGISTER_KV_CACHE_NON_GPU_CONTEXT"),
        *("REGISTER_KV_CACHE_ENGINE_DRIVEN_CONTEXT", "UNREGISTER_KV_CACHE_ENGINE_DRIVEN_CONTEXT"),
    }
)
"""Operations that the message thread answers itself."""
AFFINITY: Final = frozenset({"STORE", "RETRIEVE", "PREPARE_STORE", "COMMIT_STORE", "PREPARE_RETRIEVE", "COMMIT_RETRIEVE"})
"""Operations that have a worker of their own; the others share one."""


class Engine:
    """The state of a server, and its handlers by the name of the operation."""

    store_class: ClassVar[type[ObjectStore]] = ObjectStore
    sessions_class: ClassVar[type[Sessions]] = Sessions
    contexts_class: ClassVar[type[EngineDriven]] = EngineDriven
    """What its parts are made of; a server that does something in another way has others."""

    def __init__(self, release: Release, *, chunk_size: int, pool: Pool, mode: Mode) -> None:
        self.release = release
        self.chunk_size = chunk_size
        self.lock = threading.RLock()
        self.events = EventLog()
        self.store = self.store_class(release, pool, self.events)
        self.sessions = self.sessions_class(chunk_size)
        self.layouts = Layouts()
        self.lookups = Lookups(release, chunk_size, self.store, self.sessions, self.layouts)
        self.contexts = self.contexts_class(release, chunk_size, self.store, self.sessions, self.layouts)
        self.tensors = ServerDriven(release, chunk_size, self.store, self.sessions, self.layouts, self.events)
        self.peers = Peers(release, self.store)
        self.handlers: Mapping[str, Handler] = self._handlers(mode)

    def _handlers(self, mode: Mode) -> dict[str, Handler]:
        found: dict[str, Handler] = {
            "NOOP": lambda: "OK",
            "GET_CHUNK_SIZE": lambda: self.chunk_size,
            "PING": lambda *_: True,
            "CLEAR": lambda force=behaviour.CLEAR_FORCES[self.release]: self.store.clear(force=force),
            "REPORT_BLOCK_ALLOCATION": lambda *_: None,
            "GET_EXPERIMENTAL": lambda: list(behaviour.EXPERIMENTAL[self.release]),
            **self.lookups.handlers(),
            **self.peers.handlers(),
        }
        engine_driven = behaviour.ENGINE_DRIVEN[self.release]
        if mode != "lmcache_driven" and engine_driven:
            found.update(self.contexts.handlers())
        if mode == "lmcache_driven" or not engine_driven or (mode == "auto" and behaviour.BOTH_WAYS[self.release]):
            found.update(self.tensors.handlers())
        return found

    def is_sync(self, operation: str) -> bool:
        """Whether the message thread itself answers."""
        return operation in SYNC or (operation == "QUERY_PREFETCH_STATUS" and behaviour.STATUS_IS_SYNC[self.release])

    def call(self, operation: str, payloads: list[Any]) -> Any:
        """The result of an operation.

        Raises:
            HandlerError: it fails.
        """
        with self.lock:
            return self.handlers[operation](*payloads)

    def close(self) -> None:
        """Let go of the memory of clients, and remove the pool."""
        self.tensors.close()
        self.store.pool.close()

    def status(self) -> dict[str, Any]:
        """The counts that the real server's ``/status`` has, by the same names."""
        with self.lock:
            return {
                "is_healthy": True,
                "chunk_size": self.chunk_size,
                "active_sessions": len(self.sessions),
                "active_prefetch_jobs": self.lookups.active,
                **self.contexts.status(),
                **self.tensors.status(),
                "storage_manager": {"l1_manager": self.store.status()},
            }
