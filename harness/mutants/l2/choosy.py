"""Plugins that refuse keys which the server makes."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

from harness.mutants.marks import l2_mutant
from harness.reference.l2.leases import Leased
from harness.reference.l2.outcomes import Outcome
from harness.reference.l2.plugin import ReferencePlugin

FORBIDDEN = re.compile(r'[\\:*?"<>|]')
LONGEST = 250
"""Bytes of a key of a well-known cache."""


def _that_takes(takes: Callable[[str], object]) -> Any:
    """The reference plugin that stores no object of other keys."""

    class Choosy(ReferencePlugin):
        def _store(self, key: str, source: Leased, until: float) -> Outcome:
            return super()._store(key, source, until) if takes(key) else Outcome.DROPPED

    return Choosy


@l2_mutant(
    "l2-no-folders",
    stands_for="A file in one folder for each object, of whose names one part is taken for a folder.",
    found_by=("l2.native-batches.any-model",),
)
class NoFolders(_that_takes(lambda key: "/" not in key.removeprefix("lmconform/l2"))):  # type: ignore[misc]  # made above
    """Cannot store an object whose model has a slash in its name."""


@l2_mutant(
    "l2-unquoted-keys",
    stands_for="Keys that pass through a URL, and are unquoted once too often.",
    found_by=("l2.native-batches.any-model",),
)
class UnquotedKeys(_that_takes(lambda key: "\0" not in unquote(key))):  # type: ignore[misc]  # made above
    """Cannot store an object whose model has a percent sign and zeros in its name."""


@l2_mutant(
    "l2-keys-of-a-text-protocol",
    stands_for="A cache whose keys are words of a line of at most 250 bytes.",
    found_by=("l2.native-batches.any-model", "l2.native-batches.any-salt"),
)
class KeysOfATextProtocol(
    _that_takes(lambda key: len(key.encode()) <= LONGEST and not re.search(r"\s", key))  # type: ignore[misc]  # made above
):
    """Cannot store an object whose key is long or holds a space."""


@l2_mutant(
    "l2-plain-ascii-keys",
    stands_for="A key that is encoded as ASCII.",
    found_by=("l2.native-batches.any-model", "l2.native-batches.any-salt"),
)
class PlainAsciiKeys(_that_takes(str.isascii)):  # type: ignore[misc]  # made above
    """Cannot store an object whose key is in another script."""


@l2_mutant(
    "l2-keys-for-windows",
    stands_for="A check of names against what some file system forbids.",
    found_by=("l2.native-batches.any-model",),
)
class KeysForWindows(_that_takes(lambda key: not FORBIDDEN.search(key))):  # type: ignore[misc]  # made above
    """Cannot store an object whose key holds a colon or a question mark."""


@l2_mutant(
    "l2-no-odd-beginnings",
    stands_for="A guard against names that a shell or a file system takes for something else.",
    found_by=("l2.native-batches.any-model",),
)
class NoOddBeginnings(_that_takes(lambda key: not key.startswith((".", "-")))):  # type: ignore[misc]  # made above
    """Cannot store an object whose model's name begins with a dot or a dash."""


@l2_mutant(
    "l2-keys-of-four-parts",
    stands_for="A key taken apart as model, rank, group, digest = key.split('@'), written when keys had no salt.",
    found_by=("l2.native-batches.any-salt",),
)
class KeysOfFourParts(_that_takes(lambda key: key.count("@") < 4)):  # type: ignore[misc]  # made above
    """Cannot store an object whose key has a salt."""
