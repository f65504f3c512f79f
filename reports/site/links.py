"""Where things are in the site: paths of pages, seen from its root, and from one page to another."""

from __future__ import annotations

import functools
import posixpath
import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

REQUIREMENT: Final = re.compile(r"\b[A-Z]{2,}(?:-[A-Z]{2,})?-\d{3}\b")
"""What may be the id of a requirement."""
CASE: Final = re.compile(r"\b[a-z0-9]+(?:\.[a-z0-9]+(?:-[a-z0-9]+)*){2,}\b")
"""What may be the name of a case."""
LABEL: Final = re.compile(r"\b[A-Z]{1,2}\d{1,2}\b")
"""What may be the number of a finding, such as ``F3`` or ``RC10``."""
_MULTIPROCESS: Final = "mp-"
"""How the names of pictures of the multiprocess wire begin."""


@functools.lru_cache(maxsize=1 << 16)
def relative(place: str, page: str) -> str:
    """A place, seen from a page."""
    path, mark, fragment = place.partition("#")
    if path == page and fragment:
        return mark + fragment
    folder, name = posixpath.split(path)
    own = posixpath.dirname(page)
    return (name if folder == own else "../" * own.count("/") + ("../" if own else "") + path) + mark + fragment


def requirement_page(identifier: str) -> str:
    """The page of a requirement."""
    return f"requirements/{identifier}.html"


def spec_page(name: str) -> str:
    """The page of a part of the specification; its own first page is made by the site."""
    return f"spec/{'reading' if name == 'index' else name}.html"


def spec_file(source: str) -> str:
    """A file for programs, by its place in the source tree."""
    return source.removeprefix("docs/").removeprefix("reports/")


def case_place(name: str) -> str:
    """Where a case is told of."""
    return f"cases/{name.partition('.')[0]}.html#{name}"


def upgrade_page(release: str) -> str:
    """Where one gets from a release."""
    return f"upgrade/{release}.html"


def drift_page(release: str) -> str:
    """What changed with a release, against the one before it."""
    return f"drift/{release}.html"


def history_page(picture: str) -> str:
    """The page with a picture of the gallery."""
    return "history-mp.html" if picture.startswith(_MULTIPROCESS) else "history.html"


def picture_place(picture: str) -> str:
    """Where a picture of the gallery is."""
    return f"{history_page(picture)}#{picture}"


def lm_place(client: str, server: str = "") -> str:
    """A client of ``lm://`` at all servers, or at one; both are named by the oldest release of their generation."""
    return f"lm/client-{client}.html" + (f"#server-{server}" if server else "")


def mp_place(client: str, server: str = "") -> str:
    """The same for the multiprocess server."""
    return f"mp/client-{client}.html" + (f"#server-{server}" if server else "")


@dataclass(frozen=True)
class Places:
    """What there is to link to."""

    requirements: Collection[str]
    cases: Collection[str]
    labels: dict[str, str]
    """Numbers of findings, and where they are told of."""

    def of(self, word: str) -> str | None:
        """The place of a requirement, a case or the number of a finding; None for any other word."""
        if word in self.requirements:
            return requirement_page(word)
        if word in self.cases:
            return case_place(word)
        return self.labels.get(word)
