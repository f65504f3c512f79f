"""What changed when: the wires in pictures, all releases as one table, and a page for each release with a change."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from markupsafe import Markup

from reports.drift.page import drift_body, history_body
from reports.pictures.drawing import Href
from reports.pictures.headers import headers_picture
from reports.pictures.keys import keys_picture
from reports.pictures.picture import Picture
from reports.pictures.timeline import timeline_picture
from reports.site.links import drift_page, relative
from reports.site.model import Content
from reports.site.rendering import Renderer

PICTURES: Final[Sequence[Callable[[Href], Picture]]] = (timeline_picture, headers_picture, keys_picture)
"""In the order of the page."""


def pages(content: Content, renderer: Renderer) -> Iterator[tuple[str, bytes]]:
    """``history.html`` and ``drift/RELEASE.html``."""
    changed = {drift.new for drift in content.history.boundaries}

    def href(kind: str, name: str) -> str | None:
        return relative(drift_page(name), "history.html") if kind == "release" and name in changed else None

    yield (
        "history.html",
        renderer.page(
            "history.html",
            "history.html.j2",
            title="The wires through the releases",
            section="history",
            pictures=[make(href) for make in PICTURES],
            body=Markup(history_body(content.history)),  # noqa: S704  # made by a template that escapes
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
