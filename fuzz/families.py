"""The targets, by family: what is named ``lm.request`` stands in ``fuzz.targets.lm``."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Final

from fuzz.target import Target

FAMILIES: Final = ("lm", "mp", "tap", "clients", "texts", "files", "servers")


class UnknownTarget(ValueError):
    """There is no target of this name."""


def targets_of(family: str) -> Sequence[Target]:
    """The targets of a family.

    Raises:
        UnknownTarget: there is no such family.
    """
    if family not in FAMILIES:
        raise UnknownTarget(f"there is no family {family!r} of targets; families are {', '.join(FAMILIES)}")
    found: Sequence[Target] = importlib.import_module(f"fuzz.targets.{family}").TARGETS
    return found


def find(name: str) -> Target:
    """The target of a name.

    Raises:
        UnknownTarget: there is none.
    """
    found = targets_of(name.partition(".")[0])
    for target in found:
        if target.name == name:
            return target
    raise UnknownTarget(f"there is no target {name!r}; targets of its family are {', '.join(one.name for one in found)}")


def chosen(words: Sequence[str]) -> list[Target]:
    """The targets that words name, families or single ones; all without words.

    Raises:
        UnknownTarget: a word names none.
    """
    found: dict[str, Target] = {}
    for word in words or FAMILIES:
        for target in [find(word)] if "." in word else targets_of(word):
            found[target.name] = target
    return list(found.values())
