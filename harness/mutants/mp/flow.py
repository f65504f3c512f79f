"""Defects in what a client of the multiprocess server sends, how often, and what it makes of the answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harness.client import ClientError, MissError
from harness.mutants.mutant import mp_mutant
from harness.reference.mp.client import ReferenceMpClient
from harness.reference.mp.codec import Range
from harness.reference.mp.flow import MpFlow
from harness.reference.mp.link import MpLink, Registered
from wire.mp.values import Value

Answer = dict[str, Any]
DATA = "0.4.6 and later"


class _NotPolled(MpFlow):
    def poll(self, link: MpLink, handle: Value, until: float) -> Value:
        return link.request("QUERY_PREFETCH_STATUS", [handle], until) or 0


@mp_mutant(
    "mp-lookup-polled-once",
    stands_for="A lookup that answered at once up to 0.3.15: nil is no hit, and its locks stay.",
    releases=DATA,
    found_by=("mp.misbehaviour.lookup-takes-its-time", "mp.misbehaviour.lookup-never-ends"),
)
class NotPolled(ReferenceMpClient):
    """Asks once for the outcome of a lookup, and takes nil for 0."""

    flow = _NotPolled()


class _AnswerOfLookup(MpFlow):
    def poll(self, link: MpLink, handle: Value, until: float) -> Value:
        del link, until
        return handle if isinstance(handle, int) else 0


@mp_mutant(
    "mp-lookup-not-polled",
    stands_for="A client of 0.3.15, where LOOKUP itself gives the number of chunks.",
    releases="0.4.1 and later",
    found_by=("mp.flow.lookup", "mp.roundtrip.prefixes"),
)
class AnswerOfLookup(ReferenceMpClient):
    """Takes what LOOKUP answers for the number of chunks."""

    flow = _AnswerOfLookup()


class _WrongHandle(MpFlow):
    def poll(self, link: MpLink, handle: Value, until: float) -> Value:
        return super().poll(link, handle + 1 if isinstance(handle, int) else f"{handle}-0", until)


@mp_mutant(
    "mp-lookup-polled-by-another-name",
    stands_for="Two places that each make the id of a request, as vLLM's scheduler and its workers.",
    releases="0.4.1 and later",
    found_by=("mp.flow.lookup", "mp.roundtrip.prefixes"),
)
class WrongHandle(ReferenceMpClient):
    """Asks for the outcome of a lookup by another name than it has."""

    flow = _WrongHandle()


class _TokensForChunks(MpFlow):
    def lookup(self, link: MpLink, key: Mapping[str, Any], tp_size: int, until: float) -> int:
        return super().lookup(link, key, tp_size, until) * link.chunk_size(until)


@mp_mutant(
    "mp-hits-in-tokens",
    stands_for="The unit of lm:// lookups, which count tokens.",
    releases=DATA,
    found_by=("mp.roundtrip.prefixes",),
)
class TokensForChunks(ReferenceMpClient):
    """Gives the hits of a lookup in tokens."""

    flow = _TokensForChunks()


class _AllOrNothing(MpFlow):
    def lookup(self, link: MpLink, key: Mapping[str, Any], tp_size: int, until: float) -> int:
        found = super().lookup(link, key, tp_size, until)
        cut = link.codec.whole_chunks(key, link.chunk_size(until))
        return cut.chunks if found else 0


@mp_mutant(
    "mp-a-hit-is-all",
    stands_for="A lookup that is taken for yes or no.",
    releases=DATA,
    found_by=("mp.roundtrip.prefixes", "mp.roundtrip.forks", "mp.roundtrip.gap"),
)
class AllOrNothing(ReferenceMpClient):
    """Takes any hit for a hit of all chunks."""

    flow = _AllOrNothing()


class _Remembering(MpFlow):
    def __init__(self) -> None:
        self._known: dict[tuple[Any, ...], int] = {}

    def lookup(self, link: MpLink, key: Mapping[str, Any], tp_size: int, until: float) -> int:
        found = super().lookup(link, key, tp_size, until)
        place = (key["model_name"], key["cache_salt"], key["world_size"], tuple(link.codec.tokens(key)))
        self._known[place] = max(found, self._known.get(place, 0))
        return self._known[place]


@mp_mutant(
    "mp-hits-from-memory",
    stands_for="A cache of lookups in the client, which nobody clears when the server's is cleared.",
    releases=DATA,
    found_by=("mp.roundtrip.clear", "mp.connection.restarted-and-empty"),
)
class Remembering(ReferenceMpClient):
    """Remembers what lookups found, and finds it for ever."""

    def __init__(self) -> None:
        super().__init__()
        self.flow = _Remembering()  # type: ignore[misc]  # a memory for each client


class _LookupBeforeRetrieve(MpFlow):
    def retrieve(self, link: MpLink, instance_id: int, key: Mapping[str, Any], until: float) -> list[bytes]:
        self.lookup(link, key, key["world_size"], until)
        return super().retrieve(link, instance_id, key, until)


@mp_mutant(
    "mp-retrieve-looks-up-first",
    stands_for="A load that makes sure by itself: it takes a lock for each that the caller has taken.",
    releases=DATA,
    found_by=("mp.flow.retrieve", "mp.locks.lookup-and-retrieve", "mp.roundtrip.retrieve-without-lookup"),
)
class LookupBeforeRetrieve(ReferenceMpClient):
    """Sends a LOOKUP before every retrieve."""

    flow = _LookupBeforeRetrieve()


class _SuccessIgnored(MpFlow):
    def loaded(self, response: Mapping[str, Any], worker: Registered, cut: Range, chunk_size: int) -> list[bytes]:
        try:
            return super().loaded({**response, "success": True}, worker, cut, chunk_size)
        except ClientError:
            return [bytes(worker.layout.length(chunk_size))] * cut.chunks


@mp_mutant(
    "mp-success-ignored",
    stands_for="A result whose first member is never read: what was not there is loaded as zeros.",
    releases=DATA,
    found_by=("mp.misbehaviour.retrieve-refused", "mp.roundtrip.retrieve-without-lookup"),
)
class SuccessIgnored(ReferenceMpClient):
    """Takes a retrieve that failed for one that succeeded."""

    flow = _SuccessIgnored()


class _StoredAlways(MpFlow):
    def commit_store(self, link: MpLink, payloads: Sequence[Value], until: float) -> bool:
        super().commit_store(link, payloads, until)
        return True


@mp_mutant(
    "mp-commit-result-ignored",
    stands_for="A commit whose answer nobody reads.",
    releases=DATA,
    found_by=("mp.misbehaviour.store-refused",),
)
class StoredAlways(ReferenceMpClient):
    """Says that chunks are stored whatever COMMIT_STORE is answered with."""

    flow = _StoredAlways()


class _StoredIfCommitted(MpFlow):
    def store(self, link: MpLink, instance_id: int, key: Mapping[str, Any], chunks: Sequence[bytes], until: float) -> bool:
        self.committed = False
        return super().store(link, instance_id, key, chunks, until) and self.committed

    def commit_store(self, link: MpLink, payloads: Sequence[Value], until: float) -> bool:
        self.committed = True
        return super().commit_store(link, payloads, until)


@mp_mutant(
    "mp-nothing-to-store-is-a-failure",
    stands_for="An empty list of slots that is taken for a full cache.",
    releases="0.4.7 and later",
    found_by=("mp.roundtrip.stored-twice",),
)
class StoredIfCommitted(ReferenceMpClient):
    """Says that chunks which are all there were not stored."""

    def __init__(self) -> None:
        super().__init__()
        self.flow = _StoredIfCommitted()  # type: ignore[misc]  # it remembers


class _CommitsAlways(MpFlow):
    def store(self, link: MpLink, instance_id: int, key: Mapping[str, Any], chunks: Sequence[bytes], until: float) -> bool:
        self.committed = False
        stored = super().store(link, instance_id, key, chunks, until)
        if not self.committed:
            cut = link.codec.whole_chunks(key, link.chunk_size(until))
            self.commit_store(link, [self.record(link, key, cut, key["worker_id"]), instance_id, b""], until)
        return stored

    def commit_store(self, link: MpLink, payloads: Sequence[Value], until: float) -> bool:
        self.committed = True
        return super().commit_store(link, payloads, until)


@mp_mutant(
    "mp-commits-nothing",
    stands_for="Two steps that always come together.",
    releases="0.4.7 and later",
    found_by=("mp.flow.store-of-what-is-there",),
)
class CommitsAlways(ReferenceMpClient):
    """Sends COMMIT_STORE for a store that has nothing to write."""

    def __init__(self) -> None:
        super().__init__()
        self.flow = _CommitsAlways()  # type: ignore[misc]  # it remembers


class _ChunksInReverse(MpFlow):
    def loaded(self, response: Mapping[str, Any], worker: Registered, cut: Range, chunk_size: int) -> list[bytes]:
        return super().loaded(response, worker, cut, chunk_size)[::-1]


@mp_mutant(
    "mp-chunks-in-reverse",
    stands_for="A stack where a queue was meant.",
    releases=DATA,
    found_by=("mp.roundtrip.round-trip*",),
)
class ChunksInReverse(ReferenceMpClient):
    """Gives the chunks of a retrieve the last one first."""

    flow = _ChunksInReverse()


class _FirstByteLost(MpFlow):
    def loaded(self, response: Mapping[str, Any], worker: Registered, cut: Range, chunk_size: int) -> list[bytes]:
        return [b"\0" + chunk[1:] for chunk in super().loaded(response, worker, cut, chunk_size)]


@mp_mutant(
    "mp-first-byte-lost",
    stands_for="A copy that begins one element too late.",
    releases=DATA,
    found_by=("mp.roundtrip.*", "mp.memory.round-trip-without-shared-memory*"),
)
class FirstByteLost(ReferenceMpClient):
    """Gives chunks whose first byte is 0."""

    flow = _FirstByteLost()


class _RegistersOnce(MpFlow):
    def __init__(self) -> None:
        self._known: dict[int, Registered] = {}

    def register(self, link: MpLink, instance_id: int, context: Mapping[str, Any], until: float) -> Registered:
        if instance_id not in self._known:
            self._known[instance_id] = super().register(link, instance_id, context, until)
        link.workers[instance_id] = self._known[instance_id]
        return self._known[instance_id]


@mp_mutant(
    "mp-registration-remembered",
    stands_for="A flag that says registered, and outlives the server.",
    releases=DATA,
    found_by=("mp.flow.register", "mp.connection.restarted-and-empty", "mp.connection.registered-again"),
)
class RegistersOnce(ReferenceMpClient):
    """Sends the registration of an instance once in its life."""

    def __init__(self) -> None:
        super().__init__()
        self.flow = _RegistersOnce()  # type: ignore[misc]  # a memory for each client


class _Retrying(MpLink):
    def request(self, name: str, payloads: Sequence[Value], until: float) -> Value:
        try:
            return super().request(name, payloads, self.connection.deadline() - self.connection.timeout / 2)
        except ClientError as error:
            if error.kind != "timeout":
                raise
            return super().request(name, payloads, until)


@mp_mutant(
    "mp-silent-requests-sent-again",
    stands_for="A retry around every call: a LOOKUP takes its locks twice, a commit may be taken for another one.",
    found_by=("mp.connection.silence", "mp.misbehaviour.sent-once*"),
)
class Retries(ReferenceMpClient):
    """Sends a request again that was not answered for half of the time."""

    def connect(self, **members: Any) -> Answer:
        """With a connection that asks twice."""
        answer = super().connect(**members)
        plain = self._links[members["connection"]]
        self._links[members["connection"]] = _Retrying(plain.connection, plain.table, plain.codec)
        return answer


class _RetriesCommit(MpFlow):
    def commit_store(self, link: MpLink, payloads: Sequence[Value], until: float) -> bool:
        try:
            return bool(link.request("COMMIT_STORE", payloads, link.connection.deadline() - link.connection.timeout / 2))
        except ClientError:
            return super().commit_store(link, payloads, until)


@mp_mutant(
    "mp-commit-sent-again",
    stands_for="A commit that must not get lost.",
    releases=DATA,
    found_by=("mp.misbehaviour.sent-once[*COMMIT_STORE]",),
)
class RetriesCommit(ReferenceMpClient):
    """Sends a COMMIT_STORE again that was not answered for half of the time."""

    flow = _RetriesCommit()


@mp_mutant(
    "mp-answers-for-the-server",
    stands_for="A client whose health check asks itself.",
    found_by=("mp.flow.control*", "mp.flow.noop*", "mp.connection.silence", "mp.flow.chunk-size*", "mp.flow.ping*"),
)
class AnswersItself(ReferenceMpClient):
    """Answers NOOP, PING and GET_CHUNK_SIZE from its own knowledge."""

    def mp_noop(self, *, connection: str, **_: Any) -> Answer:
        """A text of one's own."""
        self._link(connection)
        return {"text": ""}

    def mp_ping(self, *, connection: str, **_: Any) -> Answer:
        """A guess."""
        self._link(connection)
        return {"alive": False}

    def mp_chunk_size(self, *, connection: str, **_: Any) -> Answer:
        """The default of lmcache."""
        self._link(connection)
        return {"chunk_size": 256}


@mp_mutant(
    "mp-control-sent-twice",
    stands_for="A warm-up request before each request.",
    found_by=("mp.flow.control*",),
)
class ControlTwice(ReferenceMpClient):
    """Sends a NOOP before every operation without key."""

    def _asked(self, connection: str, name: str, payloads: Sequence[Any]) -> Any:
        super()._asked(connection, "NOOP", [])
        return super()._asked(connection, name, payloads)


@mp_mutant(
    "mp-misses-as-empty-chunks",
    stands_for="A miss that is an empty list, which the caller takes for nothing to do.",
    releases=DATA,
    found_by=("mp.misbehaviour.retrieve-refused", "mp.roundtrip.retrieve-without-lookup", "mp.misbehaviour.hits-shrink"),
)
class EmptyForMiss(ReferenceMpClient):
    """Answers a miss as a retrieve of no chunks."""

    def mp_retrieve(self, **members: Any) -> Answer:
        """Nothing in place of a miss."""
        try:
            return super().mp_retrieve(**members)
        except MissError:
            return {"chunks": []}


@mp_mutant(
    "mp-salt-unchecked",
    stands_for="A salt that is handed on unread: the server drops the request, and the caller waits.",
    releases="0.4.4 and later",
    found_by=("mp.flow.forbidden-salt*",),
)
class SaltUnchecked(ReferenceMpClient):
    """Sends salts that no server accepts."""

    def mp_lookup(self, *, connection: str, key: Mapping[str, Any], **members: Any) -> Answer:
        """Send it all the same."""
        try:
            return super().mp_lookup(connection=connection, key=key, **members)
        except ClientError as error:
            if error.kind == "refused" and "cache_salt" in str(error):
                return {"hits": 0}
            raise
