"""Defects in what a multiprocess server answers, seeded into the reference server."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from harness.mutants.servers.better_mp import ANY, defect
from harness.reference.servers.mp import ReferenceMpServer
from harness.reference.servers.mp.engine import RobustEngine
from harness.reference.servers.mp.messages import RobustMessages
from mockserver.mp.outgoing import Outgoing
from mockserver.mp.requests import Dropped, Request, StreamControl
from wire.mp.values import pack


class _Messages(RobustMessages):
    """A message thread whose replies are changed on their way out."""

    def reply(self, outgoing: Outgoing) -> list[bytes]:
        """The changed reply; none stays none."""
        message = super().reply(outgoing)
        return self.change(message) if message else message

    def change(self, message: list[bytes]) -> list[bytes]:
        """The frames of a reply as this server sends them."""
        return message


@defect("reads-uids", "A uid that is decoded, and encoded again.", "replies.uids-unread", releases=ANY)
class ReadsUids(ReferenceMpServer):
    """Answers only requests whose uid is a number."""

    class message_thread_class(_Messages):  # noqa: N801  # stands in for the attribute
        """Numbers alone."""

        def change(self, message: list[bytes]) -> list[bytes]:
            """Nothing, where the first frame is no number."""
            uid = message[0]
            return message if uid[:1] in {b"\xcc", b"\xcd", b"\xce"} or (len(uid) == 1 and uid[0] < 0x80) else []


@defect("answers-by-number", "Operations that are looked up by name and answered by number.", "requests.*", releases=ANY)
class AnswersByNumber(ReferenceMpServer):
    """Answers with the number of the operation in its shortest form, however it came."""

    class message_thread_class(_Messages):  # noqa: N801
        """The number as this server would write it."""

        def change(self, message: list[bytes]) -> list[bytes]:
            """With another second frame, where it came in another form."""
            import msgspec

            sent = msgspec.msgpack.decode(message[1])
            number = self._table.numbered(sent).number
            return [message[0], pack(number), *message[2:]]


@defect("one-reply-for-a-uid", "Requests that are kept by their uid until they are answered.", "replies.equal-uids", releases=ANY)
class OneReplyForAUid(ReferenceMpServer):
    """Answers a uid once in a hundredth of a second, whoever asks."""

    class message_thread_class(_Messages):  # noqa: N801
        """The second one is lost."""

        def change(self, message: list[bytes]) -> list[bytes]:
            """Nothing, where the same uid was answered a moment ago."""
            last, self._last = getattr(self, "_last", (b"", 0.0)), (message[0], time.monotonic())
            return [] if last[0] == message[0] and time.monotonic() - last[1] < 0.01 else message


@defect("strict-records", "Records that refuse members which they do not know.", "requests.keys-as-others-write-them")
class StrictRecords(ReferenceMpServer):
    """Drops a request whose key has a member that the release does not know."""

    class message_thread_class(RobustMessages):  # noqa: N801
        """Strict."""

        def read(self, frames: Sequence[bytes]) -> Request | StreamControl:
            """The operation, unless the key has something new."""
            if len(frames) > 2 and b"\xa8invented" in frames[2]:
                raise Dropped("an unknown member")
            return super().read(frames)


@defect("answers-what-failed", "An error reply, which this wire does not have.", "conversations.dropped", releases=ANY)
class AnswersWhatFailed(ReferenceMpServer):
    """Answers a message that it cannot read with its uid and its operation."""

    class message_thread_class(RobustMessages):  # noqa: N801
        """Always answers."""

        def _receive(self) -> None:
            self._refused: list[bytes] = []
            super()._receive()

        def _take(self, exchange: Any, connection: int, identity: bytes, frames: Sequence[bytes]) -> None:
            try:
                super()._take(exchange, connection, identity, frames)
            except Dropped:
                if len(frames) > 1:
                    self._socket.send_multipart([identity, frames[0], frames[1]])
                raise


@defect("polls-again", "A result that is kept for whoever asks again.", "lookup.polls")
class PollsAgain(ReferenceMpServer):
    """Tells the hits of a lookup as often as one asks."""

    class engine_class(RobustEngine):  # noqa: N801
        """Keeps results."""

        def call(self, operation: str, payloads: list[Any]) -> Any:
            """The result, also the second time."""
            jobs = dict(self.lookups.jobs)
            result = super().call(operation, payloads)
            if operation == "QUERY_PREFETCH_STATUS" and payloads[0] in jobs:
                self.lookups.jobs[payloads[0]] = jobs[payloads[0]]
            return result
