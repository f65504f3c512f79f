"""Subscriptions to the log of objects (0.5.6): one batch for each credit that the client gives.

Source: ``lmcache.v1.multiprocess.modules.kv_events`` and ``lmcache.v1.multiprocess.transport.zmq_impl.mq``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from mockserver.mp.engine import Engine
from mockserver.mp.journal import RunningExchange
from mockserver.mp.requests import Dropped
from wire.mp.values import pack

_MOST_EVENTS: Final = 1024


@dataclass
class _Stream:
    exchange: RunningExchange
    identity: bytes
    head: tuple[bytes, bytes]
    """uid and operation."""
    model: str
    cursor: int
    most: int
    credit: bool = True
    begun: bool = False


@dataclass(frozen=True)
class StreamMessage:
    """A message of a stream, on its way out."""

    exchange: RunningExchange
    identity: bytes
    frames: list[bytes]
    last: bool


class Streams:
    """The subscriptions of one server, one for each instance; in the hands of the message thread."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._open: dict[int, _Stream] = {}

    def subscribe(
        self, exchange: RunningExchange, identity: bytes, head: tuple[bytes, bytes], payloads: list[Any]
    ) -> list[StreamMessage]:
        """Begin a subscription, and end the one that its instance had; what to send at once.

        Raises:
            Dropped: the cursor or the number of events is none.
        """
        instance, model, cursor, most = payloads
        if cursor < 0 or not 0 < most <= _MOST_EVENTS:
            raise Dropped(f"a cursor of {cursor} and {most} events")
        ended = self._end(instance)
        self._open[instance] = _Stream(exchange, identity, head, model, cursor, most)
        return [*ended, *self.news()]

    def control(self, identity: bytes, uid: bytes, words: tuple[bytes, ...]) -> list[StreamMessage]:
        """What to send when a client gives credit to a stream, or cancels it."""
        for instance, stream in list(self._open.items()):
            if (stream.identity, stream.head[0]) == (identity, uid):
                if words == (b"cancel",):
                    return self._end(instance)
                if words == (b"ack",):
                    stream.credit = True
                    return self.news()
        return []

    def news(self) -> list[StreamMessage]:
        """What to send to those that have credit; a stream begins with a batch, be it empty."""
        found = []
        with self._engine.lock:
            for stream in self._open.values():
                if stream.credit:
                    batch = self._engine.events.read(stream.model, stream.cursor, stream.most)
                    stream.cursor = batch["next_cursor"]
                    if not stream.begun or batch["events"] or batch["lost"]:
                        stream.begun, stream.credit = True, False
                        found.append(StreamMessage(stream.exchange, stream.identity, [*stream.head, pack(batch)], last=False))
        return found

    def _end(self, instance: int) -> list[StreamMessage]:
        stream = self._open.pop(instance, None)
        return [] if stream is None else [StreamMessage(stream.exchange, stream.identity, list(stream.head), last=True)]
