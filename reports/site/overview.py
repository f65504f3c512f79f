"""The first page, and a page for each release: what an update to every other one costs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from reports.drift.model import Aspect, Drift, Level
from reports.site.links import drift_page, upgrade_page
from reports.site.model import Content
from reports.site.rendering import Renderer
from reports.site.upgrade import Upgrade, Upgrades, between, changes_words, reach

TITLES: Final = ("lm:// wire", "stored chunks (keys)", "multiprocess wire")
"""In the order of the answers."""
_KEYS: Final = frozenset(
    {Aspect.KEY_STRING, Aspect.KEY_READING, Aspect.CHUNK_CHAIN, Aspect.CHUNKS, Aspect.DEFAULTS, Aspect.TOKEN_HASHES}
)


@dataclass(frozen=True)
class Boundary:
    """What changed with a release."""

    drift: Drift
    levels: tuple[Level, Level, Level]
    """The worst of ``lm://``, of keys, of the multiprocess wire."""

    @property
    def titles(self) -> list[str]:
        """The worst changes, shortly."""
        return [change.title for change in self.drift.changes]


def pages(content: Content, renderer: Renderer) -> Iterator[tuple[str, bytes]]:
    """``index.html``, ``upgrade.js`` and ``upgrade/RELEASE.html``."""
    upgrades = Upgrades(content)
    newest_first = list(reversed(content.releases))
    boundaries = [_boundary(drift) for drift in reversed(content.history.boundaries)]
    yield (
        "index.html",
        renderer.page(
            "index.html",
            "index.html.j2",
            title="LMCache wires: drift and compatibility",
            section="overview",
            content=content,
            newest=content.releases[-1],
            titles=TITLES,
            newest_first=newest_first,
            reaches=[reach(upgrades, content.releases, release) for release in newest_first[1:]],
            boundaries=boundaries,
            upgrade_page=upgrade_page,
            drift_page=drift_page,
        ),
    )
    yield "upgrade.js", _script(content, upgrades).encode()
    for release in content.releases:
        path = upgrade_page(release)
        yield (
            path,
            renderer.page(
                path,
                "upgrade.html.j2",
                title=f"From lmcache {release}",
                section="overview",
                release=release,
                releases=content.releases,
                titles=TITLES,
                rows=list(_rows(content, upgrades, release)),
                upgrade_page=upgrade_page,
                drift_page=drift_page,
            ),
        )


@dataclass(frozen=True)
class Row:
    """Neighbouring releases to which an update costs the same."""

    releases: tuple[str, ...]
    """Newest first."""
    upgrade: Upgrade
    drifts: tuple[Drift, ...]
    """What changed on the way to the newest of them."""
    changes: str
    back: bool
    """They are older than the release that one comes from."""


def _rows(content: Content, upgrades: Upgrades, old: str) -> Iterator[Row]:
    at = content.releases.index(old)
    pending: list[Row] = []
    for new in reversed(content.releases):
        if new == old:
            continue
        upgrade = upgrades.of(old, new)
        drifts = tuple(between(content.history, old, new))
        back = content.releases.index(new) < at
        row = Row((new,), upgrade, drifts, changes_words(drifts), back)
        last = pending[-1] if pending else None
        if last and last.back == back and _alike(last.upgrade, upgrade) and last.drifts == drifts:
            pending[-1] = Row((*last.releases, new), last.upgrade, drifts, last.changes, back)
        else:
            pending.append(row)
    yield from pending


def _alike(one: Upgrade, other: Upgrade) -> bool:
    return [(found.tone, found.chip, found.place) for found in one.answers] == [
        (found.tone, found.chip, found.place) for found in other.answers
    ]


def _boundary(drift: Drift) -> Boundary:
    levels = [Level.NONE, Level.NONE, Level.NONE]
    for change in drift.changes:
        place = 2 if change.aspect.value.startswith("mp ") else 1 if change.aspect in _KEYS else 0
        levels[place] = max(levels[place], change.levels.worst)
    one, two, three = levels
    return Boundary(drift, (one, two, three))


def _script(content: Content, upgrades: Upgrades) -> str:
    """All answers as data for the choice of two releases: each answer once, and its number for every pair."""
    known: dict[tuple[str, ...], int] = {}
    numbers: list[list[int]] = []
    for old in content.releases:
        for new in content.releases:
            answers = upgrades.of(old, new).answers if old != new else ()
            numbers.append([known.setdefault((one.tone, one.chip, one.words, one.place), len(known)) for one in answers])
    data: Mapping[str, Any] = {"releases": content.releases, "titles": TITLES, "answers": list(known), "pairs": numbers}
    return f"window.UPGRADE = {script_data(data)};\n"


def script_data(data: Mapping[str, Any] | Sequence[Any]) -> str:
    """Data as a literal of JavaScript: JSON in which nothing ends a script or a line."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=True)
    return text.replace("<", "\\u003c")
