"""How the multiprocess server of each release is started, and where it cannot be."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from fixturegen.errors import EnvironmentUnavailable
from wire.release import RangeTable, Release

Mode = Literal["engine", "lmcache", "auto"]
"""Who moves the KV data: the engine, in two steps; the server, from tensors that the engine registered; or either."""

MODES: Final[tuple[Mode, ...]] = ("engine", "lmcache", "auto")

NEEDS_SHIM: Final = RangeTable(
    "servers that ask for CUDA at their start", ("0.3.9.post1", False), ("0.3.10", True), ("0.4.6", False)
)
"""Such a server is started by ``probes/mp_server.py``; its control plane works, and nothing that moves KV data."""

NO_SERVER: Final = RangeTable[str | None](
    "why a release has no multiprocess server",
    ("0.3.9.post1", "its wheel has the messages of the protocol, and no server that answers them"),
    ("0.3.10", None),
)
"""The reason, or None where the server starts."""

NO_DATA_PATH: Final = RangeTable[str | None](
    "why KV data cannot be moved without a GPU",
    ("0.3.9.post1", "KV data moves through CUDA alone"),
    ("0.4.6", None),
)

SHARED_MEMORY: Final = RangeTable("servers whose first tier can lie in shared memory", ("0.3.9.post1", False), ("0.4.7", True))
CPU_TENSORS: Final = RangeTable("servers that take tensors in shared memory", ("0.3.9.post1", False), ("0.5.5", True))
GRPC: Final = RangeTable("servers that speak gRPC", ("0.3.9.post1", False), ("0.5.6", True))

PluginKind = Literal["native_plugin", "plugin"]
"""How a server takes a storage plugin: by the contract with one descriptor, or as a subclass of its own adapter class."""

PLUGIN_KINDS: Final = RangeTable[tuple[PluginKind, ...]](
    "storage plugins that a server loads", ("0.3.9.post1", ()), ("0.4.2", ("plugin",)), ("0.4.3", ("native_plugin", "plugin"))
)

STATUS_PATH: Final = RangeTable[str | None](
    "HTTP path of the state", ("0.3.9.post1", None), ("0.4.1", "/api/status"), ("0.4.5", "/status")
)
"""None where the server is started without HTTP, as what it has there says nothing of its state."""

POOL_PREFIX: Final = "lmcache_l1_pool_"
"""What every server puts before the name of its shared memory."""

_MODULE: Final = RangeTable(
    "module of the server",
    ("0.3.10", ("lmcache.v1.multiprocess.server",)),
    ("0.4.1", ("lmcache.v1.multiprocess.http_server",)),
    ("0.5.6", ("lmcache.cli.main", "server")),
)
_MODE_OPTION: Final = RangeTable[tuple[str, dict[Mode, str]] | None](
    "option of the transfer mode",
    ("0.3.10", None),
    ("0.4.6", ("--transfer-mode", {"engine": "non_gpu"})),
    ("0.4.7", ("--supported-transfer-mode", {"engine": "non_gpu", "lmcache": "gpu", "auto": "auto"})),
    ("0.5.0", ("--supported-transfer-mode", {"engine": "engine_driven", "lmcache": "lmcache_driven", "auto": "auto"})),
)
_STORE: Final = RangeTable(
    "options of the first tier",
    ("0.3.10", ("--cpu-buffer-size", "{size}")),
    ("0.3.14", ("--l1-size-gb", "{size}", "--l1-init-size-gb", "0", "--eviction-policy", "LRU")),
    ("0.4.6", ("--l1-size-gb", "{size}", "--eviction-policy", "LRU")),
)
_QUIET: Final = RangeTable(
    "options that keep metrics from a port of their own",
    ("0.3.10", ()),
    ("0.3.15", ("--disable-prometheus",)),
    ("0.4.3", ("--disable-metrics",)),
)


@dataclass(frozen=True)
class Launch:
    """What a server is asked to be."""

    chunk_size: int = 16
    """Tokens of a chunk."""
    l1_gb: float = 0.0625
    """Size of the first tier in units of 2**30 bytes."""
    mode: Mode = "engine"
    shared_memory: bool = True
    """Whether the first tier lies in shared memory; without, the engine-driven mode moves pickles."""
    grpc: bool = False
    l2_adapters: tuple[str, ...] = ()
    """Second tiers, each as the JSON of ``--l2-adapter``; every store is written through to all of them, and what a lookup does
    not find in the first tier is fetched from them: the policies that are the default of every release."""
    imports: tuple[Path, ...] = ()
    """Packages and modules that the server can import besides lmcache and what that needs."""

    def refused(self, release: Release) -> str | None:
        """Why the server of a release cannot be started like this, or None."""
        reason = NO_SERVER[release]
        if reason is not None:
            return reason
        if self.grpc and not GRPC[release]:
            return "it speaks ZeroMQ alone"
        option = _MODE_OPTION[release]
        if option is not None and self.mode not in option[1]:
            return f"its {option[0]} has no {self.mode}-driven value that works without a GPU"
        for kind in map(_kind_of, self.l2_adapters):
            if kind in ("native_plugin", "plugin") and kind not in PLUGIN_KINDS[release]:
                return f"it has no storage plugins of type {kind}"
        return None

    def arguments(self, release: Release, host: str, port: int, http_port: int | None, name: str) -> list[str]:
        """The module and its arguments; ``name`` is that of the shared memory, without its prefix."""
        words = [*_MODULE[release], "--host", host, "--port", str(port), "--chunk-size", str(self.chunk_size)]
        if http_port is not None:
            words += ["--http-host", host, "--http-port", str(http_port)]
        words += [word.format(size=self.l1_gb) for word in _STORE[release]]
        words += _QUIET[release]
        option = _MODE_OPTION[release]
        if option is not None:
            words += [option[0], option[1][self.mode]]
        if SHARED_MEMORY[release]:
            words.append(f"--shm-name={name if self.shared_memory else ''}")
        if self.grpc:
            words += ["--transport", "grpc"]
        for adapter in self.l2_adapters:
            words += ["--l2-adapter", adapter]
        return words


def plugin_adapter(kind: PluginKind, module: str, class_name: str, params: Mapping[str, Any]) -> str:
    """The JSON of ``--l2-adapter`` for a storage plugin."""
    return json.dumps({"type": kind, "module_path": module, "class_name": class_name, "adapter_params": dict(params)})


def import_root(module: str, paths: Sequence[str] = ()) -> Path:
    """The file or folder whose name makes a module importable: that of its outermost package.

    ``paths`` are looked through before those of this interpreter. Nothing is executed.

    Raises:
        EnvironmentUnavailable: it is not found, or it is nothing that can be linked.
    """
    top = module.partition(".")[0]
    found = importlib.machinery.PathFinder.find_spec(top, [*paths, *sys.path])
    if found is None:
        found = importlib.util.find_spec(top)
    if found is None:
        raise EnvironmentUnavailable(f"no module {top!r} is found; install it, or put the folder that holds it on PYTHONPATH")
    folders = list(found.submodule_search_locations or ())
    if len(folders) == 1:
        return Path(folders[0])
    if folders or found.origin is None or not Path(found.origin).is_file():
        raise EnvironmentUnavailable(f"{top!r} is no package or module in one place, which a server could be given a link to")
    return Path(found.origin)


def _kind_of(adapter: str) -> str:
    return str(json.loads(adapter).get("type"))
