"""What a mutant is, and the tables of all of them: defective clients, and defective servers."""

from __future__ import annotations

import difflib
import importlib
import inspect
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, TypeVar

import harness.mutants as package
from harness.client import ClientUnavailable
from harness.protocols import Protocol
from harness.reference.lm import ReferenceClient
from harness.reference.mp.client import ReferenceMpClient
from mockserver.lm import LmServer
from mockserver.mp import MpServer
from reports.mutants.model import Side
from wire.release import ReleaseRange

Defective = TypeVar("Defective", bound=type[ReferenceClient])
DefectiveMp = TypeVar("DefectiveMp", bound=type[ReferenceMpClient])
DefectiveServer = TypeVar("DefectiveServer", bound=type[LmServer])
DefectiveMpServer = TypeVar("DefectiveMpServer", bound=type[MpServer])


@dataclass(frozen=True, kw_only=True)
class Defect:
    """What the tables say of a class with one defect."""

    name: str
    place: str
    """``package.module:Class``, by which another process finds it."""
    defect: str
    """What it does wrong, in one sentence."""
    stands_for: str
    """The public bug that it stands for, or how such a defect comes about."""
    releases: ReleaseRange
    """Where the defect shows; on the wire of other releases the same code is right."""
    found_by: tuple[str, ...] = ()
    """Patterns of the cases that are about the defect, as ``--only`` takes them; the kill matrix begins with these."""
    captured: tuple[str, ...] = ()
    """Operations of the corpus without which the defect cannot show: some old releases have no captures of them."""

    @property
    def side(self) -> Side:
        """What it is a mutant of."""
        return "client"

    @property
    def protocol(self) -> Protocol:
        """The wire that it speaks, and whose cases it meets."""
        return "lm"


@dataclass(frozen=True, kw_only=True)
class Mutant(Defect):
    """The reference client with one defect."""

    make: type[ReferenceClient]


@dataclass(frozen=True, kw_only=True)
class MpMutant(Defect):
    """The reference client of the multiprocess server with one defect."""

    make: type[ReferenceMpClient]

    @property
    def protocol(self) -> Protocol:
        """That of the multiprocess server."""
        return "mp"


@dataclass(frozen=True, kw_only=True)
class ServerMutant(Defect):
    """The mock server with one defect."""

    make: type[LmServer]

    @property
    def side(self) -> Side:
        """A server."""
        return "server"


@dataclass(frozen=True, kw_only=True)
class MpServerMutant(Defect):
    """The mock of the multiprocess server with one defect."""

    make: type[MpServer]

    @property
    def side(self) -> Side:
        """A server."""
        return "server"

    @property
    def protocol(self) -> Protocol:
        """That of the multiprocess server."""
        return "mp"


_CLIENTS: Final[dict[str, Mutant | MpMutant]] = {}
_SERVERS: Final[dict[str, ServerMutant | MpServerMutant]] = {}


def _registrar(
    table: dict[str, Any], kind: Callable[..., Defect], sound: type, name: str, releases: str, **words: Any
) -> Callable[[Any], Any]:
    """Puts a subclass of ``sound`` into a table, as a defect of a kind with the words of its decorator."""

    def register(defective: type) -> type:
        place, defect = _described(name, defective, sound)
        about = {"name": name, "place": place, "defect": defect, "releases": ReleaseRange.parse(releases), **words}
        table[name] = kind(make=defective, **about)
        return defective

    return register


def mutant(
    name: str,
    *,
    stands_for: str,
    releases: str = "all",
    found_by: tuple[str, ...] = (),
    captured: tuple[str, ...] = (),
) -> Callable[[Defective], Defective]:
    """Make a subclass of the reference client a mutant; the first line of its docstring says what it does wrong.

    Raises:
        ValueError: the name is taken, or there is no docstring.
    """
    return _registrar(
        _CLIENTS, Mutant, ReferenceClient, name, releases, stands_for=stands_for, found_by=found_by, captured=captured
    )


def mp_mutant(
    name: str,
    *,
    stands_for: str,
    releases: str = "0.3.9.post1 and later",
    found_by: tuple[str, ...] = (),
    captured: tuple[str, ...] = (),
) -> Callable[[DefectiveMp], DefectiveMp]:
    """Make a subclass of the reference client of the multiprocess server a mutant, likewise.

    Raises:
        ValueError: the name is taken, or there is no docstring.
    """
    return _registrar(
        _CLIENTS, MpMutant, ReferenceMpClient, name, releases, stands_for=stands_for, found_by=found_by, captured=captured
    )


def server_mutant(
    name: str, *, stands_for: str, releases: str = "all", found_by: tuple[str, ...] = ()
) -> Callable[[DefectiveServer], DefectiveServer]:
    """Make a subclass of the mock server a mutant, likewise.

    Raises:
        ValueError: the name is taken, or there is no docstring.
    """
    return _registrar(_SERVERS, ServerMutant, LmServer, name, releases, stands_for=stands_for, found_by=found_by)


def mp_server_mutant(
    name: str, *, stands_for: str, releases: str = "0.3.10 and later", found_by: tuple[str, ...] = ()
) -> Callable[[DefectiveMpServer], DefectiveMpServer]:
    """Make a subclass of the mock of the multiprocess server a mutant, likewise.

    Raises:
        ValueError: the name is taken, or there is no docstring.
    """
    return _registrar(_SERVERS, MpServerMutant, MpServer, name, releases, stands_for=stands_for, found_by=found_by)


def load_mutants() -> Mapping[str, Mutant | MpMutant]:
    """Every defective client by name, in the order of modules and of their text."""
    _import_all()
    return MappingProxyType(_CLIENTS)


def load_server_mutants() -> Mapping[str, ServerMutant | MpServerMutant]:
    """Every defective server by name, likewise."""
    _import_all()
    return MappingProxyType(_SERVERS)


def find_mutant(name: str) -> Mutant | MpMutant:
    """The defective client of a name.

    Raises:
        ClientUnavailable: there is none.
    """
    known = load_mutants()
    if name not in known:
        close = difflib.get_close_matches(name, list(known), n=1)
        guess = f" (did you mean {close[0]}?)" if close else ""
        server = " as a client: it is a server" if name in load_server_mutants() else ""
        raise ClientUnavailable(f"no mutant is called {name!r}{server}{guess}; 'lmconform mutants --list' shows them all")
    return known[name]


def _import_all() -> None:
    for module in sorted(pkgutil.walk_packages(package.__path__, f"{package.__name__}."), key=lambda found: found.name):
        importlib.import_module(module.name)


def _described(name: str, defective: type, sound: type) -> tuple[str, str]:
    """The place of a class, and the first line of its docstring."""
    words = inspect.cleandoc(defective.__doc__ or "").splitlines()
    if not words or defective.__doc__ == sound.__doc__:
        raise ValueError(f"mutant {name} has no docstring; it says what is wrong")
    if name in _CLIENTS or name in _SERVERS:
        raise ValueError(f"two mutants are called {name}")
    return f"{defective.__module__}:{defective.__qualname__}", words[0]
