"""What operations do at the multiprocess server of another release: the map, and a page for each generation of clients."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from fixturegen.corpus import captured_releases, load_corpus
from fixturegen.vector import raw
from reports.collisions.fates import Fate, Pair
from reports.collisions.harm import MEANINGS, WORDS, Grade, Harm
from reports.collisions.matrix import Collisions, Generation
from reports.collisions.page import html as one_file
from reports.collisions.wording import met, summary, survival, told, unasked
from reports.site.citations import Citation, of_fate
from reports.site.links import mp_place
from reports.site.model import Content
from reports.site.overview import script_data
from reports.site.rendering import Renderer
from wire.release import Release

TONES: Final[Mapping[Harm, str]] = {
    Harm.DESTROYS: "bad wrong",
    Harm.CORRUPTS: "bad wrong",
    Harm.LEAKS: "bad",
    Harm.KILLS: "odd wrong",
    Harm.MISLEADS: "warn",
    Harm.STRANDS: "odd",
    Harm.HANGS: "odd",
    Harm.SAME: "good",
}
"""The classes of the theme."""
_TOLD: Final = 5
"""Fates that are told below the map; the page of the client has all."""
_SHOWN: Final = 24
"""Bytes of a frame that are written out."""


def pages(content: Content, renderer: Renderer) -> Iterator[tuple[str, bytes]]:
    """``mp.html``, its data, the pairs as one file, and ``mp/client-RELEASE.html``."""
    result = content.collisions
    present = {pair.grade for pair in result.pairs}
    yield (
        "mp.html",
        renderer.page(
            "mp.html",
            "mp.html.j2",
            title="What operations do at another multiprocess server",
            section="mp",
            result=result,
            summary=summary(result),
            first=lambda release: result.generation(release).releases[0],
            tone=tone,
            place=mp_place,
            survival=survival,
            legend=[
                (Grade(harm, plain), WORDS[harm], MEANINGS[harm])
                for plain in (True, False)
                for harm in Harm
                if Grade(harm, plain) in present and (plain or harm is not Harm.SAME)
            ],
        ),
    )
    yield "mp/map.js", _script(result).encode()
    yield "mp/matrix.html", one_file(result).encode()
    for client in result.client_generations:
        path = mp_place(client.releases[0])
        yield (
            path,
            renderer.page(
                path,
                "mp_client.html.j2",
                title=f"Multiprocess clients of {client.name}",
                section="mp",
                result=result,
                client=client,
                tone=tone,
                sent=_sent(result, client),
                meetings=[_meeting(result, client, server) for server in result.server_generations],
            ),
        )


def tone(grade: Grade) -> str:
    """Classes of a cell: its colour, and that it does not strike plain use."""
    return TONES[grade.harm] + ("" if grade.plain or grade.harm is Harm.SAME else " part")


def _script(result: Collisions) -> str:
    """The worst of every pair of generations, for what is shown below the map; each sentence once."""
    known: dict[tuple[str, str], int] = {}
    cells = {}
    for client in result.client_generations:
        for server in result.server_generations:
            pair = result.pair(client.newest, server.newest)
            worst = [(f"{fate.operation} {fate.grade.letter}", _sentence(fate)) for fate in pair.troubles[:_TOLD]]
            more = len(pair.troubles) - len(worst)
            cells[f"{client.releases[0]} {server.releases[0]}"] = [
                [["worst", pair.grade.letter, pair.grade.words, tone(pair.grade)]],
                [known.setdefault(one, len(known)) for one in worst],
                survival(pair) + (f". {more} more are on the page" if more > 0 else ""),
            ]
    told_of = {number: list(words) for words, number in known.items()}
    return f"window.MAP = {script_data({'cells': cells, 'reasons': told_of})};\n"


def _sentence(fate: Fate) -> str:
    return f"{fate.what}, only with {fate.odd}" if fate.odd else fate.what


@dataclass(frozen=True)
class Sent:
    """An operation of a client, and the bytes of it that were captured."""

    operation: str
    number: str
    """As it stands in the frame of the operation: in hexadecimal, and what that means."""
    frames: str
    """Behind the uid; empty if nothing was captured."""
    vector: str
    asked: str
    """Who sends it although nobody asks."""


@dataclass(frozen=True)
class Told:
    """What becomes of an operation."""

    fate: Fate
    meets: str
    what: str
    citation: Citation


@dataclass(frozen=True)
class Meeting:
    """A generation of clients at a generation of servers."""

    server: Generation
    pair: Pair
    survival: str
    plain: Sequence[Told]
    others: Sequence[Told]


def _meeting(result: Collisions, client: Generation, server: Generation) -> Meeting:
    pair = result.pair(client.newest, server.newest)
    found = [Told(fate, met(fate), told(fate), of_fate(fate)) for fate in pair.troubles]
    return Meeting(
        server=server,
        pair=pair,
        survival=survival(pair),
        plain=[one for one in found if one.fate.grade.plain],
        others=[one for one in found if not one.fate.grade.plain],
    )


def _sent(result: Collisions, client: Generation) -> list[Sent]:
    """Every operation of a client, in the order of its numbers."""
    pair = result.pair(client.newest, client.newest)
    frames = _captured(Release.parse(client.newest))
    made = {}
    for fate in pair.fates:
        vector, shown = frames.get(fate.operation, ("", ""))
        number = f"{msgspec.msgpack.encode(fate.number).hex()} = {fate.number}"
        made[fate.operation] = Sent(fate.operation, number, shown, vector, unasked(fate))
    return list(made.values())


def _captured(release: Release) -> dict[str, tuple[str, str]]:
    """A captured request of each operation: the id of its vector, and its frames."""
    found: dict[str, tuple[str, str]] = {}
    if release not in captured_releases(protocol="mp"):
        return found
    for vector in load_corpus(release, protocol="mp").vectors.get("mp_encode_request", ()):
        if vector.ok is not None:
            frames = " | ".join(_frame(raw(frame)) for frame in vector.ok["frames"])
            found.setdefault(vector.args["operation"], (vector.id, frames))
    return found


def _frame(frame: bytes) -> str:
    return frame.hex() if len(frame) <= _SHOWN else f"{frame[:_SHOWN].hex()}... ({len(frame)} bytes)"
