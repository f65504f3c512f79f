"""The remote connectors of lmcache itself that run on a CPU: how each is named in a config."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from harness.placeholders import BACKEND, FOLDER
from harness.remote.spec import ConnectorSpec

BUILT_IN: Final[Mapping[str, ConnectorSpec]] = {
    "fs": ConnectorSpec("lmcache:fs", url=f"fs://lmconform:0{FOLDER}", built_in=True),
    "mock": ConnectorSpec(
        "lmcache:mock", url="mock://1/?peeking_latency=0.01&read_throughput=50&write_throughput=50", built_in=True
    ),
    "blackhole": ConnectorSpec("lmcache:blackhole", url="blackhole://lmconform:0", built_in=True),
    "redis": ConnectorSpec("lmcache:redis", url=f"redis://{BACKEND}", built_in=True),
    "resp": ConnectorSpec("lmcache:resp", url=f"resp://{BACKEND}", built_in=True),
    "lm": ConnectorSpec("lmcache:lm", url=f"lm://{BACKEND}", built_in=True),
}
"""``{backend}`` is ``HOST:PORT`` of what ``--backend`` runs."""
