"""The frames that findings are about, with the wrong bytes marked; looked for once all findings of a recording are known."""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from harness.tap.event import Side as Who
from harness.tap.finding import Finding, Frame
from harness.tap.mp.packed import place_at
from harness.tap.mp.parts import Parts
from harness.tap.mp.talk import Seen
from reports.words import count

_BEHIND: Final = 256
"""Bytes behind the marked ones that are kept for the dump."""
_FARTHEST: Final = 64 << 10
"""Bytes of a frame before the wrong ones; farther in there is no dump."""
_MOST_MARKED: Final = 64
_Place = tuple[int, Who, int]
"""Connection, side and byte of the stream."""


class Dumps:
    """Finds the frame of each finding in the messages of its recording."""

    def __init__(self, findings: Iterable[Finding]) -> None:
        self._wanted: dict[tuple[int, Who], list[int]] = {}
        self._found: dict[_Place, Frame] = {}
        for finding in findings:
            if finding.offset is not None:
                self._wanted.setdefault((finding.connection, finding.who), []).append(finding.offset)
        for offsets in self._wanted.values():
            offsets.sort()

    def seen(self, seen: Seen) -> None:
        """Look at what comes next in the recording."""
        offsets = self._wanted.get((seen.connection, seen.side))
        if offsets is None or not isinstance(seen.what, Parts):
            return
        message = seen.what.message
        first = bisect.bisect_left(offsets, message.offset)
        for offset in dict.fromkeys(offsets[first : bisect.bisect_left(offsets, message.end)]):
            dump = _dump(seen.what, offset)
            if dump is not None:
                self._found[seen.connection, seen.side, offset] = dump

    def added_to(self, findings: Sequence[Finding]) -> list[Finding]:
        """The findings, each with its frame if one was found."""
        return [self._with_frame(finding) for finding in findings]

    def _with_frame(self, finding: Finding) -> Finding:
        dump = self._found.get((finding.connection, finding.who, finding.offset)) if finding.offset is not None else None
        if dump is None:
            return finding
        whose = "a message" if finding.exchange is None else f"request {finding.exchange}"
        if finding.who == "server":
            whose = "a reply" if finding.exchange is None else f"the reply to request {finding.exchange}"
        return replace(finding, frame=replace(dump, title=dump.title.format(whose)))


def _dump(parts: Parts, offset: int) -> Frame | None:
    """The frame that a byte of the stream is in, with its value marked; None where it is in none, or too far in."""
    for index, frame in enumerate(parts.message.frames):
        start = offset - frame.offset
        if not 0 <= start < len(frame.data) or start > _FARTHEST:
            continue
        place = place_at(frame.data[: start + _FARTHEST], start)
        end = place.end if place is not None and place.start == start else start + 1
        length = max(1, min(end - start, _MOST_MARKED, len(frame.data) - start))
        title = f"frame {index} of {{}}, {count(frame.length, 'byte')}"
        data = frame.data[: start + length + _BEHIND]
        return Frame(title, data, ((start, length),), frame.length if len(data) < frame.length else None)
    return None
