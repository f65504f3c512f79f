"""The pure operations on headers and metadata."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harness.reference.values import description_to_json, key_text, key_to_json, release_of, wire_errors
from wire.keys import parse_key_as_server
from wire.lm.frames import Description, Reply, Request, decode_reply, decode_request, encode_reply, encode_request
from wire.lm.metadata import Group, RemoteMetadata, decode_metadata, encode_metadata
from wire.lm.profile import lm_profile

Answer = dict[str, Any]


class FrameOperations:
    """Request headers, reply headers and RemoteMetadata prefixes."""

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
            text = key_text(known, key)
            about = Description(length, format, dtype, tuple(shape), location)
            return {"bytes": encode_request(lm_profile(known), Request(command, text, about))}

    def decode_request(self, *, release: str, bytes: bytes, **_: Any) -> Answer:  # noqa: A002
        """The members of a request header; the key is read as the real server reads it."""
        known = release_of(release)
        with wire_errors():
            request = decode_request(lm_profile(known), bytes)
            key = parse_key_as_server(known, request.key)
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
            return {"bytes": encode_reply(profile, Reply(code, about))}

    def decode_reply(self, *, release: str, bytes: bytes, **_: Any) -> Answer:  # noqa: A002
        """The members of a reply header."""
        profile = lm_profile(release_of(release))
        with wire_errors():
            reply = decode_reply(profile, bytes)
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
            return {"bytes": encode_metadata(profile, RemoteMetadata(length, format, tensors))}

    def decode_metadata(self, *, release: str, bytes: bytes, groups: int, **_: Any) -> Answer:  # noqa: A002
        """The members of a RemoteMetadata prefix."""
        profile = lm_profile(release_of(release))
        with wire_errors():
            found = decode_metadata(profile, bytes, groups)
        tensors = [{"dtype": group.dtype, "shape": list(group.shape)} for group in found.groups]
        return {"length": found.length, "format": found.format, "groups": tensors}
