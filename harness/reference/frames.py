"""The pure operations on headers and metadata."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from harness.reference.codec import Codec
from harness.reference.values import description_to_json, key_text, key_to_json, release_of, wire_errors
from wire.lm.frames import Description, Reply, Request
from wire.lm.metadata import Group, RemoteMetadata
from wire.lm.profile import lm_profile

Answer = dict[str, Any]


class FrameOperations:
    """Request headers, reply headers and RemoteMetadata prefixes."""

    codec: ClassVar[Codec] = Codec()

    def encode_request(
        self,
        *,
        release: str,
        command: str,
        key: Mapping[str, Any],
        length: int,
        format: str,  # noqa: A002  # the name of the contract, here and below
        dtype: str | None,
        shape: Sequence[int],
        location: str | None,
        **_: Any,
    ) -> Answer:
        """A request header; refused when a value or the key does not fit."""
        known = release_of(release)
        with wire_errors():
            text = key_text(self.codec, known, key)
            about = Description(length, format, dtype, tuple(shape), location)
            return {"bytes": self.codec.encode_request(lm_profile(known), Request(command, text, about))}

    def decode_request(self, *, release: str, bytes: bytes, **_: Any) -> Answer:  # noqa: A002
        """The members of a request header; the key is read as the real server reads it."""
        known = release_of(release)
        with wire_errors():
            request = self.codec.decode_request(lm_profile(known), bytes)
            key = self.codec.read_key_of_request(known, request.key)
        return {"command": request.command, "key": key_to_json(key), **description_to_json(request.about)}

    def encode_reply(
        self,
        *,
        release: str,
        code: str,
        length: int,
        format: str,  # noqa: A002
        dtype: str | None,
        shape: Sequence[int],
        location: str | None,
        **_: Any,
    ) -> Answer:
        """A reply header."""
        profile = lm_profile(release_of(release))
        with wire_errors():
            about = Description(length, format, dtype, tuple(shape), location)
            return {"bytes": self.codec.encode_reply(profile, Reply(code, about))}

    def decode_reply(self, *, release: str, bytes: bytes, **_: Any) -> Answer:  # noqa: A002
        """The members of a reply header."""
        profile = lm_profile(release_of(release))
        with wire_errors():
            reply = self.codec.decode_reply(profile, bytes)
        return {"code": reply.code, **description_to_json(reply.about)}

    def encode_metadata(
        self,
        *,
        release: str,
        length: int,
        format: str,  # noqa: A002
        groups: Sequence[Mapping[str, Any]],
        **_: Any,
    ) -> Answer:
        """A RemoteMetadata prefix."""
        profile = lm_profile(release_of(release))
        tensors = tuple(Group(group["dtype"], tuple(group["shape"])) for group in groups)
        with wire_errors():
            return {"bytes": self.codec.encode_metadata(profile, RemoteMetadata(length, format, tensors))}

    def decode_metadata(self, *, release: str, bytes: bytes, groups: int, **_: Any) -> Answer:  # noqa: A002
        """The members of a RemoteMetadata prefix."""
        profile = lm_profile(release_of(release))
        with wire_errors():
            found = self.codec.decode_metadata(profile, bytes, groups)
        tensors = [{"dtype": group.dtype, "shape": list(group.shape)} for group in found.groups]
        return {"length": found.length, "format": found.format, "groups": tensors}
