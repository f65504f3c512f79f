"""Defects of a multiprocess server, seeded into the reference server, for the cases of runs that judge servers."""

from __future__ import annotations

import pickle
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import zmq

from harness.mutants.mutant import mp_server_mutant
from harness.reference.servers.mp import ReferenceMpServer
from harness.reference.servers.mp.engine import RobustEngine
from harness.reference.servers.mp.messages import RobustMessages
from harness.reference.servers.mp.store import OwnedStore
from harness.reference.servers.mp.transfers import CarefulTransfers
from mockserver.mp.messages import MessageThread
from mockserver.mp.objects import Layout, ObjectStore, StoredObject
from mockserver.mp.outgoing import Outgoing
from mockserver.mp.pool import PoolFullError
from mockserver.mp.requests import Dropped, MessageThreadDies, Request, StreamControl
from mockserver.mp.sessions import HandlerError, Sessions
from wire.mp.objects import ObjectKey
from wire.mp.values import pack

ANY = "0.3.10 and later"
DATA = "0.4.6 and later"
SHARED = "0.4.7 and later"
HERE = "mp.servers."


def _mutant(name: str, stands_for: str, *found_by: str, releases: str = DATA) -> Callable[[type[ReferenceMpServer]], Any]:
    """A defect that cases of runs of servers find."""
    patterns = tuple(HERE + pattern for pattern in found_by)
    return mp_server_mutant(f"mp-server-{name}", stands_for=stands_for, releases=releases, found_by=patterns, runs="server")


class _Messages(RobustMessages):
    """A message thread whose replies are changed on their way out."""

    def reply(self, outgoing: Outgoing) -> list[bytes]:
        """The changed reply; none stays none."""
        message = super().reply(outgoing)
        return self.change(message) if message else message

    def change(self, message: list[bytes]) -> list[bytes]:
        """The frames of a reply as this server sends them."""
        return message


# What it answers


@_mutant("reads-uids", "A uid that is decoded, and encoded again.", "replies.uids-unread", releases=ANY)
class ReadsUids(ReferenceMpServer):
    """Answers only requests whose uid is a number."""

    class message_thread_class(_Messages):  # noqa: N801  # stands in for the attribute
        """Numbers alone."""

        def change(self, message: list[bytes]) -> list[bytes]:
            """Nothing, where the first frame is no number."""
            uid = message[0]
            return message if uid[:1] in {b"\xcc", b"\xcd", b"\xce"} or (len(uid) == 1 and uid[0] < 0x80) else []


@_mutant("answers-by-number", "Operations that are looked up by name and answered by number.", "requests.*", releases=ANY)
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


@_mutant(
    "one-reply-for-a-uid", "Requests that are kept by their uid until they are answered.", "replies.equal-uids", releases=ANY
)
class OneReplyForAUid(ReferenceMpServer):
    """Answers a uid once in a hundredth of a second, whoever asks."""

    class message_thread_class(_Messages):  # noqa: N801
        """The second one is lost."""

        def change(self, message: list[bytes]) -> list[bytes]:
            """Nothing, where the same uid was answered a moment ago."""
            last, self._last = getattr(self, "_last", (b"", 0.0)), (message[0], time.monotonic())
            return [] if last[0] == message[0] and time.monotonic() - last[1] < 0.01 else message


@_mutant("strict-records", "Records that refuse members which they do not know.", "requests.keys-as-others-write-them")
class StrictRecords(ReferenceMpServer):
    """Drops a request whose key has a member that the release does not know."""

    class message_thread_class(RobustMessages):  # noqa: N801
        """Strict."""

        def read(self, frames: Sequence[bytes]) -> Request | StreamControl:
            """The operation, unless the key has something new."""
            if len(frames) > 2 and b"\xa8invented" in frames[2]:
                raise Dropped("an unknown member")
            return super().read(frames)


@_mutant("answers-what-failed", "An error reply, which this wire does not have.", "conversations.dropped", releases=ANY)
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


@_mutant("polls-again", "A result that is kept for whoever asks again.", "lookup.polls")
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


# What it keeps


class _StoreOf(RobustEngine):
    """An engine whose store is another."""


def _with_store(store: type[ObjectStore]) -> type[RobustEngine]:
    return type("OtherStore", (RobustEngine,), {"store_class": store, "__doc__": "Another store."})


class _FindsUncommitted(OwnedStore):
    """Objects can be read from their reservation on."""

    def reserve_write(self, keys: Sequence[ObjectKey], layout: Layout) -> dict[ObjectKey, StoredObject]:
        """Places that everybody sees at once."""
        found = super().reserve_write(keys, layout)
        self.finish_write(found)
        return found


@_mutant("finds-uncommitted", "A commit that only the writer waits for.", "store.uncommitted", releases=SHARED)
class FindsUncommitted(ReferenceMpServer):
    """Finds chunks before they are committed."""

    engine_class = _with_store(_FindsUncommitted)

    class message_thread_class(_Messages):  # noqa: N801
        """Its commits are answered true all the same."""


class _Overlaps(OwnedStore):
    """Places of half their length."""

    def reserve_write(self, keys: Sequence[ObjectKey], layout: Layout) -> dict[ObjectKey, StoredObject]:
        """Each place begins in the middle of the one before, where there is one."""
        found = super().reserve_write(keys, layout)
        entries = list(found.values())
        for before, entry in pairwise(entries):
            entry.offset = before.offset + before.length // 2
        return found


@_mutant("overlaps", "A stride in elements where bytes are meant.", "store.*", releases=SHARED)
class Overlaps(ReferenceMpServer):
    """Gives out places that lie on each other."""

    engine_class = _with_store(_Overlaps)


class _EvictsLocked(OwnedStore):
    """The oldest goes, whoever has locked it."""

    def _evictable(self, key: ObjectKey) -> bool:
        del key
        return True


@_mutant("evicts-locked", "An eviction that does not ask for locks.", "lifecycle.full", releases=SHARED)
class EvictsLocked(ReferenceMpServer):
    """Evicts what a lookup has locked."""

    engine_class = _with_store(_EvictsLocked)


class _NeverEvicts(OwnedStore):
    """Nothing goes by itself."""

    def evict(self) -> list[ObjectKey]:
        """Nothing."""
        return []


@_mutant("never-evicts", "A cache that is full once and for all.", "lifecycle.full", releases=SHARED)
class NeverEvicts(ReferenceMpServer):
    """Makes no room when its memory is full."""

    engine_class = _with_store(_NeverEvicts)


class _LosesWithClear(OwnedStore):
    """Places that do not come back."""

    def clear(self, *, force: bool) -> None:
        """Forget the objects and keep their places."""
        before, self._drop_places = self._places.give_back, None
        self._places.give_back = lambda *_: None  # type: ignore[method-assign]
        try:
            super().clear(force=force)
        finally:
            self._places.give_back = before  # type: ignore[method-assign]


@_mutant("clear-leaks", "A table that is emptied, and an allocator that is not told.", "lifecycle.full", releases=SHARED)
class ClearLeaks(ReferenceMpServer):
    """Forgets objects at CLEAR and does not free their places."""

    engine_class = _with_store(_LosesWithClear)


@_mutant("ends-take-objects", "A session that owns what it stored.", "lookup.ends-leave-what-is-stored")
class EndsTakeObjects(ReferenceMpServer):
    """Removes what a request stored when the request ends."""

    class engine_class(RobustEngine):  # noqa: N801
        """Tidy."""

        def call(self, operation: str, payloads: list[Any]) -> Any:
            """The result; at its end a request takes its objects away."""
            session = self.sessions.find(payloads[0]) if operation == "END_SESSION" else None
            result = super().call(operation, payloads)
            if session is not None and session.hashes:
                with self.lock:
                    self.store.lose([name for name in self.store.keys if name.chunk_hash in session.hashes])
            return result


@_mutant("unregister-clears", "A model whose last instance takes its chunks along.", "lifecycle.unregistered", releases=SHARED)
class UnregisterClears(ReferenceMpServer):
    """Empties the store when an instance unregisters."""

    class engine_class(RobustEngine):  # noqa: N801
        """Tidy."""

        def call(self, operation: str, payloads: list[Any]) -> Any:
            """The result; without the objects after an instance left."""
            result = super().call(operation, payloads)
            if operation.startswith("UNREGISTER_KV_CACHE"):
                self.store.clear(force=True)
            return result


@_mutant("survives-restart", "Objects on a disk, behind memory that is new.", "*restart*", releases=SHARED)
class SurvivesRestart(ReferenceMpServer):
    """Finds after a restart what was stored before it."""

    def restart(self, *, forget: bool = True) -> None:
        """Stop and start, with all objects."""
        del forget
        super().restart(forget=False)


@_mutant("mixes-ranks", "A rank that is left out of the identity.", "store.ranks")
class MixesRanks(ReferenceMpServer):
    """Stores the part of every rank as that of rank 0."""

    class engine_class(RobustEngine):  # noqa: N801
        """One rank."""

        def call(self, operation: str, payloads: list[Any]) -> Any:
            """The result for rank 0."""
            bare = [
                {**one, "worker_id": 0, "world_size": 1} if isinstance(one, dict) and one.get("worker_id") else one
                for one in payloads
            ]
            return super().call(operation, bare)


@_mutant("counts-gaps", "Hits that are counted, and not only the leading ones.", "store.part-by-part")
class CountsGaps(ReferenceMpServer):
    """Counts stored chunks behind a gap as hits."""

    class engine_class(RobustEngine):  # noqa: N801
        """Counts all."""

        def call(self, operation: str, payloads: list[Any]) -> Any:
            """The result; a lookup counts whatever is there."""
            with self.lock:
                result = super().call(operation, payloads)
                if operation == "LOOKUP" and isinstance(payloads[0], Mapping):
                    self._all = {payloads[0]["request_id"]: self._there(payloads[0])}
                if operation == "QUERY_PREFETCH_STATUS" and isinstance(result, int):
                    return max(result, getattr(self, "_all", {}).get(payloads[0], 0))
                return result

        def _there(self, key: Mapping[str, Any]) -> int:
            from mockserver.mp.sessions import chunk_hashes

            mine = {name.chunk_hash for name in self.store.keys if name.model_name == key["model_name"]}
            return sum(digest in mine for digest in chunk_hashes(key["token_ids"], self.chunk_size))


# Whom it survives


class _DiesOf(RobustMessages):
    """A message thread that some messages end."""

    deadly: Callable[[Sequence[bytes]], bool] = staticmethod(lambda _: False)

    def read(self, frames: Sequence[bytes]) -> Request | StreamControl:
        """The operation, or the end."""
        if type(self).deadly(frames):
            raise MessageThreadDies("a message that this server does not survive")
        return super().read(frames)


@_mutant(
    "dies-of-one-frame",
    "A message that is taken apart before it is counted.",
    "unreadable.messages",
    "unreadable.captured",
    releases=ANY,
)
class DiesOfOneFrame(ReferenceMpServer):
    """Ends its message thread with a message of one frame."""

    class message_thread_class(_DiesOf):  # noqa: N801
        """One frame."""

        deadly = staticmethod(lambda frames: len(frames) < 2)


@_mutant("dies-of-nesting", "A decoder that calls itself.", "unreadable.messages", releases=ANY)
class DiesOfNesting(ReferenceMpServer):
    """Ends its message thread with an operation that is nested deep."""

    class message_thread_class(_DiesOf):  # noqa: N801
        """Depth."""

        deadly = staticmethod(lambda frames: len(frames) > 1 and frames[1][:100] == b"\x91" * 100)


@_mutant(
    "dies-of-empty-delimiter", "A server that was tried with one client.", "unreadable.messages", "conversations.*", releases=ANY
)
class DiesOfEmptyDelimiter(ReferenceMpServer):
    """Ends its message thread with an empty first frame."""

    class message_thread_class(_DiesOf):  # noqa: N801
        """An empty first frame."""

        deadly = staticmethod(lambda frames: len(frames) > 2 and not frames[0] and frames[1] == b"\x00")


@_mutant("waits-for-the-deaf", "A send that waits until the peer takes it.", "bounds.replies-that-nobody-reads", releases=ANY)
class WaitsForTheDeaf(ReferenceMpServer):
    """Waits for a peer that does not read."""

    class message_thread_class(RobustMessages):  # noqa: N801
        """Patient."""

        _send = MessageThread._send  # noqa: SLF001  # that of the mock, which waits as the real one does


@_mutant("keeps-for-the-deaf", "A queue without a limit for each peer.", "bounds.replies-that-nobody-reads", releases=ANY)
class KeepsForTheDeaf(ReferenceMpServer):
    """Keeps every reply that a peer does not read."""

    class message_thread_class(RobustMessages):  # noqa: N801
        """Keeps all."""

        def _keep(self, exchange: Any, identity: bytes, message: list[bytes]) -> None:
            del exchange
            from collections import deque

            self._sizes.setdefault(identity, 0)
            self._backlogs.setdefault(identity, deque()).append(message)
            self._sizes[identity] += sum(map(len, message))


@_mutant("loads-pickles", "pickle.loads on what a client sends.", "bounds.pickles", releases=ANY)
class LoadsPickles(ReferenceMpServer):
    """Does what the pickles of clients say, as far as this mutant lets them: it makes the folder that they would make."""

    class engine_class(RobustEngine):  # noqa: N801
        """Obeys."""

        def call(self, operation: str, payloads: list[Any]) -> Any:
            """The result, after whatever the pickles wanted."""
            for one in payloads:
                _obey(one)
            return super().call(operation, payloads)


def _obey(value: Any) -> None:
    """Make the folder that a pickle of the cases would make; nothing is loaded here."""
    from pathlib import Path

    data = getattr(value, "data", value)
    if isinstance(value, list):
        for one in value:
            _obey(one)
    if not isinstance(data, bytes | memoryview) or b"mkdir" not in bytes(data):
        return
    for _, argument, _ in pickle_words(bytes(data)):
        if isinstance(argument, str) and argument.endswith("made-by-a-pickle"):
            Path(argument).mkdir(exist_ok=True)


def pickle_words(data: bytes) -> Iterable[tuple[Any, Any, int | None]]:
    """The instructions of a pickle, unloaded, as far as they can be read."""
    import pickletools

    try:
        yield from pickletools.genops(data)
    except (ValueError, pickle.UnpicklingError):
        return


@_mutant("keeps-sessions", "A session for every request, and the hope that it ends.", "bounds.requests-that-nobody-ends")
class KeepsSessions(ReferenceMpServer):
    """Keeps the tokens of all requests that nobody ends."""

    class engine_class(RobustEngine):  # noqa: N801
        """Remembers."""

        sessions_class = Sessions


@_mutant("commits-at-unregister", "A tidy end of whatever is open.", "bounds.stores-that-nobody-commits", releases=SHARED)
class CommitsAtUnregister(ReferenceMpServer):
    """Commits what an instance had prepared when it unregisters."""

    class engine_class(RobustEngine):  # noqa: N801
        """As the real one."""

        class contexts_class(CarefulTransfers):  # noqa: N801
            """Commits."""

            def unregister(self, instance_id: int) -> None:
                """Commit what is open, and forget the instance."""
                for transfer in [transfer for transfer in self._writes if transfer[0] == instance_id]:
                    self._store.finish_write(self._writes.pop(transfer))
                super().unregister(instance_id)


class _NobodysLocks(OwnedStore):
    """Locks without owners."""

    finish_read = ObjectStore.finish_read
    read_locked = ObjectStore.read_locked


@_mutant("locks-without-owner", "A counter for each chunk.", "bounds.locks-of-others")
class LocksWithoutOwner(ReferenceMpServer):
    """Takes locks from whoever has them when one gives back too many."""

    engine_class = _with_store(_NobodysLocks)


@_mutant("ends-keep-locks", "A session that ends without looking at its locks.", "bounds.locks-end-with-their-request")
class EndsKeepLocks(ReferenceMpServer):
    """Keeps the locks of requests that have ended."""

    class engine_class(RobustEngine):  # noqa: N801
        """Forgets them."""

        def give_back(self, request_id: str) -> None:
            """Nothing."""


@_mutant("ends-take-open-reads", "A session whose end frees all that it had.", "bounds.open-retrieve", releases="0.5.6 and later")
class EndsTakeOpenReads(ReferenceMpServer):
    """Frees what a worker is still reading when its request ends."""

    class engine_class(RobustEngine):  # noqa: N801
        """Frees all."""

        def give_back(self, request_id: str) -> None:
            """All locks of the request."""
            for name, count in self.owned.held_by(request_id).items():
                self.owned.finish_read([name], count)


@_mutant("one-at-a-time", "A lock around everything, signs of life included.", "unreadable.demands", "lookup.waits")
class OneAtATime(ReferenceMpServer):
    """Does one request after the other, for as long as each takes."""

    class engine_class(RobustEngine):  # noqa: N801
        """Slow where much is asked."""

        _busy = threading.Lock()

        def call(self, operation: str, payloads: list[Any]) -> Any:
            """The result, when all before are done; a long prompt takes its time."""
            with self._busy:
                first = payloads[0] if payloads else None
                if isinstance(first, dict) and len(first.get("token_ids", ())) > 1 << 17:
                    time.sleep(13.0)
                return super().call(operation, payloads)


@_mutant("fails-when-full", "An allocator that raises.", "lifecycle.full", releases=SHARED)
class FailsWhenFull(ReferenceMpServer):
    """Answers no store when its memory is full."""

    class engine_class(RobustEngine):  # noqa: N801
        """Raises."""

        class store_class(OwnedStore):  # noqa: N801
            """Raises."""

            def reserve_write(self, keys: Sequence[ObjectKey], layout: Layout) -> dict[ObjectKey, StoredObject]:
                """Places, or the end of the request."""
                found = super().reserve_write(keys, layout)
                missing = [name for name in keys if name not in found and name not in self._tables.resident]
                if missing:
                    raise HandlerError(str(PoolFullError(f"{len(missing)} places")))
                return found


@_mutant("hands-over-ids", "ROUTER_HANDOVER, for clients that come back.", "transport.same-routing-id", releases=ANY)
class HandsOverIds(ReferenceMpServer):
    """Gives the routing id of a connection that stands to whoever comes with it."""

    class message_thread_class(RobustMessages):  # noqa: N801
        """Hands over."""

        def configure(self, sock: zmq.Socket[bytes]) -> None:
            """With handover."""
            super().configure(sock)
            sock.setsockopt(zmq.ROUTER_HANDOVER, 1)


@_mutant("hurries-handshakes", "A time limit for handshakes, tried on one machine.", "transport.byte-by-byte", releases=ANY)
class HurriesHandshakes(ReferenceMpServer):
    """Ends a connection whose handshake takes more than a few milliseconds."""

    class message_thread_class(RobustMessages):  # noqa: N801
        """Hurries."""

        def configure(self, sock: zmq.Socket[bytes]) -> None:
            """With little time."""
            super().configure(sock)
            sock.setsockopt(zmq.HANDSHAKE_IVL, 25)


@_mutant("knows-few-peers", "A table of peers with a fixed size.", "replies.crowd", releases=ANY)
class KnowsFewPeers(ReferenceMpServer):
    """Answers the first two hundred connections and no other."""

    class message_thread_class(RobustMessages):  # noqa: N801
        """A small table."""

        def _take(self, exchange: Any, connection: int, identity: bytes, frames: Sequence[bytes]) -> None:
            if connection > 200:
                raise Dropped("no room for another peer")
            super()._take(exchange, connection, identity, frames)


@_mutant("answers-one-twice", "A counter of requests under way that is compared with the wrong one.", "replies.each-once", releases=ANY)
class AnswersOneTwice(ReferenceMpServer):
    """Answers the hundredth request of a connection twice."""

    class message_thread_class(_Messages):  # noqa: N801
        """Twice."""

        def _dispatch(self, exchange: Any, identity: bytes, outgoing: Outgoing) -> None:
            super()._dispatch(exchange, identity, outgoing)
            if exchange.seen.number % 100 == 0:
                super()._dispatch(exchange, identity, outgoing)


@_mutant("pings-false", "PING that means whether an instance is known.", "replies.signs-of-life", releases="0.5.0 and later")
class PingsFalse(ReferenceMpServer):
    """Answers PING with false for an instance that nobody registered."""

    class engine_class(RobustEngine):  # noqa: N801
        """Particular."""

        def call(self, operation: str, payloads: list[Any]) -> Any:
            """The result; false for a PING of somebody unknown."""
            result = super().call(operation, payloads)
            return payloads[0] is None if operation == "PING" else result


@_mutant("few-instances", "Contexts in a table of thirty-two.", "lifecycle.many-instances")
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
