"""All pictures by name; each is made when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from reports.pictures.drawing import Href
from reports.pictures.headers import headers_picture, nowhere
from reports.pictures.keys import keys_picture
from reports.pictures.messages import messages_picture
from reports.pictures.numbers import numbers_picture
from reports.pictures.operations import operations_picture
from reports.pictures.picture import Picture
from reports.pictures.records import records_picture
from reports.pictures.registration import registration_picture
from reports.pictures.timeline import timeline_picture

GALLERY: Final[Mapping[str, Callable[[Href], Picture]]] = {
    "wire-timeline": timeline_picture,
    "lm-headers": headers_picture,
    "key-grammar": keys_picture,
    "mp-operation-numbers": operations_picture,
    "mp-number-meanings": numbers_picture,
    "mp-messages": messages_picture,
    "mp-records": records_picture,
    "mp-registration": registration_picture,
}
"""Name of a picture, which is that of its file as well, to what makes it of the tables and the corpus."""


def picture(name: str, href: Href = nowhere) -> Picture:
    """One picture of the gallery; ``href`` says where its things lead to.

    Raises:
        KeyError: there is no such picture.
        CorpusError: a capture is damaged.
    """
    return GALLERY[name](href)


def pictures(href: Href = nowhere) -> list[Picture]:
    """All pictures."""
    return [made(href) for made in GALLERY.values()]
