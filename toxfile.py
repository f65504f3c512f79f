"""Environments of tox for the real lmcache, families with one for every captured release that has it, and one for all."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.version import Version
from tox.config.loader.memory import MemoryLoader
from tox.plugin import impl

ROOT = Path(__file__).resolve().parent
CORPUS = ROOT / "cases" / "corpus"
CAPTURED = sorted((path.parent.name for path in CORPUS.glob("*/manifest.json")), key=Version)
WITH_MP = [release for release in CAPTURED if (CORPUS / release / "mp" / "manifest.json").is_file()]
WITH_MP_SERVER = [release for release in WITH_MP if Version(release) >= Version("0.3.10")]
"""0.3.9.post1 and 0.3.9.post2 have the messages and no server."""
WITH_ADAPTERS = [release for release in WITH_MP if Version(release) >= Version("0.4.3")]
WITH_PLUGINS = [release for release in WITH_MP if Version(release) >= Version("0.4.6")]
"""Older servers move no data without a GPU, and so have nothing for a plugin."""
ADAPTERS = ("fs", "fs_native", "mock", "resp")
"""Adapters for L2 that lmcache ships and that run on a CPU; the last one needs the system's ``redis-server``."""


@dataclass(frozen=True)
class Family:
    """Environments ``NAME-RELEASE`` and ``NAME-all``."""

    name: str
    about: str
    releases: Sequence[str]
    commands: Callable[[Sequence[str]], Iterator[str]] | None = None
    """What they run; None where the section of that name in ``tox.ini`` says it."""


def _judge(results: str, *words: str) -> str:
    return shlex.join([str(ROOT / "lmconform"), *words, "--out", str(ROOT / ".tox" / "results" / results)])


def _clients(kind: str) -> Callable[[Sequence[str]], Iterator[str]]:
    def commands(releases: Sequence[str]) -> Iterator[str]:
        for release in releases:
            has_server = kind == "lmcache" or release in WITH_MP_SERVER
            target = "fixtures,mock,live" if has_server else "fixtures,mock"
            words = ("--client", f"{kind}:{release}", "--lmcache", release, "--target", target, "--expectations", kind)
            yield _judge(f"{kind}-{release}", "run", *words)

    return commands


def _adapters(releases: Sequence[str]) -> Iterator[str]:
    for release in releases:
        for adapter in ADAPTERS:
            words = (f"lmcache:{adapter}", "--type", "plugin", "--lmcache", release, "--expectations", f"lmcache-l2-{adapter}")
            yield _judge(f"l2-{adapter}-{release}", "plugin", *words)


def _connectors(releases: Sequence[str]) -> Iterator[str]:
    some = ",".join(releases)
    name = releases[0] if len(releases) == 1 else "all"
    yield _judge(f"remote-reference-{name}", "connector", "reference", "--lmcache", some)
    yield _judge(f"remote-fs-{name}", "connector", "lmcache:fs", "--lmcache", some, "--expectations", "lmcache-remote")


FAMILIES = (
    Family("live", "the matrix of the reference client against the real server", CAPTURED),
    Family("live-mp", "the matrix of reference-mp against the real multiprocess server", WITH_MP_SERVER),
    Family("lmcache", "the matrix of lmcache's own client, against the list of what it fails", CAPTURED, _clients("lmcache")),
    Family("lmcache-mp", "the same for its client of the multiprocess server", WITH_MP, _clients("lmcache-mp")),
    Family("server-lm", "the real lm:// server, judged by what any has to do", CAPTURED),
    Family("server-mp", "the real multiprocess server, likewise", WITH_MP_SERVER),
    Family("l2-live", "a storage plugin in the real multiprocess server, right and misbehaving", WITH_PLUGINS),
    Family("l2-real", "the adapters for L2 that lmcache ships, against the lists of what they fail", WITH_ADAPTERS, _adapters),
    Family("remote", "remote connectors, the reference and lmcache's own of the file system", CAPTURED, _connectors),
)


def _environments() -> Iterator[tuple[str, Family, Sequence[str]]]:
    """Name, family and releases of each."""
    for family in FAMILIES:
        yield f"{family.name}-all", family, family.releases
        yield from ((f"{family.name}-{release}", family, [release]) for release in family.releases)


@impl
def tox_extend_envs() -> Iterable[str]:
    """Their names; ``tox.ini`` has no list of them."""
    return [name for name, _, _ in _environments()]


@impl
def tox_add_core_config(core_conf: Any, state: Any) -> None:
    """Each has the commands of its family, or the section of ``tox.ini`` that is named so, with its releases."""
    del core_conf
    for name, family, releases in _environments():
        some = ",".join(releases)
        loader = MemoryLoader(
            base=[family.name if family.commands is None else "lmcache", "testenv"],
            description=f"{family.about}: lmcache {some}",
            set_env={"LMCONFORM_LIVE": some, "LMCONFORM_EACH": " ".join(releases)},
            **({"commands": list(family.commands(releases))} if family.commands is not None else {}),
        )
        state.conf.memory_seed_loaders[name].append(loader)
