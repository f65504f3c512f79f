"""Seeds out of the corpus: what real releases wrote and read, a few of each kind."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from fixturegen.corpus import load_corpus
from fixturegen.manifest import Protocol
from fixturegen.vector import Vector, raw
from fuzz.target import chosen
from wire.mp.operations import FIRST_RELEASE
from wire.release import KNOWN_RELEASES, Release

RELEASES: Final = tuple(Release.parse(text) for text in KNOWN_RELEASES)
MP_RELEASES: Final = tuple(release for release in RELEASES if release >= FIRST_RELEASE)
_OF_LM: Final = ("0.3.1", "0.3.10", "0.5.6")
_OF_MP: Final = ("0.3.10", "0.4.4", "0.5.6")
_LARGEST: Final = 1500
_FEW: Final = 6


def vectors(op: str, release: str, protocol: Protocol = "lm", few: int = _FEW) -> Sequence[Vector]:
    """A few vectors of an operation, spread over all of them; none where the release has none."""
    found = load_corpus(Release.parse(release), protocol=protocol).vectors.get(op, ())
    return found[:: max(1, len(found) // few)][:few]


def of_lm(op: str, make: Callable[[Vector], bytes | str]) -> Callable[[], Sequence[bytes]]:
    """Inputs whose first byte names a release, for an operation of the ``lm://`` wire."""
    return lambda: list(_made(op, "lm", _OF_LM, RELEASES, make))


def of_mp(op: str, make: Callable[[Vector], bytes | str]) -> Callable[[], Sequence[bytes]]:
    """The same for the multiprocess wire."""
    return lambda: list(_made(op, "mp", _OF_MP, MP_RELEASES, make))


def _made(
    op: str, protocol: Protocol, names: Sequence[str], releases: Sequence[Release], make: Callable[[Vector], bytes | str]
) -> Iterator[bytes]:
    for name in names:
        for vector in vectors(op, name, protocol):
            made = make(vector)
            if len(made) <= _LARGEST:
                yield chosen(releases.index(Release.parse(name)), made)


def hex_of(member: str) -> Callable[[Vector], bytes]:
    """The bytes that a member of the arguments holds."""
    return lambda vector: raw(vector.args[member])


@functools.cache
def lm_conversations() -> Sequence[Sequence[tuple[str, str, bytes]]]:
    """A few captured conversations of ``lm://``: connection, side and bytes."""
    found = []
    for transcript in load_corpus(Release.parse("0.5.6")).transcripts[:60:6]:
        said = [
            (step.connection, "client" if step.do == "send" else "server", _bytes_of(step.do, step.values))
            for step in transcript.steps
            if step.do in {"send", "receive"}
        ]
        if said and sum(len(data) for _, _, data in said) <= _LARGEST:
            found.append(said)
    return found


@functools.cache
def mp_messages() -> Sequence[Sequence[tuple[str, str, tuple[bytes, ...]]]]:
    """A few captured conversations of the multiprocess wire: connection, side and frames."""
    found = []
    for transcript in load_corpus(Release.parse("0.5.6"), protocol="mp").mp_transcripts[::9]:
        said = []
        for step in transcript.steps:
            frames = step.values.get("frames") if step.do == "send" else step.values.get("got", {}).get("frames")
            if step.do in {"send", "receive"} and frames and all(isinstance(frame, str) for frame in frames):
                side = "client" if step.do == "send" else "server"
                said.append((str(step.connection), side, tuple(bytes.fromhex(frame) for frame in frames)))
        if said and sum(len(frame) for *_, frames in said for frame in frames) <= _LARGEST:
            found.append(said)
    return found[:10]


def _bytes_of(do: str, values: Any) -> bytes:
    text = values.get("bytes", "") if do == "send" else values.get("got", {}).get("bytes", "")
    return bytes.fromhex(text)
