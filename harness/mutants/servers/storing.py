"""Defects in what a server keeps, and under which key."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from harness.mutants.mutant import server_mutant
from harness.mutants.servers.replying import other_replies
from mockserver.buffers import writable
from mockserver.endings import ConnectionEndedError, Ending
from mockserver.faults.outgoing import Outgoing
from mockserver.lm import LmServer
from mockserver.lm.requests import ServerRequest, read_request
from mockserver.lm.session import Session
from mockserver.records import RunningExchange
from mockserver.store import Store, StoredValue
from wire.errors import DecodeError
from wire.keys import KEY_GRAMMARS, CacheKey
from wire.lm.frames import Reply, encode_reply, header_numbers, replace_field
from wire.lm.profile import KEY_FIELD_SIZE, LmProfile


class _NotCut(Session):
    def _receive(self, exchange: RunningExchange, request: ServerRequest) -> Ending | None:
        size = max(0, request.about.length)
        buffer = writable(size)
        arrived = self._connection.read_into(buffer)
        if arrived < size:
            return Ending("cut payload", f"{arrived} of {size} bytes")
        self._desk.store.put(request.key, StoredValue(buffer.toreadonly(), request.about))
        exchange.received = self._desk.journal.see_payload(buffer.toreadonly())
        return None


@server_mutant("server-drops-cut-put", stands_for="What anybody would do: the real server keeps a key without a value.")
class DropsCutPut(LmServer):
    """Stores nothing of a PUT that is cut off."""

    session_class = _NotCut


class _ResetStores(Session):
    def _receive(self, exchange: RunningExchange, request: ServerRequest) -> Ending | None:
        try:
            return super()._receive(exchange, request)
        except ConnectionEndedError:
            self._desk.store.put(request.key, StoredValue(None, request.about))
            raise


@server_mutant("server-keeps-reset-put", stands_for="A reset taken for an end of stream.")
class KeepsResetPut(LmServer):
    """Stores a key without a value for a PUT whose connection was reset."""

    session_class = _ResetStores


class _FirstPut(Session):
    def _receive(self, exchange: RunningExchange, request: ServerRequest) -> Ending | None:
        known = self._desk.store.get(request.key)
        ending = super()._receive(exchange, request)
        if known is not None:
            self._desk.store.put(request.key, known)
        return ending


@server_mutant("server-drops-second-put", stands_for="Put if absent: a cache of values that never change under a key.")
class DropsSecondPut(LmServer):
    """Keeps the first value of a key."""

    session_class = _FirstPut


class _NothingEmpty(Session):
    def _receive(self, exchange: RunningExchange, request: ServerRequest) -> Ending | None:
        return super()._receive(exchange, request) if request.about.length > 0 else None


@server_mutant("server-drops-empty-put", stands_for="A payload of no bytes taken for none.")
class DropsEmptyPut(LmServer):
    """Stores no value of no bytes."""

    session_class = _NothingEmpty


class _OwnStore(Session):
    def run(self) -> None:
        self._desk = replace(self._desk, store=Store())
        super().run()


@server_mutant("server-store-per-connection", stands_for="State in the handler of a connection.")
class StorePerConnection(LmServer):
    """Forgets the values of a connection with it."""

    session_class = _OwnStore


def _kept_location(profile: LmProfile, request: ServerRequest, out: Outgoing, store: Store) -> Outgoing:
    value = store.get(request.key)
    if request.command != "GET" or value is None:
        return out
    return replace(out, header=encode_reply(profile, Reply("SUCCESS", value.about)))


@server_mutant(
    "server-keeps-location",
    stands_for="A field that is sent, and therefore kept: no real server gives it back.",
    releases="0.3.3 and later",
)
class KeepsLocation(LmServer):
    """Gives back the location of a PUT."""

    replies_class = other_replies(_kept_location)

    def read_request(self, header: bytes) -> ServerRequest:
        """With its location."""
        found = super().read_request(header)
        number = header_numbers(self.profile.header.request, header)["location"]
        names = (None, "LocalCPUBackend", "LocalDiskBackend")
        return replace(found, about=replace(found.about, location=names[number]))


def _same_key(change: Callable[[CacheKey], CacheKey]) -> type[LmServer]:
    class Other(LmServer):
        """Takes keys for others."""

        def read_request(self, header: bytes) -> ServerRequest:
            """Under the changed key."""
            found = super().read_request(header)
            return replace(found, key=change(found.key))

    return Other


@server_mutant("server-key-by-hash-alone", stands_for="A store of chunks by their hash.")
class ByHashAlone(_same_key(lambda key: CacheKey("", 0, 0, key.chunk_hash))):  # type: ignore[misc]  # a class made on the spot
    """Keeps values under the chunk hash alone."""


@server_mutant("server-key-without-hash", stands_for="A hash field looked for in the wrong place.")
class WithoutHash(_same_key(lambda key: replace(key, chunk_hash=""))):  # type: ignore[misc]
    """Keeps values under everything but the hash."""


@server_mutant(
    "server-tags-in-any-order",
    stands_for="Tags in a set or a map.",
    releases="0.3.4 and later",
)
class TagsInAnyOrder(_same_key(lambda key: replace(key, tags=tuple(sorted(key.tags))))):  # type: ignore[misc]
    """Takes keys for the same whose tags are."""


class _OtherKeys(LmServer):
    """Makes a key of the text of its field in another way."""

    def key_of(self, text: str) -> CacheKey:
        """The key of a text."""
        return CacheKey(text, 0, 0, "")

    def read_request(self, header: bytes) -> ServerRequest:
        """The request, with a key made in another way."""
        from wire.keys import any_key

        plain = any_key(self.release).encode().ljust(KEY_FIELD_SIZE)
        found = read_request(self.profile, header[:-KEY_FIELD_SIZE] + plain)
        text = header[-KEY_FIELD_SIZE:].decode(errors="replace")
        return replace(found, key=self.key_of(text), key_text=text.strip())


@server_mutant(
    "server-key-as-text",
    stands_for="A map from strings: the real server parses keys.",
)
class KeyAsText(_OtherKeys):
    """Keeps values under the text of their keys, whatever it is."""


@server_mutant("server-key-spelled-one-way", stands_for="A pattern for keys that allows what clients of today write.")
class SpelledOneWay(_OtherKeys):
    """Refuses every spelling of a key but that of a writer."""

    def key_of(self, text: str) -> CacheKey:
        """The key, if it is spelled as a writer would."""
        from wire.errors import EncodeError
        from wire.keys import format_key, parse_key_as_server

        found = parse_key_as_server(self.release, text)
        try:
            right = format_key(self.release, found)
        except EncodeError as error:
            raise DecodeError(str(error)) from None
        if right != text.rstrip(" ") and KEY_GRAMMARS[self.release].hash_style != "decimal-read-as-hex":
            raise DecodeError(f"{text!r} is not spelled {right!r}")
        return found


class _Unchecked(LmServer):
    """Takes every number for something."""

    def read_request(self, header: bytes) -> ServerRequest:
        """With what it does not know replaced."""
        fields = self.profile.header.request
        highest = {"command": 5, "dtype": 8, "location": 2, "format": self.profile.highest_format}
        for name, value in header_numbers(fields, header).items():
            if name in highest and not 0 <= value <= highest[name]:
                header = replace_field(fields, header, name, 0)
            elif name == "command" and value == 0:
                header = replace_field(fields, header, name, 5)
        if header_numbers(fields, header)["command"] == 0:
            header = replace_field(fields, header, "command", 5)
        return super().read_request(header)


@server_mutant("server-numbers-unchecked", stands_for="Casts of integers to enums.")
class NumbersUnchecked(_Unchecked):
    """Answers requests whose numbers stand for nothing."""


@server_mutant("server-checks-length", stands_for="A check that length and shape agree, which no real server makes.")
class ChecksLength(LmServer):
    """Refuses a PUT whose length is negative or not what its shape amounts to."""

    def read_request(self, header: bytes) -> ServerRequest:
        """If the description is consistent."""
        found = super().read_request(header)
        about = found.about
        size = 1
        for dim in about.shape:
            size *= max(dim, 1)
        if found.command == "PUT" and (about.length < 0 or size != about.length):
            raise DecodeError(f"{about.length} bytes are not {list(about.shape)}")
        return found


def _half_echoed(profile: LmProfile, request: ServerRequest, out: Outgoing, store: Store) -> Outgoing:
    value = store.get(request.key)
    if request.command == "GET" and value is not None and value.about.dtype == "float16" and len(out.body):
        return replace(out, header=replace_field(profile.header.reply, out.header, "dtype", 1))
    return out


@server_mutant("server-echoes-half", stands_for="The number kept instead of the type: 1 and 2 are one type.")
class EchoesHalf(LmServer):
    """Answers 1 for float16."""

    replies_class = other_replies(_half_echoed)
