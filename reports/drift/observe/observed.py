"""All that one capture shows about its release."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from fixturegen.corpus import Corpus
from fixturegen.vector import Vector
from reports.drift.mp.observed import MpObserved, observe_mp
from reports.drift.observe.chain import Chain, infer_chain
from reports.drift.observe.conversations import Answer, Asked, Event, Listener
from reports.drift.observe.evidence import Evidence
from reports.drift.observe.frames import REPLY, REQUEST, Frames, infer_frames, metadata_kind
from reports.drift.observe.keyreading import SERVER_OP, KeyReader, infer_key_reader
from reports.drift.observe.keystring import KeyString, infer_key_string

MOST_GROUPS = 8
"""Groups of metadata that are looked for."""


@dataclass(frozen=True, eq=False)
class Observed:
    """A capture with what can be inferred from it; all of it is computed once, when it is asked for."""

    evidence: Evidence
    mp: MpObserved | None = None
    """What is shown of the multiprocess protocol; None where it was not captured, or is left out."""
    lm: bool = True
    """Whether the lm protocol is told about."""

    @property
    def release(self) -> str:
        """The release that was captured."""
        return self.evidence.release

    @cached_property
    def strings(self) -> KeyString | None:
        """How keys are written."""
        return infer_key_string(self.evidence)

    @cached_property
    def reader(self) -> KeyReader | None:
        """How a server reads keys."""
        return infer_key_reader(self.evidence.of(SERVER_OP), self.strings)

    @cached_property
    def request(self) -> Frames | None:
        """Request headers."""
        return infer_frames(self.evidence, REQUEST, self.strings, self.reader)

    @cached_property
    def reply(self) -> Frames | None:
        """Reply headers."""
        return infer_frames(self.evidence, REPLY, self.strings, self.reader)

    @cached_property
    def metadata(self) -> Mapping[int, Frames]:
        """RemoteMetadata by number of groups."""
        single = infer_frames(self.evidence, metadata_kind(1), self.strings, self.reader)
        found = {1: single} if single else {}
        for groups in range(2, MOST_GROUPS):
            several = infer_frames(self.evidence, metadata_kind(groups), self.strings, self.reader, single)
            if several:
                found[groups] = several
        return found

    @cached_property
    def chain(self) -> Chain:
        """How chunk hashes are chained."""
        return infer_chain(self.evidence, self.strings)

    @property
    def frames(self) -> Sequence[Frames]:
        """Every kind of frame that was captured."""
        return [found for found in (self.request, self.reply, *self.metadata.values()) if found]

    @cached_property
    def conversations(self) -> Mapping[str, Sequence[Asked | Event | Answer]]:
        """Transcripts by id, in terms that do not depend on a layout."""
        return {
            name: Listener(self.request, self.reply).events(transcript) for name, transcript in self.evidence.transcripts.items()
        }

    @cached_property
    def unruly(self) -> Mapping[str, Vector]:
        """Vectors of frames and key strings by id whose outcome the inferred rules do not give."""
        return {vector.id: vector for vector in self._unruly()}

    def _unruly(self) -> Iterator[Vector]:
        for op in (REQUEST.encode, REQUEST.decode, REPLY.encode, REPLY.decode, "encode_metadata", "decode_metadata"):
            for vector in self.evidence.of(op):
                frames = next((found for found in self.frames if found.kind.asked(vector)), None)
                if frames is None or not frames.reproduces(vector):
                    yield vector
        for vector in self.evidence.of("format_key"):
            written = self.strings.write(vector.args["key"]) if self.strings else None
            if written != (None if vector.ok is None else vector.ok["text"]):
                yield vector


def observe(corpus: Corpus, mp: Corpus | None = None, *, lm: bool = True) -> Observed:
    """What the captures of a release show."""
    return Observed(Evidence(corpus), None if mp is None else observe_mp(mp), lm)


def frame_pairs(old: Observed, new: Observed) -> list[tuple[Frames, Frames]]:
    """Requests, replies and metadata of one group, as far as both releases show them."""
    found = ((old.request, new.request), (old.reply, new.reply), (old.metadata.get(1), new.metadata.get(1)))
    return [(one, other) for one, other in found if one and other]
