"""What was ever stored, and what may be found of it after a crash."""

from __future__ import annotations

import enum
import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Final, Literal

from harness.l2.plugin_process import Plugin

_SHOWN: Final = 16
BATCH: Final = 32
"""Objects of one load of a check."""
FaultKind = Literal["wrong", "lost", "unhealed", "dead"]
FAULTS: Final[Mapping[FaultKind, str]] = {
    "wrong": "a load gave bytes that were never stored under the key",
    "lost": "an object whose store had completed was not found",
    "unhealed": "an object could not be loaded after its store had completed",
    "dead": "the plugin could not be opened, hung or died by itself",
}


class State(enum.Enum):
    """What is known of an object."""

    ABSENT = "never stored"
    MAYBE = "whole or a miss"
    SURE = "whole"


@dataclass(frozen=True)
class Fault:
    """Something that must not be."""

    kind: FaultKind
    words: str


@dataclass
class Tally:
    """What checks found."""

    checked: int = 0
    """Objects whose store had begun, each time that they were loaded."""
    whole: int = 0
    missed: int = 0
    promised: int = 0
    """Of those that missed: a lookup had said yes just before."""
    faults: list[Fault] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Count what another check found as well."""
        self.checked += other.checked
        self.whole += other.whole
        self.missed += other.missed
        self.promised += other.promised
        self.faults.extend(other.faults)


class Ledger:
    """Objects by key. The bytes of each follow from its key, so that those of another are told from them."""

    def __init__(self, sizes: Mapping[str, int]) -> None:
        self._sizes = dict(sizes)
        self._states = dict.fromkeys(sizes, State.ABSENT)
        self.present: frozenset[str] = frozenset()
        """Those that the last check found whole."""

    @property
    def keys(self) -> Sequence[str]:
        """Every key, stored or not."""
        return tuple(self._sizes)

    def size(self, key: str) -> int:
        """Bytes of an object."""
        return self._sizes[key]

    def object(self, key: str) -> tuple[str, bytes]:
        """A key and its bytes."""
        return key, content(key, self._sizes[key])

    def state(self, key: str) -> State:
        """What is known of it."""
        return self._states[key]

    def in_state(self, *states: State) -> list[str]:
        """The keys of which that is known."""
        return [key for key, state in self._states.items() if state in states]

    def storing(self, keys: Iterable[str]) -> None:
        """A store begins: what was whole stays so, as the same bytes are stored."""
        for key in keys:
            if self._states[key] is State.ABSENT:
                self._states[key] = State.MAYBE

    def stored(self, keys: Iterable[str], *, ok: bool) -> None:
        """A store has completed."""
        for key in keys:
            self._states[key] = State.SURE if ok else State.MAYBE

    def deleting(self, keys: Iterable[str]) -> None:
        """A delete begins, or has completed: after a crash the object may be there again, which harms nobody."""
        for key in keys:
            if self._states[key] is State.SURE:
                self._states[key] = State.MAYBE

    def doubt(self) -> None:
        """Something happened after which each object may be missing."""
        self.deleting(self.keys)

    def forget(self) -> None:
        """Nothing was ever stored."""
        self._states = dict.fromkeys(self._sizes, State.ABSENT)

    def check(self, plugin: Plugin, *, must: FaultKind = "lost") -> Tally:
        """Look up and load everything; ``must`` is the fault when something that is sure is missing."""
        tally = Tally()
        keys, present = list(self.keys), set()
        for start in range(0, len(keys), BATCH):
            batch = keys[start : start + BATCH]
            looked = plugin.lookup(batch)
            loaded = plugin.load(batch, [self._sizes[key] for key in batch])
            for key, said, data in zip(batch, looked, loaded.data, strict=True):
                one = self.judge(key, data, sure=self._states[key] is State.SURE, must=must, said=said)
                present |= {key} if one.whole else set()
                tally.add(one)
        self.present = frozenset(present)
        return tally

    def judge(self, key: str, data: bytes | None, *, sure: bool, must: FaultKind = "lost", said: bool = False) -> Tally:
        """One object that a load brought, or did not."""
        if data is None and self._states[key] is State.ABSENT:
            return Tally()
        if data is None:
            faults = [Fault(must, f"{_named(key)} of {self._sizes[key]} bytes: {FAULTS[must]}")] if sure else []
            return Tally(checked=1, missed=1, promised=int(said), faults=faults)
        expected = content(key, self._sizes[key])
        if self._states[key] is not State.ABSENT and data == expected:
            return Tally(checked=1, whole=1)
        never = ", and nothing was" if self._states[key] is State.ABSENT else ""
        words = f"{_named(key)}: {FAULTS['wrong']}{never}; {difference(expected, data)}"
        return Tally(checked=1, faults=[Fault("wrong", words)])


@functools.lru_cache(maxsize=64)
def content(key: str, size: int) -> bytes:
    """The bytes that are stored under a key."""
    return Random(key).randbytes(size)  # noqa: S311  # test data, no secrets


def difference(expected: bytes, got: bytes) -> str:
    """How some bytes differ from others, for a report."""
    if len(expected) != len(got):
        return f"{len(expected)} bytes were expected and {len(got)} came"
    places = [place for place, (one, two) in enumerate(zip(expected, got, strict=True)) if one != two]
    if not places:
        return "the bytes are the same"
    first, last = places[0], places[-1]
    shown = got[first : first + 8]
    kind = "zeros" if not any(got[first : last + 1]) else f"{shown.hex(' ')} ..."
    return f"{len(places)} of {len(expected)} bytes differ, from byte {first} to byte {last}: {kind}"


def _named(key: str) -> str:
    """A key as reports name it: long ones by their end."""
    return f"object {key}" if len(key) <= _SHOWN else f"object ...{key[-_SHOWN:]}"
