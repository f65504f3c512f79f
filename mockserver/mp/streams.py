"""Subscriptions to events of the cache (0.5.6): the first batch, and their end.

Batches about objects that come and go are not modelled. Source: ``lmcache.v1.multiprocess.modules.kv_events``.
"""

from __future__ import annotations

import time
from typing import Any, Final

from mockserver.mp.requests import Dropped
from wire.mp.values import pack

_MOST_EVENTS: Final = 1024


class Streams:
    """The subscriptions of one server; in the hands of the message thread."""

    def __init__(self) -> None:
        self._incarnation = time.time_ns()
        self._open: dict[int, tuple[bytes, bytes, bytes]] = {}
        """By instance: address, uid and operation of the subscription."""

    def subscribe(self, identity: bytes, head: tuple[bytes, bytes], payloads: list[Any]) -> list[tuple[bytes, list[bytes]]]:
        """The messages that a subscription brings at once, each with its address.

        Raises:
            Dropped: the cursor or the number of events is none.
        """
        instance, _, cursor, most = payloads
        if cursor < 0 or not 0 < most <= _MOST_EVENTS:
            raise Dropped(f"a cursor of {cursor} and {most} events")
        batch = {"enabled": True, "incarnation": self._incarnation, "next_cursor": 0, "lost": cursor > 0, "events": []}
        ended = self._end(instance)
        self._open[instance] = (identity, *head)
        return [*ended, (identity, [*head, pack(batch)])]

    def control(self, identity: bytes, uid: bytes, words: tuple[bytes, ...]) -> list[tuple[bytes, list[bytes]]]:
        """The messages that a word about a stream brings: its end, where it is cancelled."""
        for instance, (owner, known, _) in list(self._open.items()):
            if (owner, known) == (identity, uid) and words == (b"cancel",):
                return self._end(instance)
        return []

    def _end(self, instance: int) -> list[tuple[bytes, list[bytes]]]:
        if instance not in self._open:
            return []
        identity, uid, operation = self._open.pop(instance)
        return [(identity, [uid, operation])]
