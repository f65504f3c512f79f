"""Names the messages of the multiprocess server: the operation, what it was given, and what was answered."""

from __future__ import annotations

from typing import Final

from mockserver.tape import FRAMES, HEAD, Moment
from reports.mp_frames import meaning, message_text
from reports.plain import clip
from wire.errors import WireError
from wire.mp.operations import OperationTable
from wire.mp.values import unpack

_LONGEST: Final = 240
_CUT: Final = "..."


class MpLabels:
    """Names messages in their order."""

    def __init__(self, table: OperationTable) -> None:
        self._table = table

    def lose(self) -> None:
        """Messages are missing here; each says itself what it is."""

    def label(self, moment: Moment) -> str:
        """What a message is."""
        if not moment.frames:
            return "raw bytes"
        if len(moment.frames) < 2:
            return f"a message of {len(moment.frames)} frame{'' if len(moment.frames) == 1 else 's'}"
        uid, operation, *payloads = moment.frames
        shown = ", ".join(_shown(frame) for frame in payloads) or "nothing"
        more = ", and more frames" if len(moment.frames) == FRAMES else ""
        name = self._name(operation)
        text = f"{name} {shown}" if moment.sender == "client" else f"reply to {name}: {shown}"
        return f"{clip(text, _LONGEST)}{more} (uid {message_text([uid])})"

    def _name(self, frame: bytes) -> str:
        try:
            return self._table.numbered(unpack(frame)).name
        except WireError:
            return f"operation {meaning(frame)}"


def _shown(frame: bytes) -> str:
    """What a frame holds; a long one was kept in part, and a part is no msgpack."""
    return f"a frame that begins {frame[:8].hex()}{_CUT}" if len(frame) == HEAD else message_text([frame])
