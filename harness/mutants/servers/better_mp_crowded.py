"""Defects that show with many clients, slow ones, and clients that come again, seeded into the reference server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import zmq

from harness.mutants.servers.better_mp import ANY, defect
from harness.reference.servers.mp import ReferenceMpServer
from harness.reference.servers.mp.engine import RobustEngine
from harness.reference.servers.mp.messages import RobustMessages
from mockserver.mp.outgoing import Outgoing
from mockserver.mp.requests import Dropped


@defect("hands-over-ids", "ROUTER_HANDOVER, for clients that come back.", "transport.same-routing-id", releases=ANY)
class HandsOverIds(ReferenceMpServer):
    """Gives the routing id of a connection that stands to whoever comes with it."""

    class message_thread_class(RobustMessages):  # noqa: N801
        """Hands over."""

        def configure(self, sock: zmq.Socket[bytes]) -> None:
            """With handover."""
            super().configure(sock)
            sock.setsockopt(zmq.ROUTER_HANDOVER, 1)


@defect("hurries-handshakes", "A time limit for handshakes, tried on one machine.", "transport.byte-by-byte", releases=ANY)
class HurriesHandshakes(ReferenceMpServer):
    """Ends a connection whose handshake takes more than a few milliseconds."""

    class message_thread_class(RobustMessages):  # noqa: N801
        """Hurries."""

        def configure(self, sock: zmq.Socket[bytes]) -> None:
            """With little time."""
            super().configure(sock)
            sock.setsockopt(zmq.HANDSHAKE_IVL, 25)


@defect("knows-few-peers", "A table of peers with a fixed size.", "replies.crowd", releases=ANY)
class KnowsFewPeers(ReferenceMpServer):
    """Answers the first two hundred connections and no other."""

    class message_thread_class(RobustMessages):  # noqa: N801
        """A small table."""

        def _take(self, exchange: Any, connection: int, identity: bytes, frames: Sequence[bytes]) -> None:
            if connection > 200:
                raise Dropped("no room for another peer")
            super()._take(exchange, connection, identity, frames)


@defect(
    "answers-one-twice", "A counter of requests under way that is compared with the wrong one.", "replies.each-once", releases=ANY
)
class AnswersOneTwice(ReferenceMpServer):
    """Answers the hundredth request of a connection twice."""

    class message_thread_class(RobustMessages):  # noqa: N801
        """Twice."""

        def _dispatch(self, exchange: Any, identity: bytes, outgoing: Outgoing) -> None:
            super()._dispatch(exchange, identity, outgoing)
            if exchange.number % 100 == 0:
                super()._dispatch(exchange, identity, outgoing)


@defect(
    "does-twice",
    "A broker before the server that hands on again what it has not seen acknowledged.",
    "conversations.answered",
    "conversations.answered-over-pickles",
    "replies.each-once",
    releases=ANY,
)
class DoesTwice(ReferenceMpServer):
    """Does and answers every request twice."""

    class message_thread_class(RobustMessages):  # noqa: N801
        """Twice."""

        def _dispatch(self, exchange: Any, identity: bytes, outgoing: Outgoing) -> None:
            super()._dispatch(exchange, identity, outgoing)
            super()._dispatch(exchange, identity, outgoing)


@defect("pings-false", "PING that means whether an instance is known.", "replies.signs-of-life", releases="0.5.0 and later")
class PingsFalse(ReferenceMpServer):
    """Answers PING with false for an instance that nobody registered."""

    class engine_class(RobustEngine):  # noqa: N801
        """Particular."""

        def call(self, operation: str, payloads: list[Any]) -> Any:
            """The result; false for a PING of somebody unknown."""
            result = super().call(operation, payloads)
            return payloads[0] is None if operation == "PING" else result


@defect("few-instances", "Contexts in a table of thirty-two.", "lifecycle.many-instances")
class FewInstances(ReferenceMpServer):
    """Forgets the oldest instance when a thirty-third registers."""

    class engine_class(RobustEngine):  # noqa: N801
        """A small table."""

        def call(self, operation: str, payloads: list[Any]) -> Any:
            """The result; the oldest instance goes where there are too many."""
            result = super().call(operation, payloads)
            if operation.startswith("REGISTER_KV_CACHE_") and len(self.contexts._contexts) > 32:  # noqa: SLF001
                del self.contexts._contexts[next(iter(self.contexts._contexts))]  # noqa: SLF001
            return result
