"""Defects by which two keys name one object."""

from __future__ import annotations

import unicodedata
from dataclasses import astuple, replace

from harness.mutants.l2.key_parts import KeyParts, NamedOtherwise
from harness.mutants.marks import l2_mutant


@l2_mutant(
    "l2-group-ignored",
    stands_for="A plugin that knows the keys of 0.4.6, in which no group stood.",
    releases="0.4.7 and later",
    found_by=("l2.identity.keys[*-group]",),
)
class IgnoresTheGroup(NamedOtherwise):
    """Keeps the objects of all groups under one name."""

    def name(self, parts: KeyParts) -> str:
        """What is left of a key."""
        return str(replace(parts, group=""))


@l2_mutant(
    "l2-rank-in-a-byte",
    stands_for="A binary key with too small a field for the rank.",
    found_by=("l2.identity.keys[*-kv_rank]",),
)
class KeepsAByteOfTheRank(NamedOtherwise):
    """Keeps the last two digits of the rank."""

    def name(self, parts: KeyParts) -> str:
        """What is left of a key."""
        return str(replace(parts, rank=parts.rank[-2:]))


@l2_mutant(
    "l2-hash-cut-to-64-bits",
    stands_for="A table whose keys are 64-bit integers.",
    found_by=("l2.identity.keys[*-hash]",),
)
class CutsTheHash(NamedOtherwise):
    """Keeps 64 bits of the hash, and of those that differ later the first one."""

    def name(self, parts: KeyParts) -> str:
        """What is left of a key."""
        return str(replace(parts, digest=parts.digest[:16]))


@l2_mutant(
    "l2-model-by-its-last-part",
    stands_for="A folder for each model, named by the last part of its path.",
    found_by=("l2.identity.keys[*-model]", "l2.identity.keys[*-paths]"),
)
class TakesTheLastPartOfTheModel(NamedOtherwise):
    """Takes models of the same name by two makers for one."""

    def name(self, parts: KeyParts) -> str:
        """What is left of a key."""
        return str(replace(parts, model=parts.model.strip("/.").rpartition("/")[2]))


@l2_mutant(
    "l2-letters-composed",
    stands_for="A file system or a client library that brings names into one form of Unicode.",
    found_by=("l2.identity.keys[*-scripts]",),
)
class ComposesLetters(NamedOtherwise):
    """Takes a letter with an accent for the letter and the accent."""

    def name(self, parts: KeyParts) -> str:
        """What is left of a key."""
        return unicodedata.normalize("NFC", "@".join(astuple(parts)))


@l2_mutant(
    "l2-parts-run-together",
    stands_for="A name made of the parts of a key with nothing between them.",
    releases="0.4.7 and later",
    found_by=("l2.identity.keys[*-moved]",),
)
class RunsPartsTogether(NamedOtherwise):
    """Writes the parts of a key one after the other, so that the end of one may as well begin the next."""

    def name(self, parts: KeyParts) -> str:
        """What is left of a key."""
        return "".join(astuple(parts))
