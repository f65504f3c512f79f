"""Defects in the conversation: what is sent for an operation, and what is read behind a reply."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

from harness.client import ClientError, MissError
from harness.mutants.mutant import mutant
from harness.reference.lm import LmConnection, ReferenceClient
from wire.keys import any_key
from wire.lm.enums import ITEM_SIZES
from wire.lm.frames import Description, header_numbers
from wire.lm.shapes import without_padding

Answer = dict[str, Any]


@mutant(
    "put-waits-for-a-reply",
    stands_for="A protocol in which every request is answered; no release answers a PUT.",
    found_by=("lm.roundtrip.many-puts-before-a-reply",),
)
class WaitsForAReply(ReferenceClient):
    """Reads a reply to a PUT."""

    def put(self, *, connection: str, **members: Any) -> Answer:
        """Stored once the server says so."""
        answer = super().put(connection=connection, **members)
        link = self._connection(connection)
        with link.exchange():
            link.reply()
        return answer


@mutant(
    "put-sent-twice",
    stands_for="A retry that does not wait to see whether it is needed, since no reply would tell.",
    found_by=("lm.request.put-on-the-wire",),
)
class StoresTwice(ReferenceClient):
    """Sends every PUT again, to be sure."""

    def put(self, **members: Any) -> Answer:
        """Twice."""
        super().put(**members)
        return super().put(**members)


@mutant(
    "get-asks-first-whether-it-is-there",
    stands_for="The lookup of lmcache before a load, moved into the client: two round trips, whose answers may differ.",
    found_by=("lm.request.get-on-the-wire",),
)
class AsksFirst(ReferenceClient):
    """Sends an EXIST before every GET."""

    def get(self, *, connection: str, key: Mapping[str, Any], expect: Mapping[str, Any], **members: Any) -> Answer:
        """Once it is known to be there."""
        if not self.exist(connection=connection, key=key)["exists"]:
            raise MissError
        return super().get(connection=connection, key=key, expect=expect, **members)


@mutant(
    "health-asked-at-connect",
    stands_for="A connect that makes sure of the server, and with it a request that nobody asked for on each connection.",
    found_by=("lm.request.*-on-the-wire",),
)
class AsksForHealth(ReferenceClient):
    """Sends a HEALTH when it has connected."""

    def connect(self, *, connection: str, **members: Any) -> Answer:
        """And see whether it is well."""
        answer = super().connect(connection=connection, **members)
        try:
            self.health(connection=connection)
        except ClientError:
            self.close(connection=connection)
            raise
        return answer


@mutant(
    "put-confirmed-by-an-exist",
    stands_for="A put that makes sure that it has arrived, since no reply would tell: it doubles the round trips of every store.",
    found_by=("lm.request.put-on-the-wire",),
)
class ConfirmsPuts(ReferenceClient):
    """Sends an EXIST after every PUT."""

    def put(self, *, connection: str, key: Mapping[str, Any], **members: Any) -> Answer:
        """And see whether it is there."""
        answer = super().put(connection=connection, key=key, **members)
        self.exist(connection=connection, key=key)
        return answer


@mutant(
    "put-sent-again-elsewhere",
    stands_for="The reconnects proposed for LMCache #3565, which replay a whole request: what it interrupted is to be an error.",
    found_by=("lm.connection.interrupted-put-is-not-sent-again",),
)
class StoresElsewhere(ReferenceClient):
    """Sends a PUT that was cut off again, on a new connection."""

    def put(self, **members: Any) -> Answer:
        """Twice if need be."""
        try:
            return super().put(**members)
        except ClientError as error:
            if error.kind != "connection":
                raise
            return super().put(**members)


class _LengthInElements(LmConnection):
    def request(self, command: str, key: str, about: Description | None = None) -> bytes:
        if about is None:
            return super().request(command, key)
        size = ITEM_SIZES.get(about.dtype or "uint8", 1)
        return super().request(
            command, key, Description(about.length // size, about.format, about.dtype, about.shape, about.location)
        )


@mutant(
    "put-length-in-elements",
    stands_for="numel() where nbytes was meant: the server takes what is left of the payload for the next request.",
    found_by=("lm.request.put-on-the-wire", "lm.roundtrip.formats", "lm.roundtrip.dtypes"),
)
class LengthInElements(ReferenceClient):
    """Announces a payload by its number of elements."""

    connection_class = _LengthInElements


@mutant(
    "put-without-the-last-byte",
    stands_for="A payload cut to whole words, or a size computed from a shape that was rounded down.",
    found_by=("lm.roundtrip.sizes", "lm.roundtrip.overwrite", "lm.request.put-on-the-wire"),
)
class LosesTheLastByte(ReferenceClient):
    """Stores zero for the last byte of a payload."""

    def put(self, *, payload: bytes, **members: Any) -> Answer:
        """All but one."""
        return super().put(payload=payload[:-1] + bytes(min(1, len(payload))), **members)


@mutant(
    "put-of-nothing-skipped",
    stands_for="if (!payload.empty()): a value of no bytes is a value, and its key is looked for.",
    found_by=("lm.roundtrip.sizes",),
)
class SkipsNothing(ReferenceClient):
    """Sends no PUT for an empty payload."""

    def put(self, *, payload: bytes, **members: Any) -> Answer:
        """If there is anything to store."""
        return super().put(payload=payload, **members) if payload else {}


class _DescribesPayload(LmConnection):
    def request(self, command: str, key: str, about: Description | None = None) -> bytes:
        whole = Description(1, "KV_2LTD", "float16", (1, 0, 0, 0))
        return super().request(command, key, about if about is not None else whole)


@mutant(
    "get-describes-what-it-wants",
    stands_for="The length that is expected, sent with a GET: servers ignore it, and proxies in between read a payload.",
    found_by=("lm.request.get-on-the-wire", "lm.request.exist-on-the-wire", "lm.request.health-on-the-wire"),
)
class DescribesPayload(ReferenceClient):
    """Describes a payload in requests that have none."""

    connection_class = _DescribesPayload


@mutant(
    "exist-by-get",
    stands_for="One call for both: a lookup then moves every byte that it only asks for.",
    found_by=("lm.request.exist-on-the-wire",),
)
class ExistsByGet(ReferenceClient):
    """Fetches a value to see whether it is there."""

    def exist(self, *, connection: str, key: Mapping[str, Any], **_: Any) -> Answer:
        """With a GET."""
        link = self._connection(connection)
        with link.exchange():
            link.send(link.request("GET", self._key(link, key)))
            reply = link.reply()
            link.receive(reply.about.length)
            return {"exists": reply.code == "SUCCESS"}


@mutant(
    "exist-reads-a-payload",
    stands_for="One function for all replies, which reads the length that the header announces.",
    found_by=("lm.broken.exist-reads-no-payload",),
)
class ExistReadsLength(ReferenceClient):
    """Reads behind the reply to an EXIST what its header announces."""

    def exist(self, *, connection: str, key: Mapping[str, Any], **_: Any) -> Answer:
        """With whatever follows."""
        link = self._connection(connection)
        with link.exchange():
            link.send(link.request("EXIST", self._key(link, key)))
            reply = link.reply()
            link.receive(reply.about.length)
            return {"exists": reply.code == "SUCCESS"}


@mutant(
    "exist-allocates-by-shape",
    stands_for="lmcache's own client allocates by shape and dtype, not by length; for an EXIST neither means anything.",
    found_by=("lm.broken.exist-reads-no-payload",),
)
class ExistReadsShape(ReferenceClient):
    """Reads behind the reply to an EXIST as much as its shape amounts to."""

    def exist(self, *, connection: str, key: Mapping[str, Any], **_: Any) -> Answer:
        """With as much as fits the shape."""
        link = self._connection(connection)
        with link.exchange():
            link.send(link.request("EXIST", self._key(link, key)))
            reply = link.reply()
            if any(reply.about.shape):
                link.receive(2 * max(without_padding(reply.about.shape)))
            return {"exists": reply.code == "SUCCESS"}


@mutant(
    "exist-always-false",
    stands_for="A lookup that was never finished: all works, and nothing is ever found.",
    found_by=("lm.roundtrip.exist", "lm.roundtrip.many-puts-before-a-reply", "lm.segments.slow-reply"),
)
class NeverExists(ReferenceClient):
    """Finds nothing."""

    def exist(self, **members: Any) -> Answer:
        """Asks, and answers no."""
        super().exist(**members)
        return {"exists": False}


@mutant(
    "get-reads-behind-a-miss",
    stands_for="A payload read before the code is looked at: behind a miss there is none, and the client waits.",
    found_by=("lm.roundtrip.miss", "lm.broken.miss-with-a-length"),
)
class ReadsBehindAMiss(ReferenceClient):
    """Reads a payload behind a miss."""

    def get(self, *, connection: str, key: Mapping[str, Any], expect: Mapping[str, Any], **members: Any) -> Answer:
        """With a payload in any case."""
        link = self._connection(connection)
        with link.exchange():
            link.send(link.request("GET", self._key(link, key)))
            reply = link.reply()
            size = self._expected_size(link, expect)
            payload = link.receive(size)
            if reply.code != "SUCCESS":
                raise ClientError("protocol", "a miss")
            self._check_expected(link, reply.about, expect, size)
        del members
        about = reply.about
        return {"payload": payload, "format": about.format, "dtype": about.dtype, "shape": list(about.shape)}


@mutant(
    "miss-length-believed",
    stands_for="The length of a header read whatever its code: behind a miss nothing comes.",
    found_by=("lm.broken.miss-with-a-length",),
)
class BelievesTheLength(ReferenceClient):
    """Reads behind a miss as many bytes as its header announces."""

    def get(self, *, connection: str, **members: Any) -> Answer:
        """As for a hit."""
        link = self._connection(connection)
        before = link.reply

        def reply() -> Any:
            found = before()
            if found.code != "SUCCESS":
                link.receive(found.about.length)
            return found

        link.reply = reply  # type: ignore[method-assign]
        try:
            return super().get(connection=connection, **members)
        finally:
            with contextlib.suppress(AttributeError):
                del link.reply


@mutant(
    "health-by-connecting",
    stands_for="A check that a port is open: a server whose threads are all stuck passes it.",
    found_by=("lm.request.health-on-the-wire", "lm.broken.health-breaks-off", "lm.broken.health-code-is-not-success"),
)
class HealthyByConnecting(ReferenceClient):
    """Takes an open connection for a healthy server and asks nothing."""

    def health(self, *, connection: str, **_: Any) -> Answer:
        """If there is a socket."""
        with self._connection(connection).exchange():
            return {"healthy": True}


@mutant(
    "health-whatever-comes",
    stands_for="Any reply taken for a good one: the code is what says so.",
    found_by=("lm.broken.health-code-is-not-success",),
)
class HealthyWhateverComes(ReferenceClient):
    """Takes any answer to HEALTH for a good one."""

    def health(self, *, connection: str, **_: Any) -> Answer:
        """If there is an answer."""
        link = self._connection(connection)
        with link.exchange():
            link.send(link.request("HEALTH", any_key(link.release)))
            header_numbers(link.profile.header.reply, link.receive(link.profile.header.reply_size))
            return {"healthy": True}


@mutant(
    "health-without-a-key",
    stands_for="A request about no key with an empty one: servers parse it all the same, and close the connection.",
    found_by=("lm.roundtrip.health",),
)
class HealthWithoutAKey(ReferenceClient):
    """Leaves the key of a HEALTH blank."""

    def health(self, *, connection: str, **_: Any) -> Answer:
        """With no key."""
        link = self._connection(connection)
        with link.exchange():
            link.send(link.request("HEALTH", ""))
            return {"healthy": link.bare_reply()}


@mutant(
    "list-given-up-at-once",
    stands_for="An operation known to hang, answered from memory: a server that one day answers would not be heard.",
    found_by=("lm.roundtrip.list-is-never-answered",),
)
class GivesUpListAtOnce(ReferenceClient):
    """Does not wait for the answer to LIST."""

    def list(self, **_: Any) -> Answer:
        """Sends nothing."""
        raise ClientError("timeout", "LIST is never answered anyway")


@mutant(
    "list-is-empty",
    stands_for="A timeout taken for an empty answer.",
    found_by=("lm.roundtrip.list-is-never-answered",),
)
class ListsNothing(ReferenceClient):
    """Answers an empty list when none comes."""

    def list(self, **members: Any) -> Answer:
        """No keys."""
        try:
            return super().list(**members)
        except ClientError as error:
            if error.kind == "timeout":
                return {"keys": []}
            raise


@mutant(
    "long-key-sent-anyway",
    stands_for="A length check after the fact: the header is a few bytes too long, and those bytes begin the next request.",
    found_by=("lm.request.long-key-is-not-sent",),
)
class SendsLongKeys(ReferenceClient):
    """Sends a key that is longer than its field."""

    def exist(self, *, connection: str, key: Mapping[str, Any], **members: Any) -> Answer:
        """With a header as long as it takes."""
        link = self._connection(connection)
        text = self._key(link, key).encode()
        if len(text) <= 150:
            return super().exist(connection=connection, key=key, **members)
        with link.exchange():
            link.send(link.request("EXIST", "")[:-150] + text)
            return {"exists": link.bare_reply()}


@mutant(
    "value-cached-by-hash",
    stands_for="A cache inside the client by chunk hash alone, in front of a store whose keys say more.",
    found_by=("lm.identity.other-key", "lm.identity.other-model"),
)
class CachesByHash(ReferenceClient):
    """Gives out what it stored itself, by the hash of its key."""

    def __init__(self) -> None:
        super().__init__()
        self._kept: dict[str, Answer] = {}

    def put(self, *, key: Mapping[str, Any], payload: bytes, shape: Sequence[int], **members: Any) -> Answer:
        """And keep it."""
        kept = {"payload": payload, "format": members["format"], "dtype": members["dtype"], "shape": list(shape)}
        self._kept.setdefault(str(key["chunk_hash"]), kept)
        return super().put(key=key, payload=payload, shape=shape, **members)

    def get(self, *, key: Mapping[str, Any], **members: Any) -> Answer:
        """From memory if possible."""
        kept = self._kept.get(str(key["chunk_hash"]))
        return kept if kept is not None else super().get(key=key, **members)
