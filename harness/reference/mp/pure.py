"""The pure operations on messages of the multiprocess server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from harness.reference.mp.codec import MpCodec
from harness.reference.mp.errors import table_of, unreadable, unwritable
from wire.mp.values import from_json, to_json

Answer = dict[str, Any]


class MpPureOperations:
    """Frames behind the uid, and object keys."""

    codec: ClassVar[MpCodec] = MpCodec()

    def mp_encode_request(self, *, release: str, operation: str, payloads: Sequence[Any], **_: Any) -> Answer:
        """The frames of a request."""
        table = table_of(release)
        with unwritable():
            return _frames(self.codec.encode_request(table, operation, from_json(payloads)))

    def mp_decode_request(self, *, release: str, frames: Sequence[Mapping[str, str]], **_: Any) -> Answer:
        """A request from its frames."""
        table = table_of(release)
        with unreadable():
            found = self.codec.decode_request(table, _bytes(frames))
            return {"operation": found.operation.name, "payloads": to_json(list(found.payloads))}

    def mp_encode_reply(self, *, release: str, operation: str, result: Any, **_: Any) -> Answer:
        """The frames of a reply."""
        table = table_of(release)
        with unwritable():
            return _frames(self.codec.encode_reply(table, operation, from_json(result)))

    def mp_decode_reply(self, *, release: str, operation: str, frames: Sequence[Mapping[str, str]], **_: Any) -> Answer:
        """The result in the frames of a reply."""
        table = table_of(release)
        with unreadable():
            return {"result": to_json(self.codec.decode_reply(table, operation, _bytes(frames)))}

    def mp_object_keys(
        self, *, release: str, key: Mapping[str, Any], chunk_size: int, group: int, lookup: bool, **_: Any
    ) -> Answer:
        """The objects that a key record means."""
        table = table_of(release)
        with unwritable():
            found = self.codec.object_keys(table.release, from_json(key), chunk_size, group=group, lookup=lookup)
            names = [self.codec.object_key_text(table.release, each) for each in found]
        return {"keys": [to_json(vars(each)) for each in found], "names": names}

    def mp_encode_registration(
        self, *, release: str, wrapper: str, fields: Mapping[str, Any], size: str | None = None, **_: Any
    ) -> Answer:
        """The data of a KV tensor wrapper."""
        table = table_of(release)
        with unwritable():
            return {"bytes": self.codec.encode_registration(table.release, wrapper, fields, size)}


def _frames(frames: Sequence[bytes]) -> Answer:
    return {"frames": [{"hex": frame.hex()} for frame in frames]}


def _bytes(frames: Sequence[Mapping[str, str]]) -> list[bytes]:
    return [bytes.fromhex(frame["hex"]) for frame in frames]
