"""The pictures of the wires as files, for pages that show them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from reports.pictures.gallery import GALLERY, picture


def files() -> Mapping[str, Callable[[], str]]:
    """Path in the repository to what draws it."""
    return {f"docs/pictures/{name}.svg": _drawn(name) for name in GALLERY}


def _drawn(name: str) -> Callable[[], str]:
    return lambda: picture(name).svg
