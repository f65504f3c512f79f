"""The captures that tables and examples are made from, read once."""

from __future__ import annotations

import functools
from typing import Literal

from fixturegen.corpus import TRANSCRIPTS, Corpus, captured_releases, load_corpus
from fixturegen.errors import CorpusError
from fixturegen.mp.transcript import MpTranscript
from fixturegen.vector import Transcript, Vector
from wire.release import Release

Protocol = Literal["lm", "mp"]


@functools.cache
def captures(release: str, protocol: Protocol = "lm") -> Corpus:
    """What was captured of a release."""
    return load_corpus(Release.parse(release), protocol=protocol)


@functools.cache
def captured(protocol: Protocol = "lm") -> tuple[str, ...]:
    """The captured releases, oldest first."""
    return tuple(str(release) for release in captured_releases(protocol=protocol))


def vector(release: str, identity: str, protocol: Protocol = "lm") -> Vector:
    """One vector of a release.

    Raises:
        CorpusError: the release has none of this id.
    """
    return captures(release, protocol).vector(identity)


def place(release: str, found: Vector, protocol: Protocol = "lm") -> str:
    """Where a reader finds a vector: the file as a link from ``docs/spec``, and its id."""
    path = f"cases/corpus/{release}/{'mp/' if protocol == 'mp' else ''}{found.op}.jsonl"
    return f"[{path}](../../{path}), `{found.id}`"


def transcript(release: str, identity: str) -> Transcript:
    """One conversation with the ``lm://`` server of a release.

    Raises:
        CorpusError: the release has none of this id.
    """
    for found in captures(release).transcripts:
        if found.id == identity:
            return found
    raise CorpusError(f"the corpus of lmcache {release} has no conversation {identity!r}")


def mp_transcript(release: str, identity: str) -> MpTranscript:
    """One conversation with the multiprocess server of a release.

    Raises:
        CorpusError: the release has none of this id.
    """
    for found in captures(release, "mp").mp_transcripts:
        if found.id == identity:
            return found
    raise CorpusError(f"the corpus of lmcache {release} has no conversation {identity!r} with the multiprocess server")


def conversation_place(release: str, identity: str, protocol: Protocol = "lm") -> str:
    """Where a reader finds a conversation."""
    path = f"cases/corpus/{release}/{'mp/' if protocol == 'mp' else ''}{TRANSCRIPTS}"
    return f"[{path}](../../{path}), `{identity}`"
