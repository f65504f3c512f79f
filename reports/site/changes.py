"""What changed when: the wires in pictures, all releases as one table, and a page for each release with a change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from markupsafe import Markup

from reports.drift.page import drift_body, history_body
from reports.pictures.gallery import GALLERY, picture
from reports.site.links import drift_page, history_page, relative
from reports.site.model import Content
from reports.site.rendering import Renderer

TITLES: Final[Mapping[str, str]] = {
    "history.html": "The wires through the releases",
    "history-mp.html": "The multiprocess wire through the releases",
}


def pages(content: Content, renderer: Renderer) -> Iterator[tuple[str, bytes]]:
    """``history.html``, ``history-mp.html`` and ``drift/RELEASE.html``."""
    changed = {drift.new for drift in content.history.boundaries}
    for path, title in TITLES.items():
        of_mp = path == "history-mp.html"
        names = [name for name in GALLERY if history_page(name) == path]

        def href(kind: str, name: str, path: str = path) -> str | None:
            return relative(drift_page(name), path) if kind == "release" and name in changed else None

        yield (
            path,
            renderer.page(
                path,
                "history.html.j2",
                title=title,
                section="history",
                pictures=[picture(name, href) for name in names],
                others=[(other, words) for other, words in TITLES.items() if other != path],
                body="" if of_mp else Markup(history_body(content.history)),  # noqa: S704  # made by a template that escapes
                safe=Markup,
            ),
        )
    order = [drift.new for drift in content.history.boundaries]
    for place, drift in enumerate(content.history.boundaries):
        path = drift_page(drift.new)
        yield (
            path,
            renderer.page(
                path,
                "drift_page.html.j2",
                title=f"lmcache {drift.old} to {drift.new}",
                section="history",
                drift=drift,
                body=Markup(drift_body(drift)),  # noqa: S704  # the same
                before=order[place - 1] if place else None,
                after=order[place + 1] if place + 1 < len(order) else None,
                drift_page=drift_page,
            ),
        )
