"""Defects in the blobs that carry KV tensors of an engine to the multiprocess server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.mutants.mutant import mp_mutant
from harness.reference.mp.client import ReferenceMpClient
from harness.reference.mp.codec import MpCodec
from wire.mp.registration import WrapperRefused, encode_registration
from wire.release import Release

CAPTURED = ("mp_encode_registration",)


class _AnotherDtype(MpCodec):
    def encode_registration(self, release: Release, wrapper: str, fields: Mapping[str, Any], size: str | None) -> bytes:
        return super().encode_registration(release, wrapper, _with_other_dtype(fields), size)


def _with_other_dtype(value: Any) -> Any:
    """Every element type another one."""
    if isinstance(value, Mapping):
        return {name: ("float32" if name == "dtype" else _with_other_dtype(member)) for name, member in value.items()}
    return [_with_other_dtype(member) for member in value] if isinstance(value, list) else value


@mp_mutant(
    "mp-tensors-of-float32",
    stands_for="A dtype that is read from the model's configuration, not from its cache.",
    found_by=("mp.registration.*",),
    captured=CAPTURED,
)
class AnotherDtype(ReferenceMpClient):
    """Registers every tensor as one of float32."""

    codec = _AnotherDtype()


class _Trailing(MpCodec):
    def encode_registration(self, release: Release, wrapper: str, fields: Mapping[str, Any], size: str | None) -> bytes:
        return super().encode_registration(release, wrapper, fields, size) + b"\0"


@mp_mutant(
    "mp-tensors-with-a-zero-behind",
    stands_for="A text of C in a buffer of one byte more.",
    found_by=("mp.registration.*",),
    captured=CAPTURED,
)
class Trailing(ReferenceMpClient):
    """Writes a zero byte behind every tensor."""

    codec = _Trailing()


PICKLES = Release.parse("0.5.5")


class _Pickled(MpCodec):
    def encode_registration(self, release: Release, wrapper: str, fields: Mapping[str, Any], size: str | None) -> bytes:
        try:
            return encode_registration(PICKLES, wrapper, fields, size=size)
        except WrapperRefused:
            return super().encode_registration(release, wrapper, fields, size)  # the wrapper is newer than pickles


@mp_mutant(
    "mp-tensors-as-pickles",
    stands_for="A client from before 0.5.6, whose registrations the server refuses without a word.",
    releases="0.5.6 and later",
    found_by=("mp.registration.data", "mp.registration.bytes"),
    captured=CAPTURED,
)
class Pickled(ReferenceMpClient):
    """Registers tensors as pickles where the release takes data alone."""

    codec = _Pickled()
