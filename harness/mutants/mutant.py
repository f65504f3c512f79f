"""What a mutant is, and the table of all of them."""

from __future__ import annotations

import difflib
import importlib
import inspect
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, TypeVar

import harness.mutants as package
from harness.client import ClientUnavailable
from harness.reference.lm import ReferenceClient
from wire.release import ReleaseRange

Defective = TypeVar("Defective", bound=type[ReferenceClient])


@dataclass(frozen=True)
class Mutant:
    """A client with one defect."""

    name: str
    make: Callable[[], ReferenceClient]
    place: str
    """``package.module:Class``, by which another process finds it."""
    defect: str
    """What it does wrong, in one sentence."""
    stands_for: str
    """The public bug that it stands for, or how such a defect comes about."""
    releases: ReleaseRange
    """Where the defect shows; on the wire of other releases the same code is right."""


_REGISTERED: Final[dict[str, Mutant]] = {}


def mutant(name: str, *, stands_for: str, releases: str = "all") -> Callable[[Defective], Defective]:
    """Make a subclass of the reference client a mutant; the first line of its docstring says what it does wrong.

    Raises:
        ValueError: the name is taken, or there is no docstring.
    """

    def register(client: Defective) -> Defective:
        words = inspect.cleandoc(client.__doc__ or "").splitlines()
        if not words or client.__doc__ == ReferenceClient.__doc__:
            raise ValueError(f"mutant {name} has no docstring; it says what is wrong")
        if name in _REGISTERED:
            raise ValueError(f"two mutants are called {name}")
        place = f"{client.__module__}:{client.__qualname__}"
        _REGISTERED[name] = Mutant(name, client, place, words[0], stands_for, ReleaseRange.parse(releases))
        return client

    return register


def load_mutants() -> Mapping[str, Mutant]:
    """Every mutant by name, in the order of modules and of their text."""
    for module in sorted(pkgutil.iter_modules(package.__path__), key=lambda found: found.name):
        importlib.import_module(f"{package.__name__}.{module.name}")
    return MappingProxyType(_REGISTERED)


def find_mutant(name: str) -> Mutant:
    """The mutant of a name.

    Raises:
        ClientUnavailable: there is none.
    """
    known = load_mutants()
    if name not in known:
        close = difflib.get_close_matches(name, list(known), n=1)
        guess = f" (did you mean {close[0]}?)" if close else ""
        raise ClientUnavailable(f"no mutant is called {name!r}{guess}; 'lmconform mutants --list' shows them all")
    return known[name]
