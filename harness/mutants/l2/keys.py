"""Defects by which two keys name one object, or a key names none."""

from __future__ import annotations

import unicodedata
from dataclasses import astuple, replace

from harness.mutants.l2.key_parts import KeyParts, NamedOtherwise
from harness.mutants.mutant import l2_mutant
from harness.reference.l2 import ReferencePlugin
from harness.reference.l2.batches import Batch
from harness.reference.l2.outcomes import Outcome


@l2_mutant(
    "l2-key-cut-to-255",
    stands_for="A file name made of the key, cut to what file systems allow.",
    found_by=("l2.identity.keys[*-long]",),
)
class CutsTheKey(NamedOtherwise):
    """Takes the first 255 characters of a key for the key."""

    def name(self, parts: KeyParts) -> str:
        return "@".join(astuple(parts))[:255]


@l2_mutant(
    "l2-salt-ignored",
    stands_for="A plugin that was written before salts, and takes the parts of a key by their places.",
    releases="0.4.4 and later",
    found_by=("l2.identity.keys[*-salt]",),
)
class IgnoresTheSalt(NamedOtherwise):
    """Gives the objects of one tenant to another."""

    def name(self, parts: KeyParts) -> str:
        return str(replace(parts, salt=""))


@l2_mutant(
    "l2-group-ignored",
    stands_for="A plugin that knows the keys of 0.4.6, in which no group stood.",
    releases="0.4.7 and later",
    found_by=("l2.identity.keys[*-group]",),
)
class IgnoresTheGroup(NamedOtherwise):
    """Keeps the objects of all groups under one name."""

    def name(self, parts: KeyParts) -> str:
        return str(replace(parts, group=""))


@l2_mutant(
    "l2-rank-in-a-byte",
    stands_for="A binary key with too small a field for the rank.",
    found_by=("l2.identity.keys[*-kv_rank]",),
)
class KeepsAByteOfTheRank(NamedOtherwise):
    """Keeps the last two digits of the rank."""

    def name(self, parts: KeyParts) -> str:
        return str(replace(parts, rank=parts.rank[-2:]))


@l2_mutant(
    "l2-hash-cut-to-64-bits",
    stands_for="A table whose keys are 64-bit integers.",
    found_by=("l2.identity.keys[*-hash]",),
)
class CutsTheHash(NamedOtherwise):
    """Keeps 64 bits of the hash, and of those that differ later the first one."""

    def name(self, parts: KeyParts) -> str:
        return str(replace(parts, digest=parts.digest[:16]))


@l2_mutant(
    "l2-model-by-its-last-part",
    stands_for="A folder for each model, named by the last part of its path.",
    found_by=("l2.identity.keys[*-model]", "l2.identity.keys[*-paths]"),
)
class TakesTheLastPartOfTheModel(NamedOtherwise):
    """Takes models of the same name by two makers for one."""

    def name(self, parts: KeyParts) -> str:
        return str(replace(parts, model=parts.model.strip("/.").rpartition("/")[2]))


@l2_mutant(
    "l2-letters-folded",
    stands_for="File names on a file system that does not tell capital letters from small ones.",
    found_by=("l2.identity.keys[*-letters]",),
)
class FoldsLetters(NamedOtherwise):
    """Makes small letters of capital ones."""

    def name(self, parts: KeyParts) -> str:
        return "@".join(astuple(parts)).lower()


@l2_mutant(
    "l2-slash-replaced",
    stands_for="A key made fit for a file name by a sign that may stand in it anyway.",
    found_by=("l2.identity.keys[*-separators]",),
)
class ReplacesTheSlash(NamedOtherwise):
    """Writes an underscore for each sign that file names must not have."""

    def name(self, parts: KeyParts) -> str:
        return str(replace(parts, model="".join("_" if sign in '/\\:*?"<>|' else sign for sign in parts.model)))


@l2_mutant(
    "l2-letters-composed",
    stands_for="A file system or a client library that brings names into one form of Unicode.",
    found_by=("l2.identity.keys[*-scripts]",),
)
class ComposesLetters(NamedOtherwise):
    """Takes a letter with an accent for the letter and the accent."""

    def name(self, parts: KeyParts) -> str:
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
        return "".join(astuple(parts))


@l2_mutant(
    "l2-odd-model-names-refused",
    stands_for="File names made of keys, which may not be as long as a path or hold all of its signs.",
    found_by=("l2.identity.keys[*-long]", "l2.native-batches.any-model*"),
)
class RefusesOddModels(ReferencePlugin):
    """Stores nothing under a key that is no file name."""

    def _outcomes(self, batch: Batch) -> list[Outcome]:
        if batch.kind == "store" and any(len(key.encode()) > 255 or not key.isprintable() for key in batch.keys):
            return [Outcome.DROPPED] * len(batch.keys)
        return super()._outcomes(batch)
