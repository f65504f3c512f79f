"""What a mutant is, and the tables of all of them: defective clients, and defective servers."""

from __future__ import annotations

import difflib
import importlib
import inspect
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, TypeVar

import harness.mutants as package
from harness.client import ClientUnavailable
from harness.mutants.marks import MARKS
from harness.protocols import Protocol
from harness.reference.lm import ReferenceClient
from harness.reference.mp.client import ReferenceMpClient
from mockserver.lm import LmServer
from mockserver.mp import MpServer
from reports.side import Side
from wire.release import ReleaseRange

Defective = TypeVar("Defective", bound=Callable[..., Any])
DefectiveMp = TypeVar("DefectiveMp", bound=type[ReferenceMpClient])
DefectiveServer = TypeVar("DefectiveServer", bound=type[LmServer])
Found = TypeVar("Found")
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

    runs: Side = "client"
    """The side whose runs have the cases that it meets: defects of the mock show in those of clients, too."""

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


@dataclass(frozen=True, kw_only=True)
class PluginMutant(Defect):
    """The reference plugin with one defect."""

    make: Any
    """Its class; one that needs the real lmcache is made by a function, which only the pinned interpreter calls."""
    kind: str = "native_plugin"
    """The interface that it implements."""
    runs: Side = "plugin"

    @property
    def side(self) -> Side:
        """A plugin."""
        return "plugin"

    @property
    def protocol(self) -> Protocol:
        """The interface of storage plugins."""
        return "l2"


@dataclass(frozen=True, kw_only=True)
class ConnectorMutant(Defect):
    """The reference connector with one defect."""

    make: Any
    """As for :class:`PluginMutant`."""
    runs: Side = "connector"

    @property
    def side(self) -> Side:
        """A connector."""
        return "connector"

    @property
    def protocol(self) -> Protocol:
        """The interface of remote connectors."""
        return "remote"


AnyMutant = Mutant | MpMutant | ServerMutant | MpServerMutant | PluginMutant | ConnectorMutant

_CLIENTS: Final[dict[str, Mutant | MpMutant]] = {}
_SERVERS: Final[dict[str, ServerMutant | MpServerMutant]] = {}
_PLUGINS: Final[dict[str, PluginMutant]] = {}
_CONNECTORS: Final[dict[str, ConnectorMutant]] = {}
_MARKED: Final[Mapping[Side, tuple[dict[str, Any], Callable[..., Defect]]]] = MappingProxyType(
    {"plugin": (_PLUGINS, PluginMutant), "connector": (_CONNECTORS, ConnectorMutant)}
)
_TABLES: Final[tuple[Mapping[str, AnyMutant], ...]] = (_CLIENTS, _SERVERS, _PLUGINS, _CONNECTORS)


def _registrar(
    table: dict[str, Any], what: Callable[..., Defect], sound: type | None, name: str, releases: str, **words: Any
) -> Callable[[Any], Any]:
    """Puts a class, mostly a subclass of ``sound``, into a table, as a defect that is described by the words of its decorator."""

    def register(defective: Any) -> Any:
        place, defect = _described(name, defective, sound)
        about = {"name": name, "place": place, "defect": defect, "releases": ReleaseRange.parse(releases), **words}
        table[name] = what(make=defective, **about)
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
    name: str, *, stands_for: str, releases: str = "all", found_by: tuple[str, ...] = (), runs: Side = "client"
) -> Callable[[DefectiveServer], DefectiveServer]:
    """Make a subclass of the mock server a mutant, likewise; with ``runs="server"`` it meets the cases of runs of servers.

    Raises:
        ValueError: the name is taken, or there is no docstring.
    """
    return _registrar(_SERVERS, ServerMutant, LmServer, name, releases, stands_for=stands_for, found_by=found_by, runs=runs)


def mp_server_mutant(
    name: str, *, stands_for: str, releases: str = "0.3.10 and later", found_by: tuple[str, ...] = (), runs: Side = "client"
) -> Callable[[DefectiveMpServer], DefectiveMpServer]:
    """Make a subclass of the mock of the multiprocess server a mutant, likewise.

    Raises:
        ValueError: the name is taken, or there is no docstring.
    """
    return _registrar(_SERVERS, MpServerMutant, MpServer, name, releases, stands_for=stands_for, found_by=found_by, runs=runs)


def load_mutants() -> Mapping[str, Mutant | MpMutant]:
    """Every defective client by name, in the order of modules and of their text."""
    _import_all()
    return MappingProxyType(_CLIENTS)


def load_server_mutants() -> Mapping[str, ServerMutant | MpServerMutant]:
    """Every defective server by name, likewise."""
    _import_all()
    return MappingProxyType(_SERVERS)


def load_plugin_mutants() -> Mapping[str, PluginMutant]:
    """Every defective plugin by name, likewise."""
    _import_all()
    return MappingProxyType(_PLUGINS)


def load_connector_mutants() -> Mapping[str, ConnectorMutant]:
    """Every defective connector by name, likewise."""
    _import_all()
    return MappingProxyType(_CONNECTORS)


def load_all_mutants() -> Sequence[AnyMutant]:
    """Every one: clients, servers, plugins, connectors."""
    _import_all()
    return [mutant for table in _TABLES for mutant in table.values()]


def find_mutant(name: str) -> Mutant | MpMutant:
    """The defective client of a name.

    Raises:
        ClientUnavailable: there is none.
    """
    return _find(name, load_mutants(), "client")


def find_server_mutant(name: str) -> ServerMutant | MpServerMutant:
    """The defective server of a name, likewise."""
    return _find(name, load_server_mutants(), "server")


def find_plugin_mutant(name: str) -> PluginMutant:
    """The defective plugin of a name, likewise."""
    return _find(name, load_plugin_mutants(), "plugin")


def find_connector_mutant(name: str) -> ConnectorMutant:
    """The defective connector of a name, likewise."""
    return _find(name, load_connector_mutants(), "connector")


def _find(name: str, known: Mapping[str, Found], side: Side) -> Found:
    if name in known:
        return known[name]
    other = next((table[name].side for table in _TABLES if name in table), None)
    close = difflib.get_close_matches(name, list(known), n=1)
    guess = f" (did you mean {close[0]}?)" if close else ""
    wrong = f" as a {side}: it is a {other}" if other is not None else ""
    raise ClientUnavailable(f"no mutant is called {name!r}{wrong}{guess}; 'lmconform mutants --list' shows them all")


def _import_all() -> None:
    for module in sorted(pkgutil.walk_packages(package.__path__, f"{package.__name__}."), key=lambda found: found.name):
        importlib.import_module(module.name)
    while MARKS:
        mark = MARKS.pop(0)
        table, what = _MARKED[mark.side]
        _registrar(table, what, None, mark.name, **mark.words)(mark.defective)


def _described(name: str, defective: Any, sound: type | None) -> tuple[str, str]:
    """The place of a class, and the first line of its docstring."""
    words = inspect.cleandoc(defective.__doc__ or "").splitlines()
    if not words or (sound is not None and defective.__doc__ == sound.__doc__):
        raise ValueError(f"mutant {name} has no docstring; it says what is wrong")
    if any(name in table for table in _TABLES):
        raise ValueError(f"two mutants are called {name}")
    return f"{defective.__module__}:{defective.__qualname__}", words[0]
