"""Links within the page of a run: the part behind ``#`` says which cases are shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from urllib.parse import urlencode

from reports.escape import escape

BETWEEN: Final = "~"
"""Stands between the first and the last of several neighbouring releases."""


def view_link(**wanted: str) -> str:
    """A link that shows the cases with these members, such as ``#topic=lm.get&verdict=fail``."""
    return "#" + urlencode({name: escape(value) for name, value in wanted.items()})


def releases_wanted(releases: Sequence[str]) -> str:
    """One release, or neighbours by their first and last."""
    return releases[0] if len(releases) == 1 else f"{releases[0]}{BETWEEN}{releases[-1]}"
