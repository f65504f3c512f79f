"""Why a run holds no record of a case: it was not asked for, or there is no such case any more."""

from __future__ import annotations

import fnmatch
import functools
import re
from collections.abc import Iterator, Sequence

from reports.plain import clip
from reports.record import CaseRecord, RunHeader
from reports.results import Results
from reports.words import listing

_WIRES = ("lm", "mp")


class Selected:
    """What a run was asked to do, as far as its results file tells."""

    def __init__(self, name: str, results: Results) -> None:
        header = results.header
        self._name = name
        self._incomplete = results.incomplete is not None
        self._header = header
        self._releases, self._targets = frozenset(header.releases), frozenset(header.targets)
        words = [word for line in _command_lines(header) for word in line]
        self._patterns = tuple(dict.fromkeys(_values(words, "--only")))
        self._properties = "--properties" in words
        self._protocols = frozenset(_values(words, "--protocol")) & frozenset(_WIRES)

    def why_not(self, case: CaseRecord, *, release: str | None) -> str | None:
        """Why the case was not run, as a sentence without its full stop; None where nothing explains it.

        ``release`` is that in which it would have run; None where releases are not compared by name.
        """
        header, wire = self._header, case.topic.partition(".")[0]
        if release is not None and release not in self._releases:
            return f"{self._name} did not run lmcache {release}"
        if case.target not in self._targets:
            return f"{self._name} did not run the target {case.target}"
        if header.shard is not None:
            return f"{self._name} is shard {header.shard} alone"
        if wire in header.left_out:
            return f"{self._name} left out the cases of {wire}: the client declares none of their operations"
        if self._protocols and wire in _WIRES and wire not in self._protocols:
            return f"{self._name} ran with --protocol {listing(sorted(self._protocols))} alone"
        if self._patterns and not self._named(case, release):
            return f"{self._name} ran with --only {clip(listing(self._patterns, 3), 120)}"
        if self._properties:
            return f"{self._name} ran with --properties"
        return f"{self._name} did not end" if self._incomplete else None

    def _named(self, case: CaseRecord, release: str | None) -> bool:
        tail = "-".join(filter(None, (release or case.release, case.target, case.variant)))
        return any(_compiled(pattern).match(f"{case.name}[{tail}]") is not None for pattern in self._patterns)


def _command_lines(header: RunHeader) -> list[Sequence[str]]:
    return [part.command_line for part in header.merged.parts] if header.merged is not None else [header.command_line]


def _values(words: Sequence[str], option: str) -> Iterator[str]:
    for place, word in enumerate(words):
        if word == option and place + 1 < len(words):
            yield words[place + 1]
        elif word.startswith(f"{option}="):
            yield word.partition("=")[2]


@functools.lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re.Pattern[str]:
    """As ``--only`` reads it: brackets are literal, and a pattern without them means every cell of the case."""
    literal = pattern.replace("[", "[[]")
    return re.compile("|".join(fnmatch.translate(text) for text in (literal, f"{literal}[[]*")))
