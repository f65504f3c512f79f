"""Defects of a server in what it keeps: seeded into the reference server, for the cases of runs that judge servers."""

from __future__ import annotations

import time
from collections import OrderedDict
from dataclasses import replace
from typing import Any, ClassVar

from harness.mutants.mutant import server_mutant
from harness.reference.servers.lm import NamedStore, RobustReplies, RobustServer, RobustSession
from mockserver.buffers import Buffer
from mockserver.endings import ConnectionEndedError, Ending
from mockserver.faults.outgoing import Outgoing
from mockserver.lm.requests import ServerRequest
from mockserver.records import RunningExchange
from mockserver.store import Store, StoredValue
from wire.errors import DecodeError
from wire.keys import CacheKey, any_key
from wire.lm.frames import Description, header_numbers, replace_field
from wire.lm.profile import KEY_FIELD_SIZE
from wire.release import Release


class _Keeps(RobustSession):
    """Stores something for a PUT of which only a part came."""

    pads: ClassVar[bool] = False
    """The part with zeros behind it, or else nothing under the key."""
    after_reset: ClassVar[bool] = False
    """When the connection is reset, or else when it ends in an orderly way."""

    def _receive(self, exchange: RunningExchange, request: ServerRequest) -> Ending | None:
        if self.refusal(request) is not None:
            return super()._receive(exchange, request)
        buffer = self.room(request.about.length)
        try:
            arrived = self._connection.read_into(buffer)
        except ConnectionEndedError:
            if self.after_reset:
                self._keep_part(request, buffer)
            raise
        if arrived < len(buffer):
            if not self.after_reset:
                self._keep_part(request, buffer)
            return Ending("cut payload", f"{arrived} of {len(buffer)} bytes")
        self.keep(request, buffer.toreadonly())
        return None

    def _keep_part(self, request: ServerRequest, buffer: memoryview) -> None:
        data = buffer.toreadonly() if self.pads else None
        self._desk.store.put(request.key, StoredValue(data, request.about))


@server_mutant(
    "better-server-keeps-key-of-cut-put",
    runs="server",
    stands_for="What the real server does: a payload that ends early is stored as nothing.",
    found_by=("servers.hostile.refused[*payload-close*]", "servers.hostile.refused[*no-payload*]"),
)
class KeepsKeyOfCutPut(RobustServer):
    """Stores a key without a value for a PUT that was cut."""

    session_class = _Keeps


class _Pads(_Keeps):
    pads = True


@server_mutant(
    "better-server-pads-cut-put",
    runs="server",
    stands_for="A buffer of the announced size that goes into the store however much of it was filled.",
    found_by=("servers.hostile.refused[*payload-close*]",),
)
class PadsCutPut(RobustServer):
    """Stores what came of a PUT that was cut, with zeros behind it."""

    session_class = _Pads


class _PadsAfterReset(_Pads):
    after_reset = True


@server_mutant(
    "better-server-keeps-half-after-reset",
    runs="server",
    stands_for="An error handler that saves what there is.",
    found_by=("servers.hostile.others-are-served[*payload-reset*]", "servers.captured.demanded[*reset-in-payload*]"),
)
class KeepsHalfAfterReset(RobustServer):
    """Stores half a value when the connection of its PUT is reset."""

    session_class = _PadsAfterReset


class _ForgetfulStore(NamedStore):
    def forget(self, key: CacheKey) -> None:
        with self._lock:
            self._values.pop(key, None)


class _ForgetsFirst(RobustSession):
    def refusal(self, request: ServerRequest) -> str | None:
        store = self._desk.store
        if isinstance(store, _ForgetfulStore):
            store.forget(request.key)
        return super().refusal(request)


@server_mutant(
    "better-server-forgets-old-value-first",
    runs="server",
    stands_for="Room is made for the new value before it is there.",
    found_by=(
        "servers.hostile.others-are-served[*payload-stalls*]",
        "servers.hostile.refused[*payload-close*]",
        "servers.hostile.refused[*less-than-nothing*]",
    ),
)
class ForgetsOldValueFirst(RobustServer):
    """Drops the older value of a key when a PUT of it begins."""

    session_class = _ForgetsFirst

    def __init__(self, release: str | Release, **more: Any) -> None:
        super().__init__(release, **{"store": _ForgetfulStore(), **more})


class _NegativeIsEmpty(RobustSession):
    def refusal(self, request: ServerRequest) -> str | None:
        return None if request.about.length < 0 else super().refusal(request)

    def room(self, size: int) -> memoryview:
        """None for less than nothing."""
        return super().room(max(0, size))


@server_mutant(
    "better-server-takes-negative-lengths",
    runs="server",
    stands_for="What the real server does: a loop that ends when nothing is left to read.",
    found_by=("servers.hostile.refused[*less-than-nothing*]",),
)
class TakesNegativeLengths(RobustServer):
    """Stores an empty value for a PUT of negative length."""

    session_class = _NegativeIsEmpty


class _KeepsVersions(NamedStore):
    def __init__(self) -> None:
        super().__init__()
        self._old: list[StoredValue] = []

    def put(self, key: CacheKey, value: StoredValue) -> None:
        self._old.append(value)
        super().put(key, value)


@server_mutant(
    "better-server-keeps-replaced-values",
    runs="server",
    stands_for="An append-only log that nobody compacts.",
    found_by=("servers.better.replaced-values-leave",),
)
class KeepsReplacedValues(RobustServer):
    """Keeps the memory of values that were replaced."""

    def __init__(self, release: str | Release, **more: Any) -> None:
        super().__init__(release, **{"store": _KeepsVersions(), **more})


class _Evicts(NamedStore):
    def put(self, key: CacheKey, value: StoredValue) -> None:
        super().put(key, value)
        with self._lock:
            while len(self._values) > 1000:
                self._values.pop(next(iter(OrderedDict.fromkeys(self._values))))


@server_mutant(
    "better-server-keeps-a-thousand-keys",
    runs="server",
    stands_for="A limit of entries that is left from a test.",
    found_by=("servers.wire.many-keys",),
)
class KeepsAThousandKeys(RobustServer):
    """Drops the oldest value when there are more than a thousand."""

    def __init__(self, release: str | Release, **more: Any) -> None:
        super().__init__(release, **{"store": _Evicts(), **more})


class _Reuses(NamedStore):
    def put(self, key: CacheKey, value: StoredValue) -> None:
        old = self.get(key)
        if value.data is None or old is None or old.data is None or len(old.data) != len(value.data):
            data = None if value.data is None else memoryview(bytearray(value.data))
            super().put(key, StoredValue(data, value.about))
            return
        assert isinstance(old.data, memoryview)
        old.data[:] = value.data
        super().put(key, StoredValue(old.data, value.about))


@server_mutant(
    "better-server-reuses-memory",
    runs="server",
    stands_for="Memory that was made for a key once and takes each value that fits, also while the older one is being sent.",
    found_by=("servers.concurrency.values-under-way-stay-whole",),
)
class ReusesMemory(RobustServer):
    """Writes a value of the same length over the one that the key has."""

    def __init__(self, release: str | Release, **more: Any) -> None:
        super().__init__(release, **{"store": _Reuses(), **more})


class _ShortValuesOnly(RobustSession):
    longest = 32 << 20


@server_mutant(
    "better-server-takes-32-mib",
    runs="server",
    stands_for="A limit for messages that a framework comes with.",
    found_by=("servers.wire.a-long-value",),
)
class Takes32MiB(RobustServer):
    """Ends the connection of a PUT of more than 32 MiB."""

    session_class = _ShortValuesOnly


class _FillsAtOnce(RobustSession):
    longest = (1 << 31) - 1

    def room(self, size: int) -> memoryview:
        """Memory of which a good part is there at once."""
        buffer = super().room(size)
        for place in range(0, min(size, 40 << 20), 4096):
            buffer[place] = 1
        return buffer


@server_mutant(
    "better-server-fills-claimed-memory",
    runs="server",
    stands_for="A vector that is resized, and thereby filled, to the length in the header.",
    found_by=("servers.better.claims-cost-nothing",),
)
class FillsClaimedMemory(RobustServer):
    """Takes memory for the length that a header claims."""

    session_class = _FillsAtOnce


class _TextKeys(RobustServer):
    """Makes keys of the text in the field."""

    def text_of(self, raw: bytes) -> str:
        """The text of a key field."""
        return raw.decode(errors="replace").rstrip(" ")

    def read_request(self, header: bytes) -> ServerRequest:
        """The request, with the text for its key."""
        plain = any_key(self.release).encode().ljust(KEY_FIELD_SIZE)
        found = super().read_request(header[:-KEY_FIELD_SIZE] + plain)
        text = self.text_of(header[-KEY_FIELD_SIZE:])
        return replace(found, key=CacheKey(text, 0, 0, ""), key_text=text)


@server_mutant(
    "better-server-key-as-text",
    runs="server",
    stands_for="A map from strings, with whatever stands in the field.",
    found_by=("servers.captured.understood[*spelling*]", "servers.captured.understood[*key-newline*]"),
)
class KeyAsText(_TextKeys):
    """Keeps values under the text of their keys, whatever it is."""


@server_mutant(
    "better-server-key-of-100-bytes",
    runs="server",
    stands_for="A fixed array for the name of a file.",
    found_by=("servers.wire.the-whole-key-counts",),
)
class KeyOf100Bytes(_TextKeys):
    """Keeps values under the first 100 bytes of their keys."""

    def text_of(self, raw: bytes) -> str:
        """The beginning alone."""
        return super().text_of(raw[:100])


@server_mutant(
    "better-server-hash-as-a-double",
    runs="server",
    stands_for="A hash that is read as a number in a language whose numbers are doubles.",
    found_by=("servers.wire.nearly-the-same-key",),
)
class HashAsADouble(RobustServer):
    """Rounds the hash of a key to 53 bits."""

    def read_request(self, header: bytes) -> ServerRequest:
        """The request, with another hash where it is long."""
        found = super().read_request(header)
        given = found.key.chunk_hash
        return replace(found, key=replace(found.key, chunk_hash=int(float(given)))) if isinstance(given, int) else found


@server_mutant(
    "better-server-folds-file-names",
    runs="server",
    stands_for="A file for each value, under a name in which letters that may not be in it are replaced.",
    found_by=("servers.wire.nearly-the-same-key",),
)
class FoldsFileNames(_TextKeys):
    """Takes a slash in a key for an underscore."""

    def text_of(self, raw: bytes) -> str:
        """The name of the file."""
        return super().text_of(raw).replace("/", "_")


@server_mutant(
    "better-server-numbers-unchecked",
    runs="server",
    stands_for="A description that is stored as it came and given back to whoever asks.",
    found_by=(
        "servers.hostile.others-are-served[*bad-dtype*]",
        "servers.hostile.others-are-served[*bad-format*]",
        "servers.hostile.others-are-served[*bad-location*]",
    ),
)
class NumbersUnchecked(RobustServer):
    """Stores a value whose dtype, format or location stands for nothing."""

    def read_request(self, header: bytes) -> ServerRequest:
        """With 0 for what stands for nothing."""
        fields = self.profile.header.request
        highest = {"dtype": 8, "location": 2, "format": self.profile.highest_format}
        for name, value in header_numbers(fields, header).items():
            if name in highest and not 0 <= value <= highest[name]:
                header = replace_field(fields, header, name, 0)
        return super().read_request(header)


@server_mutant(
    "better-server-compares-length-and-shape",
    runs="server",
    stands_for="A check of what clients say against itself, which values that are compressed do not pass.",
    found_by=("servers.captured.demanded[*length-disagrees-with-shape*]", "servers.wire.programs"),
)
class ComparesLengthAndShape(RobustServer):
    """Refuses a PUT whose length is not what its shape amounts to."""

    def read_request(self, header: bytes) -> ServerRequest:
        """If length and shape agree."""
        found = super().read_request(header)
        if found.command == "PUT" and not _agree(found.about):
            raise DecodeError(f"{found.about.length} bytes are not {list(found.about.shape)}")
        return found


def _agree(about: Description) -> bool:
    size = 1
    for dim in about.shape:
        size *= max(dim, 1)
    return about.length % size == 0


class _EchoesNumber(RobustReplies):
    def _get(self, request: ServerRequest, store: Store) -> Outgoing:
        out = super()._get(request, store)
        value = store.get(request.key)
        if value is not None and value.about.dtype == "float16" and len(out.body):
            return replace(out, header=replace_field(self._profile.header.reply, out.header, "dtype", 1))
        return out


@server_mutant(
    "better-server-gives-back-half",
    runs="server",
    stands_for="One of two numbers for the same type.",
    found_by=("servers.captured.understood[*echo-dtype-half*]", "servers.captured.demanded[*echo-dtype-float16*]"),
)
class GivesBackHalf(RobustServer):
    """Answers 1 for float16."""

    replies_class = _EchoesNumber


class _Late(RobustSession):
    def keep(self, request: ServerRequest, data: Buffer) -> None:
        time.sleep(0.02)
        super().keep(request, data)


class _AnswersBeforeItKeeps(RobustReplies):
    def answer(self, request: ServerRequest, store: Store) -> Outgoing:
        """The reply; an EXIST is answered with yes while it is not known."""
        if request.command == "EXIST":
            return self._yes
        return super().answer(request, store)


@server_mutant(
    "better-server-says-yes",
    runs="server",
    stands_for="A filter without false negatives in place of the index.",
    found_by=("servers.captured.demanded[*exist-miss*]", "servers.hostile.others-are-served"),
)
class SaysYes(RobustServer):
    """Answers every EXIST with yes."""

    replies_class = _AnswersBeforeItKeeps
    session_class = _Late
