"""Defects in how replies of the multiprocess server find their requests, in waiting, and in the life of connections."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Any

from harness.client import ClientError
from harness.mutants.mutant import mp_mutant
from harness.reference.mp.client import ReferenceMpClient
from harness.reference.mp.connection import MpConnection
from harness.reference.mp.link import MpLink
from wire.mp.values import Value, pack

Answer = dict[str, Any]


class _InOrder(MpConnection):
    def owner(self, uid: bytes, waiting: Sequence[bytes]) -> bytes | None:
        del uid
        return waiting[0] if waiting else None


@mp_mutant(
    "mp-replies-by-order",
    stands_for="The lm:// wire, whose replies have no number: here they overtake each other.",
    found_by=(
        "mp.misbehaviour.wrong-uid",
        "mp.misbehaviour.late-hits",
        "mp.misbehaviour.swapped-*",
    ),
)
class InOrder(ReferenceMpClient):
    """Gives every reply to the request that waits longest."""

    connection_class = _InOrder


class _LastAsked(MpConnection):
    def owner(self, uid: bytes, waiting: Sequence[bytes]) -> bytes | None:
        return uid if uid in waiting and uid == waiting[-1] else None


@mp_mutant(
    "mp-one-request-at-a-time",
    stands_for="One place for the request that is under way: the reply to an earlier one is dropped.",
    releases="0.3.10 and later",
    found_by=("mp.connection.several-at-once",),
)
class LastAsked(ReferenceMpClient):
    """Forgets a request when the next one is sent."""

    connection_class = _LastAsked


class _SameUid(MpConnection):
    def new_uid(self) -> bytes:
        return pack(7)


@mp_mutant(
    "mp-one-uid",
    stands_for="A uid that stands for the client and not for the request: a late reply answers the next request.",
    found_by=("mp.flow.uids", "mp.misbehaviour.late-hits", "mp.connection.several-at-once"),
)
class SameUid(ReferenceMpClient):
    """Gives all requests the same uid."""

    connection_class = _SameUid


class _FewUids(MpConnection):
    def new_uid(self) -> bytes:
        self._next = (getattr(self, "_next", -1) + 1) % 2
        return pack(self._next)


@mp_mutant(
    "mp-two-uids",
    stands_for="A number of one bit, or of one byte on a busy connection.",
    found_by=("mp.flow.uids",),
)
class FewUids(ReferenceMpClient):
    """Counts requests modulo 2."""

    connection_class = _FewUids


class _EndlessLink(MpLink):
    def request(self, name: str, payloads: Sequence[Value], until: float) -> Value:
        del until
        return super().request(name, payloads, time.monotonic() + 3600)


@mp_mutant(
    "mp-waits-for-ever",
    stands_for="future.result() without a timeout, on a wire whose only error is silence.",
    found_by=("mp.connection.silence",),
)
class Endless(ReferenceMpClient):
    """Waits for every reply as long as it takes."""

    def connect(self, **members: Any) -> Answer:
        """With a connection that has time."""
        answer = super().connect(**members)
        plain = self._links[members["connection"]]
        self._links[members["connection"]] = _EndlessLink(plain.connection, plain.table, plain.codec)
        return answer


class _Silent(MpLink):
    def request(self, name: str, payloads: Sequence[Value], until: float) -> Value:
        try:
            return super().request(name, payloads, until)
        except ClientError as error:
            if error.kind not in {"timeout", "protocol"}:
                raise
            result = self.table.named(name).result
            defaults: dict[str, Value] = {"str": "", "int": 0, "bool": True, "int?": 0}
            return defaults.get(str(result), {"context": {}, "success": False})


@mp_mutant(
    "mp-silence-is-success",
    stands_for="An exception handler that goes on with a default.",
    found_by=("mp.connection.silence", "mp.misbehaviour.broken-reply*", "mp.misbehaviour.sent-once*"),
)
class SilenceIsSuccess(ReferenceMpClient):
    """Takes a request that was not answered for one that was done."""

    def connect(self, **members: Any) -> Answer:
        """With a connection that is never at a loss."""
        answer = super().connect(**members)
        plain = self._links[members["connection"]]
        self._links[members["connection"]] = _Silent(plain.connection, plain.table, plain.codec)
        return answer


class _Spoiled(MpConnection):
    """Hands out nothing more once a reply was missing, and says that it is a timeout."""

    spoiled = False

    def ask(self, frames: Sequence[bytes], until: float) -> list[bytes]:
        if self.spoiled:
            raise ClientError("timeout", "an earlier request was not answered")
        try:
            return super().ask(frames, until)
        except ClientError:
            self.spoiled = True
            raise


@mp_mutant(
    "mp-one-timeout-ends-all",
    stands_for="A reader that ends with the first exception, while its connection looks open.",
    found_by=("mp.connection.silence", "mp.misbehaviour.wrong-uid"),
)
class OneTimeoutEndsAll(ReferenceMpClient):
    """Answers every operation behind a timeout with a timeout, for as long as the connection is open."""

    connection_class = _Spoiled


@mp_mutant(
    "mp-shared-connection",
    stands_for="A pool of sockets that is keyed by address: whoever closes one closes it for all.",
    found_by=("mp.connection.independent", "mp.connection.closed"),
)
class SharedConnection(ReferenceMpClient):
    """Has one connection to a server, whatever the number of those that were asked for."""

    def __init__(self) -> None:
        super().__init__()
        self._shared: dict[tuple[str, int], MpLink] = {}
        self._guard = threading.Lock()

    def connect(self, *, connection: str, host: str, port: int, **members: Any) -> Answer:
        """Use the one that is there."""
        with self._guard:
            known = self._shared.get((host, port))
            if known is None:
                answer = super().connect(connection=connection, host=host, port=port, **members)
                self._shared[host, port] = self._links[connection]
                return answer
            self._links[connection] = known
        return {}


@mp_mutant(
    "mp-close-does-nothing",
    stands_for="A close that is left to the garbage collector.",
    found_by=("mp.connection.closed", "mp.memory.memory-is-let-go"),
)
class CloseDoesNothing(ReferenceMpClient):
    """Keeps connections that were closed, and uses them."""

    def close(self, **_: Any) -> Answer:
        """Later, perhaps."""
        return {}
