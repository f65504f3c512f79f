"""Registration blobs through the releases: which classes of KV tensors there are, and as what each crosses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from fixturegen.vector import raw
from reports.drift.mp.observed import MpObserved
from reports.drift.mp.registrations import WRITES, form_of
from reports.pictures.drawing import Drawing, Href
from reports.pictures.headers import nowhere
from reports.pictures.lanes import LABELS, Lane, Segment, axis, lane
from reports.pictures.legend import heading
from reports.pictures.picture import Picture, Table, drawn
from reports.pictures.releases import runs, span
from reports.pictures.sequences import captures
from reports.words import count

_SHOWN: Final = 12
_BYTE: Final = 24.0
_PREFIX: Final = "lmcache.v1."


@dataclass(frozen=True)
class Blob:
    """What one class became in one release, for the first input that was captured."""

    release: str
    vector: str
    form: str
    data: bytes


def registration_picture(href: Href = nowhere) -> Picture:
    """All classes of all captured releases."""
    return draw(captures(), href)


def blobs(observed: Sequence[MpObserved]) -> dict[str, dict[str, Blob]]:
    """The first captured blob of each class in each release."""
    found: dict[str, dict[str, Blob]] = {}
    for one in observed:
        for vector, ok in one.evidence.answered(WRITES):
            data = raw(ok["bytes"])
            blob = Blob(one.release, vector.id, form_of(data), data)
            found.setdefault(str(vector.args["wrapper"]), {}).setdefault(one.release, blob)
    return found


def lanes_of(observed: Sequence[MpObserved]) -> list[Lane]:
    """One lane for each class, cut where its form or size changes."""
    made = []
    for wrapper, found in blobs(observed).items():
        labels = [(one.release, _label(found.get(one.release))) for one in observed]
        made.append(Lane(wrapper, tuple(Segment(releases, str(label)) for releases, label in runs(labels)), f"wrapper.{wrapper}"))
    return made


def _label(blob: Blob | None) -> str:
    if blob is None:
        return ""
    where, _, name = blob.form.removeprefix("a pickle of ").rpartition(".")
    form = (
        f"pickle of {where.removeprefix(_PREFIX)}" if name and blob.form.startswith("a pickle") else blob.form.removeprefix("a ")
    )
    return f"{form}, {len(blob.data)} bytes"


def draw(observed: Sequence[MpObserved], href: Href = nowhere) -> Picture:
    """Classes and forms of some captures."""
    title = "How a KV tensor is registered"
    description = (
        "Every class that stands for a KV tensor, one lane each, over the releases of the multiprocess server: "
        "as what it crosses, and how many bytes that are for one captured tensor. Below, the first bytes of each form."
    )
    drawing = Drawing("mp-registration", title, description)
    y = heading(
        drawing,
        "The data of msgpack extension 1. Up to 0.5.5 it is a pickle, which names the module of its class: a server loads "
        "no other. From 0.5.6 on it is a map.",
    )
    releases = [one.release for one in observed]
    y = axis(drawing, releases, y + 4, href)
    made = lanes_of(observed)
    for one in made:
        y = lane(drawing, one, releases, y, href) + 4
    drawing.text(0, y + 24, "First bytes", size=16, face="bold")
    y += 36
    for wrapper, found in blobs(observed).items():
        for blob in {blob.form: blob for blob in found.values()}.values():
            y = _bytes(drawing, wrapper, blob, y)
    return drawn(drawing, table(observed))


def _bytes(drawing: Drawing, wrapper: str, blob: Blob, y: float) -> float:
    with drawing.group(blob=blob.vector, release=blob.release):
        drawing.text(0, y + 16, wrapper, size=12, face="bold")
        drawing.text(LABELS - 24, y + 16, blob.release, size=12, tone="dim", anchor="start")
        left = LABELS + 40
        for index, value in enumerate(blob.data[:_SHOWN]):
            x = left + index * _BYTE
            drawing.rect(x, y, _BYTE, 22, fill="raised", stroke="line")
            drawing.text(x + _BYTE / 2, y + 15.5, f"{value:02x}", size=11.5, face="mono", anchor="middle")
        x = left + min(_SHOWN, len(blob.data)) * _BYTE + 10
        drawing.text(x, y + 15.5, f"… {count(len(blob.data), 'byte')}: {blob.form}", size=12)
    return y + 28


def table(observed: Sequence[MpObserved]) -> Table:
    """Every class with the releases of each of its forms."""
    return Table(
        ("class", "releases", "crosses as"),
        tuple(
            (one.title, span(segment.releases), segment.label)
            for one in lanes_of(observed)
            for segment in one.segments
            if segment.label
        ),
    )
