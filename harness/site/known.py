"""The lists of known failures that come with the harness, as the site shows them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

from harness.expectations.entry import Entry
from harness.expectations.file import SHIPPED, read_expectations
from harness.patterns import matches
from reports.side import Side
from reports.site.model import Case, Known, KnownList


@dataclass(frozen=True)
class _About:
    words: str
    side: Side
    groups: tuple[str, ...]


_ABOUT: Final[Mapping[str, _About]] = MappingProxyType(
    {
        "lmcache": _About("lmcache's own client, lm://", "client", ("keys", "layouts", "lm")),
        "lmcache-mp": _About("lmcache's own client, multiprocess", "client", ("mp",)),
        "lmcache-server": _About("lmcache's own server, lm://", "server", ("servers",)),
        "lmcache-mp-server": _About("lmcache's own server, multiprocess", "server", ("mp",)),
        "lmcache-remote": _About("lmcache's own connector fs", "connector", ("remote",)),
        "lmcache-l2-fs": _About("lmcache's own adapter fs", "plugin", ("l2",)),
        "lmcache-l2-fs_native": _About("lmcache's own adapter fs_native", "plugin", ("l2",)),
        "lmcache-l2-mock": _About("lmcache's own adapter mock", "plugin", ("l2",)),
        "lmcache-l2-resp": _About("lmcache's own adapter resp", "plugin", ("l2",)),
    }
)
"""What each list is about: :data:`harness.expectations.file.SHIPPED` has their files."""


def known_lists(cases: Collection[Case], files: Mapping[str, Path] = SHIPPED) -> list[KnownList]:
    """The lists, in the order of their table."""
    return [_known_list(name, path, cases) for name, path in files.items()]


def _known_list(name: str, path: Path, cases: Collection[Case]) -> KnownList:
    about = _ABOUT.get(name) or _About(name, "client", ())
    entries = tuple(_known(entry, cases) for entry in read_expectations(path).entries)
    groups = about.groups or tuple(dict.fromkeys(case.partition(".")[0] for entry in entries for case in entry.cases))
    return KnownList(name, about.words, about.side, groups, entries)


def _known(entry: Entry, cases: Collection[Case]) -> Known:
    means = [pattern.partition("[")[0] for pattern in entry.cases]
    return Known(
        number=entry.number,
        patterns=entry.cases,
        cases=tuple(case.name for case in cases if any(matches(pattern, case.name) for pattern in means)),
        releases=", ".join(map(str, entry.releases)) or "all",
        targets=", ".join(entry.targets) or "all",
        how=" or ".join(entry.verdicts) + (", not always" if entry.outcome == "flaky" else ""),
        error=entry.error or "",
        reason=entry.reason,
        expires=entry.expires.isoformat(),
        issue=entry.issue,
    )
