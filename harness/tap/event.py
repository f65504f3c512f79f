"""One thing that happened on a connection, as the proxy saw it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal, Self, TypeAlias

Side: TypeAlias = Literal["client", "server"]
Deed: TypeAlias = Literal["open", "data", "half-close", "close", "reset", "error"]
DEEDS: Final[tuple[Deed, ...]] = ("open", "data", "half-close", "close", "reset", "error")
OTHER: Final[dict[Side, Side]] = {"client": "server", "server": "client"}
GAP: Final = "not recorded: the disk or this machine was too slow"
"""The text of an ``error`` behind which bytes of the connection are missing."""


@dataclass(frozen=True, slots=True)
class Event:
    """What one side of one connection did.

    ``open`` is the server's when the connection to it stands, the client's when it came. ``half-close`` is an end of stream while
    the other side may still send, ``close`` the second one. ``error`` says in ``text`` what kept the proxy from going on,
    or from recording (:data:`GAP`): nothing that comes later on the connection can be understood.

    Of ``data`` either the bytes are there, or, for payload that was left out, their number in ``length``. Then ``sha256`` is that
    of the whole payload from its first byte up to the last of these, what other events hold of it included.
    """

    at: float
    """Seconds from the start of the recording."""
    connection: int
    """From 1, in the order in which clients came."""
    side: Side
    do: Deed
    data: bytes = b""
    length: int | None = None
    sha256: str = ""
    until: float | None = None
    """When the last of several segments came that were left out together; None: at once."""
    more: bool = False
    """The segment goes on in the next event of this side of this connection."""
    text: str = ""
    """The peer's address of an ``open``, the reason of an ``error``."""

    @property
    def size(self) -> int:
        """How many bytes crossed the wire."""
        return len(self.data) if self.length is None else self.length

    @property
    def reason(self) -> str:
        """The reason of an ``error``; a recording of others may give none."""
        return self.text.strip() or "an error without a reason"

    def to_json(self) -> dict[str, Any]:
        """The line of a recording."""
        line: dict[str, Any] = {
            "record": "event",
            "at": round(self.at, 6),
            "connection": self.connection,
            "from": self.side,
            "do": self.do,
        }
        if self.do == "data" and self.length is None:
            line["data"] = self.data.hex()
        if self.length is not None:
            line["length"] = self.length
        if self.sha256:
            line["sha256"] = self.sha256
        if self.until is not None:
            line["until"] = round(self.until, 6)
        if self.more:
            line["more"] = True
        if self.text:
            line["text"] = self.text
        return line

    @classmethod
    def from_json(cls, line: dict[str, Any]) -> Self:
        """Read a line that the schema allows.

        Raises:
            ValueError: the bytes are no hexadecimal.
        """
        return cls(
            at=float(line["at"]),
            connection=int(line["connection"]),
            side=line["from"],
            do=line["do"],
            data=bytes.fromhex(line.get("data", "")),
            length=int(line["length"]) if "length" in line else None,
            sha256=line.get("sha256", ""),
            until=float(line["until"]) if "until" in line else None,
            more=line.get("more", False),
            text=line.get("text", ""),
        )
