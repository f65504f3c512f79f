"""A real multiprocess server that has a storage plugin as its second tier."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from fixturegen.environment import PinnedEnvironment
from fixturegen.errors import EnvironmentUnavailable
from fixturegen.mp.launch import Launch, PluginKind, import_root, plugin_adapter
from fixturegen.mp.server import MpServer
from harness.l2.served.engine import TIMEOUT, Engine
from wire.release import Release

OF_LMCACHE: Final = "lmcache"
L1_GB: Final = 1 / 64
"""The first tier: 16 MiB, so that little has to be stored to fill it."""
SETTLE: Final = 30.0
"""Seconds within which the plugin has to complete what was stored."""
QUIET: Final = 0.05
"""Seconds for which a server has to be idle: it takes new keys from its list a moment before it counts them as under way."""
WATCHED: Final = 0.6
"""Seconds in which an idle server's use of the processor is looked at."""
STOP: Final = 20.0
"""Seconds within which a server has to end when it is asked to."""


@dataclass(frozen=True)
class _Scheduled:
    """Seconds for which a thread ran, and for which it waited for a processor."""

    ran: float
    waited: float

    def minus(self, other: _Scheduled) -> _Scheduled:
        return _Scheduled(self.ran - other.ran, self.waited - other.waited)


def _share(scheduled: _Scheduled, passed: float) -> float:
    """On a busy machine a thread in a loop runs for a part of the time; it waits for the rest of it, and never sleeps."""
    return min(scheduled.ran / max(passed - scheduled.waited, 0.1 * passed), 1.0)


@dataclass(frozen=True)
class PluginPlace:
    """Where a server finds a plugin, and what it is made with; of the module ``lmcache`` it is an adapter that the server has."""

    kind: PluginKind
    module: str
    class_name: str
    params: Mapping[str, Any]

    def adapter(self) -> str:
        """The JSON of ``--l2-adapter``."""
        if self.module == OF_LMCACHE:
            return json.dumps({"type": self.class_name, **self.params})
        return plugin_adapter(self.kind, self.module, self.class_name, self.params)


@dataclass
class ServedPlugin:
    """A running server with the plugin."""

    release: Release
    server: MpServer
    folder: Path
    """What ``{dir}`` means in the plugin's parameters."""

    @contextlib.contextmanager
    def engine(self, *, chunk_bytes: int = 1024, timeout: float = TIMEOUT) -> Iterator[Engine]:
        """A model of its own, registered over a connection of its own."""
        engine = Engine(self.release, self.server.host, self.server.port, timeout, chunk_bytes)
        try:
            yield engine
        finally:
            engine.close()

    def status(self) -> Mapping[str, Any]:
        """What the server says of its storage.

        Raises:
            EnvironmentUnavailable: it says nothing.
        """
        found = self.server.status()
        assert found is not None, "every release with storage plugins tells its state"
        state: Mapping[str, Any] = found["storage_manager"]
        return state

    def first_tier(self) -> int:
        """Objects in the first tier."""
        return int(self.status()["l1_manager"]["total_object_count"])

    def written_through(self, patience: float = SETTLE) -> bool:
        """Whether the plugin completes, in time, all that was stored until now."""
        return self._quiet(lambda state: busy_stores(state) == 0, patience)

    def idle(self, patience: float = SETTLE) -> bool:
        """Whether nothing is stored, looked up or locked any more, in time."""
        return self._quiet(lambda state: busy_stores(state) == busy_lookups(state) == locks(state) == 0, patience)

    def has_room(self, size: int, patience: float) -> bool:
        """Whether the first tier has room for so many bytes, in time."""
        return self._quiet(lambda state: size <= _room(state), patience)

    def processor(self, seconds: float = WATCHED) -> float:
        """How much of a processor the busiest thread of the server uses now, of the time in which it may have one."""
        before, began = self._threads(), time.monotonic()
        time.sleep(seconds)
        passed = time.monotonic() - began
        return max(
            (_share(now.minus(then), passed) for thread, now in self._threads().items() if (then := before.get(thread))),
            default=0.0,
        )

    def _threads(self) -> dict[str, _Scheduled]:
        found = {}
        for path in Path(f"/proc/{self.server.pid}/task").iterdir():
            with contextlib.suppress(OSError):  # a thread that ended
                ran, waited, _ = (path / "schedstat").read_text().split()
                found[path.name] = _Scheduled(int(ran) / 1e9, int(waited) / 1e9)
        return found

    def restart(self) -> None:
        """Kill the server and start it again, with the same plugin on the same storage, and nothing in its first tier."""
        self.server.restart()
        self.listens()

    def listens(self, patience: float = SETTLE) -> None:
        """Wait until it tells its state: it answers NOOP a moment before, and an end in that moment closes no plugin.

        Raises:
            EnvironmentUnavailable: it does not in time.
        """
        until = time.monotonic() + patience
        while True:
            try:
                self.status()
            except EnvironmentUnavailable:
                if time.monotonic() > until:
                    raise
                time.sleep(QUIET)
            else:
                return

    def stop(self, patience: float = STOP) -> int | None:
        """Ask the server to end; its status, or None where it has to be killed."""
        return self.server.stop(patience)

    def _quiet(self, calm: Callable[[Mapping[str, Any]], bool], patience: float) -> bool:
        until, since = time.monotonic() + patience, None
        while True:
            now = time.monotonic()
            since = (since or now) if calm(self.status()) else None
            if since is not None and now - since >= QUIET:
                return True
            if now > until:
                return False
            time.sleep(QUIET / 2)


def _room(state: Mapping[str, Any]) -> int:
    found = state["l1_manager"]
    return int(found["memory_total_bytes"] - found["memory_used_bytes"])


def busy_stores(state: Mapping[str, Any]) -> int:
    """Keys and tasks on their way to the plugin."""
    found = state["store_controller"]
    return int(found["pending_keys_count"] + found["in_flight_task_count"])


def busy_lookups(state: Mapping[str, Any]) -> int:
    """Lookups that wait, or are under way."""
    found = state["prefetch_controller"]
    return int(found["submission_queue_size"] + found["pending_queue_size"] + found["in_flight_request_count"])


def locks(state: Mapping[str, Any]) -> int:
    """Objects of the first tier that are locked; what a load writes into is among those that are locked for writing."""
    found = state["l1_manager"]
    return int(found["read_locked_count"] + max(found["write_locked_count"], found.get("staging_object_count", 0)))


@contextlib.contextmanager
def served(
    environment: PinnedEnvironment,
    release: Release,
    plugin: PluginPlace,
    folder: Path,
    *,
    imports: tuple[Path, ...] | None = None,
    l1_gb: float = L1_GB,
    shared_memory: bool = True,
) -> Iterator[ServedPlugin]:
    """A server with a plugin until the block ends.

    Raises:
        EnvironmentUnavailable: it does not start; the message ends with its log.
    """
    launch = Launch(
        l1_gb=l1_gb,
        shared_memory=shared_memory,
        l2_adapters=(plugin.adapter(),),
        imports=(import_root(plugin.module),) if imports is None else imports,
    )
    with environment.mp_server(release, launch) as server:
        running = ServedPlugin(release, server, folder)
        running.listens()
        yield running
