"""Places in a reply: so many bytes from its beginning, by number or by name."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import Final

from mockserver.faults.outgoing import Outgoing
from wire.lm.profile import lm_profile
from wire.numerals import read_integer
from wire.release import KNOWN_RELEASES, Release

BODY: Final = "body"
END: Final = "end"
_FIELD: Final = "field:"
_SPELLING: Final = re.compile(r"(?P<anchor>[a-z][a-z0-9:]*)(?P<offset>[+-][0-9]+)?")
FIELDS: Final[tuple[str, ...]] = lm_profile(Release.parse(KNOWN_RELEASES[-1])).header.reply
"""The int32 fields of a reply header; releases before 0.3.3 lack the location."""


@dataclass(frozen=True, slots=True)
class Anchor:
    """A place that has a name, and a distance from it in bytes.

    ``body`` is the border of header and body, ``end`` the end of the reply, and ``field:NAME`` the first byte of a field of
    the header. A place before the beginning is the beginning.
    """

    name: str
    offset: int = 0

    def __post_init__(self) -> None:
        if self.name not in {BODY, END} and self.field not in FIELDS:
            known = [BODY, END, *(f"{_FIELD}{field}" for field in FIELDS)]
            close = difflib.get_close_matches(self.name, [*known, *FIELDS], n=1)
            guess = f" (did you mean {close[0] if close[0] in known else _FIELD + close[0]}?)" if close else ""
            raise ValueError(f"no place in a reply is called {self.name!r}{guess}; there are {', '.join(known)}")

    @property
    def field(self) -> str | None:
        """The field of the header that it names, or None."""
        return self.name.removeprefix(_FIELD) if self.name.startswith(_FIELD) else None

    def __str__(self) -> str:
        return f"{self.name}{self.offset:+d}" if self.offset else self.name


Place = int | Anchor
"""A number of bytes from the beginning of the reply, or a name."""


def read_place(text: str) -> Place:
    """A place as ``--fault`` spells it: ``10``, ``body``, ``end-1``, ``field:length+2``.

    Raises:
        ValueError: the text is none.
    """
    found = _SPELLING.fullmatch(text)
    if found is None:
        return read_integer(text, hexadecimal=True)
    return Anchor(found["anchor"], read_integer(found["offset"] or "0"))


def resolve(place: Place, outgoing: Outgoing) -> int:
    """The number of bytes from the beginning of a reply; an anchor that the reply does not have is its beginning."""
    if isinstance(place, int):
        return place
    if place.field is not None:
        start = 4 * outgoing.fields.index(place.field) if outgoing.header else 0
    else:
        start = len(outgoing.header) if place.name == BODY else len(outgoing.header) + len(outgoing.body)
    return max(0, start + place.offset)


def require_place(name: str, place: Place) -> None:
    """Refuse a negative number.

    Raises:
        ValueError: it is one.
    """
    if isinstance(place, int) and place < 0:
        raise ValueError(f"{name} counts from 0, not from {place}")
