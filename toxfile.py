"""Environments of tox for the real lmcache, one for every captured release and one for all.

``live-RELEASE`` runs the matrix of the reference client with real servers, ``live-mp-RELEASE`` that of the reference client of
the multiprocess server's wire with real multiprocess servers, ``lmcache-RELEASE`` and ``lmcache-mp-RELEASE`` those of lmcache's
own clients, ``l2-real-RELEASE`` those of the adapters for L2 that lmcache ships, against the lists of what they are known to
fail. ``l2-live-RELEASE`` runs the reference plugin inside the real multiprocess server, and measures again what that makes of
plugins that misbehave. ``remote-RELEASE`` runs the cases of remote connectors, for the reference and for lmcache's own that
stores in files.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from packaging.version import Version
from tox.config.loader.memory import MemoryLoader
from tox.plugin import impl

ROOT = Path(__file__).resolve().parent
CORPUS = ROOT / "cases" / "corpus"
CAPTURED = sorted((path.parent.name for path in CORPUS.glob("*/manifest.json")), key=Version)
CHOICES = {f"live-{releases}": releases for releases in ("all", *CAPTURED)}
"""Name of an environment to what ``--lmcache`` takes."""
WITH_MP = [release for release in CAPTURED if (CORPUS / release / "mp" / "manifest.json").is_file()]
WITH_MP_SERVER = [release for release in WITH_MP if Version(release) >= Version("0.3.10")]
"""0.3.9.post1 and 0.3.9.post2 have the messages and no server."""
MP_CHOICES = {
    f"live-mp-{name}": ",".join(some) for name, some in (("all", WITH_MP_SERVER), *((one, [one]) for one in WITH_MP_SERVER))
}
"""The same for multiprocess servers."""
WITH_PLUGINS = [release for release in WITH_MP if Version(release) >= Version("0.4.6")]
"""Older servers move no data without a GPU, and so have nothing for a plugin."""
PLUGINS = {f"l2-live-{name}": some for name, some in (("all", WITH_PLUGINS), *((one, [one]) for one in WITH_PLUGINS))}
"""The same for servers with a storage plugin."""
CLIENTS = {
    f"{kind}-{name}": (kind, releases)
    for kind, captured in (("lmcache", CAPTURED), ("lmcache-mp", WITH_MP))
    for name, releases in (("all", captured), *((one, [one]) for one in captured))
}
"""Name of an environment to the kind of client and the releases that it judges, each as the release that it is."""
ADAPTERS = ("fs", "fs_native", "mock", "resp")
"""Adapters for L2 that lmcache ships and that run on a CPU; the last one needs the system's ``redis-server``."""
REMOTE_CHOICES = {f"remote-{releases}": releases for releases in ("all", *CAPTURED)}
"""Remote connectors, in the lmcache of these releases."""
WITH_ADAPTERS = [release for release in WITH_MP if Version(release) >= Version("0.4.3")]


@impl
def tox_extend_envs() -> Iterable[str]:
    """Their names; ``tox.ini`` has no list of them."""
    real = (f"l2-real-{release}" for release in WITH_ADAPTERS)
    return (*CHOICES, *MP_CHOICES, *PLUGINS, *CLIENTS, *real, *REMOTE_CHOICES)


@impl
def tox_add_core_config(core_conf: Any, state: Any) -> None:
    """Each of them is the section ``live`` of ``tox.ini`` with its releases."""
    del core_conf
    for name, releases in CHOICES.items():
        loader = MemoryLoader(
            base=["live", "testenv"],
            description=f"the matrix of the reference client against the real server: lmcache {releases}",
            set_env={"LMCONFORM_LIVE": releases},
        )
        state.conf.memory_seed_loaders[name].append(loader)
    for name, releases in MP_CHOICES.items():
        loader = MemoryLoader(
            base=["live-mp", "testenv"],
            description=f"the matrix of reference-mp against the real multiprocess server: lmcache {releases}",
            set_env={"LMCONFORM_LIVE": releases},
        )
        state.conf.memory_seed_loaders[name].append(loader)
    for name, releases in PLUGINS.items():
        loader = MemoryLoader(
            base=["l2-live", "testenv"],
            description=f"a storage plugin in the real multiprocess server, right and misbehaving: lmcache {', '.join(releases)}",
            set_env={"LMCONFORM_LIVE": ",".join(releases), "LMCONFORM_EACH": " ".join(releases)},
        )
        state.conf.memory_seed_loaders[name].append(loader)
    for name, (kind, releases) in CLIENTS.items():
        loader = MemoryLoader(
            base=["lmcache", "testenv"],
            description=f"the matrix of lmcache's own client, {kind}: {', '.join(releases)}",
            commands=[_judge(kind, release) for release in releases],
        )
        state.conf.memory_seed_loaders[name].append(loader)
    for release in WITH_ADAPTERS:
        loader = MemoryLoader(
            base=["lmcache", "testenv"],
            description=f"the cases of storage plugins for the adapters that lmcache {release} ships: {', '.join(ADAPTERS)}",
            ignore_errors=True,
            commands=[_judge_adapter(adapter, release) for adapter in ADAPTERS],
        )
        state.conf.memory_seed_loaders[f"l2-real-{release}"].append(loader)
    for name, releases in REMOTE_CHOICES.items():
        loader = MemoryLoader(
            base=["lmcache", "testenv"],
            description=f"the cases of remote connectors for the reference and for lmcache's own of the file system: {releases}",
            commands=[
                _judge_connector("reference", releases),
                _judge_connector("lmcache:fs", releases, "--expectations", "lmcache-remote"),
            ],
        )
        state.conf.memory_seed_loaders[name].append(loader)


def _judge_connector(connector: str, releases: str, *more: str) -> str:
    folder = ROOT / ".tox" / "results" / f"remote-{connector.replace(':', '-')}-{releases}"
    return shlex.join([str(ROOT / "lmconform"), "connector", connector, "--lmcache", releases, *more, "--out", str(folder)])


def _judge_adapter(adapter: str, release: str) -> str:
    folder = ROOT / ".tox" / "results" / f"l2-{adapter}-{release}"
    words = [f"lmcache:{adapter}", "--type", "plugin", "--lmcache", release, "--expectations", f"lmcache-l2-{adapter}"]
    return shlex.join([str(ROOT / "lmconform"), "plugin", *words, "--out", str(folder)])


def _judge(kind: str, release: str) -> str:
    folder = ROOT / ".tox" / "results" / f"{kind}-{release}"
    has_server = kind == "lmcache" or release in WITH_MP_SERVER
    words = [
        "--client",
        f"{kind}:{release}",
        "--lmcache",
        release,
        "--target",
        "fixtures,mock,live" if has_server else "fixtures,mock",
        "--expectations",
        kind,
    ]
    return shlex.join([str(ROOT / "lmconform"), "run", *words, "--out", str(folder)])
