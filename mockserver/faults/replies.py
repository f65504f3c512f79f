"""Faults of whole replies: none where one is due, two, another order, one where none is due."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from mockserver.faults.action import ReplyFault
from mockserver.faults.number import Number, number_for, require_number
from mockserver.faults.outgoing import Outgoing
from wire.lm.enums import CODES, number_of
from wire.lm.frames import NOTHING, replace_field


@dataclass(frozen=True, slots=True)
class DropReply(ReplyFault):
    """Send nothing in reply, and go on with the next request; a request without a reply is left alone."""

    fault: ClassVar[str] = "drop-reply"
    part: ClassVar[str] = "end"
    example: ClassVar[str] = "drop-reply:command=EXIST,nth=2"
    stands_for: ClassVar[str] = (
        "A server whose handler failed and was caught: the request is forgotten and the connection lives on. The next reply "
        "belongs to the next request, so a client that gives up on the first and asks again on the same connection must know "
        "which answer it reads."
    )

    def shape(self, outgoing: Outgoing) -> Outgoing:
        """Nothing."""
        return replace(outgoing, cut=0, last="go on", ending=None) if outgoing.header else outgoing


@dataclass(frozen=True, slots=True)
class DuplicateReply(ReplyFault):
    """Send the reply ``copies`` times; a request without a reply is left alone."""

    copies: int = 2

    fault: ClassVar[str] = "duplicate-reply"
    part: ClassVar[str] = "copies"
    example: ClassVar[str] = "duplicate-reply:command=EXIST"
    stands_for: ClassVar[str] = (
        "A proxy that tries again although the first try had succeeded, or a server that answers once more after a timeout of "
        "its own. The second copy is a well-formed reply, and stands where the answer to the next request is looked for."
    )

    def __post_init__(self) -> None:
        if not 2 <= self.copies <= 1000:
            raise ValueError(f"copies is from 2 to 1000, not {self.copies}")

    def shape(self, outgoing: Outgoing) -> Outgoing:
        """The reply, several times."""
        return replace(outgoing, copies=self.copies) if outgoing.header else outgoing


@dataclass(frozen=True, slots=True)
class ReorderReplies(ReplyFault):
    """Hold the reply back and send it behind the next one of the same connection; a request without a reply is left alone.

    The bytes are counted in the exchange in which they leave. If no other reply follows they never do.
    """

    fault: ClassVar[str] = "reorder-replies"
    part: ClassVar[str] = "end"
    example: ClassVar[str] = "reorder-replies:command=GET,nth=1"
    stands_for: ClassVar[str] = (
        "A server or a proxy that works on several requests of a connection at once and answers whichever is done first. "
        "Replies carry no key and no number, only their order: two swapped answers look right and are both wrong."
    )

    def shape(self, outgoing: Outgoing) -> Outgoing:
        """The reply, for later."""
        return replace(outgoing, last="hold", ending=None) if outgoing.header else outgoing


@dataclass(frozen=True, slots=True)
class UnaskedReply(ReplyFault):
    """Send a reply header where none is due, which is after PUT and LIST; its ``code`` is a number or a name."""

    code: Number = "SUCCESS"

    fault: ClassVar[str] = "unasked-reply"
    part: ClassVar[str] = "reply"
    example: ClassVar[str] = "unasked-reply:command=PUT"
    stands_for: ClassVar[str] = (
        "A server of another make, or of a later release, that confirms a PUT. No release does, so a client that does not look "
        "takes the confirmation for the answer to its next request, and is one reply behind from then on."
    )

    def __post_init__(self) -> None:
        require_number("code", self.code)

    def shape(self, outgoing: Outgoing) -> Outgoing:
        """A reply that describes nothing; one that is due stays as it is."""
        if outgoing.header:
            return outgoing
        code = number_for("code", self.code, CODES["SUCCESS"])
        header = bytes(4 * len(outgoing.fields))
        plain = {"code": code, "format": number_of("format", NOTHING.format), "dtype": number_of("dtype", NOTHING.dtype)}
        for name, value in plain.items():
            header = replace_field(outgoing.fields, header, name, value)
        return replace(outgoing, header=header)
