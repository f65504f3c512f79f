"""How the multiprocess server of each release is started, and where it cannot be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

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
        return words
