"""The operations that are measured: what one call is, and what the answer must be. Client and floor are asked for the same."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar, Final

from fixturegen.inputs import identities
from harness.bench import values
from harness.bench.asker import Asked, Asker, WrongAnswer
from harness.bench.plain import PlainClient, PlainConnection
from harness.bench.plan import STARTS, Planned
from harness.values import Keys, Value
from reports.bench.model import Operation
from wire.lm.frames import Description
from wire.release import Release

_GIGA: Final = 1e9
_ALONE: Final = "none"
"""The name of a connection that is none."""
_LOOKS: Final = 100
_WAIT: Final = 0.05
"""How often, and after how many seconds each time, it is looked whether a value has arrived."""


class Work(ABC):
    """One measure being taken of one side. ``plain`` is a connection of ours, which looks after what the side does."""

    connects: ClassVar[bool] = True

    def __init__(self, plan: Planned, asker: Asker, plain: PlainConnection, keys: Keys) -> None:
        self.plan = plan
        self.asker = asker
        self.plain = plain
        self.keys = keys

    def connected(self) -> AbstractContextManager[str]:
        """What the calls of a round need: the name of a connection."""
        return self.asker.connected() if self.connects else nullcontext(_ALONE)

    def begin(self, number: int) -> None:
        """Make ready for the round of that number."""
        del number

    @property
    @abstractmethod
    def amount(self) -> float:
        """What one call moves, in the unit of the measure without its second."""

    @abstractmethod
    def call(self, connection: str) -> Asked:
        """One call, whose answer is looked at.

        Raises:
            WrongAnswer, MeasureEnded: as :meth:`Asker.ask`.
        """

    def check(self) -> None:
        """Look at what the calls of a round left behind.

        Raises:
            WrongAnswer: it is not what it should be.
        """
        return


class _OfValues(Work):
    """One key, and in each round another value of one size."""

    def __init__(self, plan: Planned, asker: Asker, plain: PlainConnection, keys: Keys) -> None:
        super().__init__(plan, asker, plain, keys)
        self._key = keys()
        self._value: Value

    @property
    def amount(self) -> float:
        """Gigabytes."""
        return (self.plan.size or 0) / _GIGA


class Put(_OfValues):
    """Hand over a value; the next begins only when the server has it, so that no call pays for the one before."""

    def begin(self, number: int) -> None:
        """Another value in each round."""
        self._value = values.value(self.plan.size or 0, number)

    def call(self, connection: str) -> Asked:
        """PUT, and EXIST on the same connection, which is not timed."""
        about = {"connection": connection, "key": self._key}
        asked = self.asker.ask("put", **about, **self._value.stored)
        if self.asker.declares("exist") and self.asker.ask("exist", **about).values["exists"] is not True:
            raise WrongAnswer(f"{self.plan.name}: exist: expected true for the key that was stored before, got false")
        return asked

    def check(self) -> None:
        """The server has the value of this round."""
        value, found = self._value, None
        for _ in range(1 if self.asker.declares("exist") else _LOOKS):
            found = self.plain.get(self._key)
            if found is not None and found[1] == value.payload:
                break
            time.sleep(_WAIT)  # nobody answers a PUT, and one on another connection may still be under way
        if found is None:
            raise WrongAnswer(f"{self.plan.name}: expected the server to have the value that was stored, but it has none")
        about, payload = found
        for member, wanted in value.expect.items():
            _require(f"{self.plan.name}: {member} of what was stored", wanted, _listed(getattr(about, member)))
        if payload != value.payload:
            raise WrongAnswer(
                f"{self.plan.name}: expected the server to have the value that was stored; {_differs(value.payload, payload)}"
            )


class Get(_OfValues):
    """Load a value that was stored without the side."""

    def begin(self, number: int) -> None:
        """Another value in each round, so that one which was kept from the round before is noticed."""
        self._value = value = values.value(self.plan.size or 0, -1 - number)
        self.plain.put(self._key, Description(len(value.payload), value.format, value.dtype, value.shape), value.payload)
        self.plain.exist(self._key)

    def call(self, connection: str) -> Asked:
        """GET, every byte compared."""
        value = self._value
        asked = self.asker.ask("get", connection=connection, key=self._key, expect=value.expect)
        for member, wanted in value.expect.items():
            _require(f"{self.plan.name}: {member}", wanted, asked.values[member])
        payload = asked.values["payload"]
        if payload != value.payload:
            raise WrongAnswer(f"{self.plan.name}: expected the value that was stored; {_differs(value.payload, payload)}")
        return asked


class Exist(Work):
    """Ask for a key that is there and for one that is not, in turns."""

    def __init__(self, plan: Planned, asker: Asker, plain: PlainConnection, keys: Keys) -> None:
        super().__init__(plan, asker, plain, keys)
        self._keys = keys.several(2)
        self._calls = 0

    @property
    def amount(self) -> float:
        """Calls."""
        return 1

    def begin(self, number: int) -> None:
        """One of the two is stored."""
        value = values.value(4096, number)
        self.plain.put(self._keys[0], Description(len(value.payload), value.format, value.dtype, value.shape), value.payload)
        self.plain.exist(self._keys[0])

    def call(self, connection: str) -> Asked:
        """EXIST."""
        there = self._calls % 2 == 0
        self._calls += 1
        asked = self.asker.ask("exist", connection=connection, key=self._keys[0 if there else 1])
        _require(f"{self.plan.name}, a key that is {'there' if there else 'not there'}", there, asked.values["exists"])
        return asked


class ChunkKeys(Work):
    """The keys of a prompt, which must be those that our own code makes."""

    connects = False

    def __init__(self, plan: Planned, asker: Asker, plain: PlainConnection, keys: Keys) -> None:
        super().__init__(plan, asker, plain, keys)
        self._args = _prompt(asker.release, plan.algorithm or "", keys.model)
        self._wanted = PlainClient().chunk_keys(**self._args)["chunks"]

    @property
    def amount(self) -> float:
        """Keys."""
        return len(self._wanted)

    def call(self, connection: str) -> Asked:
        """All keys of the prompt."""
        del connection
        asked = self.asker.ask("chunk_keys", **self._args)
        found = asked.values["chunks"]
        _require(f"{self.plan.name}: number of chunks", len(self._wanted), len(found))
        for number, (wanted, one) in enumerate(zip(self._wanted, found, strict=True)):
            for member in wanted:
                _require(f"{self.plan.name}: {member} of chunk {number}", wanted[member], one[member])
        return asked


WORKS: Final[Mapping[Operation, type[Work]]] = {"put": Put, "get": Get, "exist": Exist, "chunk_keys": ChunkKeys}


def _prompt(release: Release, algorithm: str, model: str) -> dict[str, Any]:
    """What ``chunk_keys`` is asked."""
    return {
        **identities.identity(release),
        "model": model,
        "release": release.text,
        "tokens": values.tokens(),
        "algorithm": algorithm,
        "none_hash": STARTS[release][algorithm],
        "chunk_size": values.CHUNK,
        "save_unfull_chunk": False,
        "skip": 0,
    }


def _require(what: str, wanted: object, found: object) -> None:
    if found != wanted:
        raise WrongAnswer(f"{what}: expected {wanted}, got {found}")


def _listed(value: object) -> object:
    """Shapes as the contract writes them."""
    return list(value) if isinstance(value, tuple) else value


def _differs(wanted: bytes, found: bytes) -> str:
    """Where two values begin to differ, in words."""
    if len(found) != len(wanted):
        return f"expected {len(wanted)} bytes, got {len(found)}"
    low, high = 0, len(wanted)
    while high - low > 1:  # halves are compared at once, byte by byte would take seconds
        middle = (low + high) // 2
        low, high = (middle, high) if wanted[low:middle] == found[low:middle] else (low, middle)
    return f"at offset {low} expected {wanted[low]:02x}, got {found[low]:02x}"
