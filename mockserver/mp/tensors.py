"""The transfer where the server copies blocks of the engine's tensors; without a GPU, no CUDA tensor can be opened.

Source: ``lmcache.v1.multiprocess.modules.lmcache_driven_transfer`` and, before 0.4.6, ``lmcache.v1.multiprocess.server``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mockserver.mp.layouts import Layouts
from mockserver.mp.objects import ObjectStore
from mockserver.mp.sessions import HandlerError, Sessions
from wire.release import Release


class ServerDriven:
    """Registered tensors of one server; the caller holds its lock."""

    def __init__(self, release: Release, chunk_size: int, store: ObjectStore, sessions: Sessions, layouts: Layouts) -> None:
        self._release = release
        self._chunk_size = chunk_size
        self._store = store
        self._sessions = sessions
        self._layouts = layouts

    def handlers(self) -> dict[str, Callable[..., Any]]:
        """By the name of the operation."""
        return {
            "REGISTER_KV_CACHE": self.register,
            "UNREGISTER_KV_CACHE": lambda _: None,
            "STORE": self.move,
            "RETRIEVE": self.move,
        }

    def register(self, instance_id: int, wrappers: list[Any], *_: Any) -> None:
        """Open the tensors.

        Raises:
            HandlerError: they are on a GPU.
        """
        raise HandlerError(f"{len(wrappers)} tensors of instance {instance_id} that need a GPU")

    def move(self, _: Any, instance_id: int, *__: Any) -> Any:
        """Copy blocks.

        Raises:
            HandlerError: nobody registered the instance.
        """
        raise HandlerError(f"instance {instance_id} is not registered")
