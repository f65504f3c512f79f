"""A real multiprocess server that has a storage plugin as its second tier."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from fixturegen.environment import PinnedEnvironment
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
_USER: Final = 11
_SYSTEM: Final = 12
"""Places in ``/proc/PID/stat`` behind the name, in ticks of the clock."""
STOP: Final = 20.0
"""Seconds within which a server has to end when it is asked to."""


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

    def processor(self, seconds: float = WATCHED) -> float:
        """How much of a processor the server uses now, all its threads together."""
        before = self._processor_seconds()
        time.sleep(seconds)
        return (self._processor_seconds() - before) / seconds

    def _processor_seconds(self) -> float:
        found = Path(f"/proc/{self.server.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(found[_USER]) + int(found[_SYSTEM])) / os.sysconf("SC_CLK_TCK")

    def restart(self) -> None:
        """Kill the server and start it again, with the same plugin on the same storage, and nothing in its first tier."""
        self.server.restart()

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
        assert isinstance(server, MpServer)
        yield ServedPlugin(release, server, folder)
