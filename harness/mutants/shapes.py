"""Defects in shapes, which are four integers on the wire whatever the tensor has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from harness.mutants.mutant import mutant
from harness.mutants.rewriting import OtherDescription
from harness.reference.codec import Codec
from harness.reference.lm import ReferenceClient
from wire.errors import EncodeError
from wire.lm.enums import BINARY_FORMATS
from wire.lm.frames import Description, Reply, Request
from wire.lm.metadata import Group, RemoteMetadata
from wire.lm.profile import LmProfile
from wire.lm.shapes import without_padding

Shape = tuple[int, ...]
ENCODING = ("lm.request.encode", "lm.reply.encode", "lm.metadata.encode", "lm.request.put-on-the-wire")
DECODING = ("lm.request.decode", "lm.reply.decode", "lm.metadata.decode")


class OtherShapes(OtherDescription):
    """Writes other shapes than it is given, or takes those that it reads for others; metadata included."""

    def __init__(
        self,
        write: Callable[[Shape], Shape] = lambda shape: shape,
        read: Callable[[str, Shape], Shape] = lambda _, shape: shape,
    ) -> None:
        super().__init__(
            lambda _, about: replace(about, shape=write(about.shape)),
            lambda _, about: replace(about, shape=read(about.format, about.shape)),
        )
        self._written = write
        self._taken = read

    def encode_metadata(self, profile: LmProfile, metadata: RemoteMetadata) -> bytes:
        """With the other shapes."""
        groups = tuple(Group(group.dtype, self._written(group.shape)) for group in metadata.groups)
        return super().encode_metadata(profile, replace(metadata, groups=groups))

    def decode_metadata(self, profile: LmProfile, data: bytes, groups: int) -> RemoteMetadata:
        """With the other shapes."""
        found = super().decode_metadata(profile, data, groups)
        made = tuple(Group(group.dtype, self._taken(found.format, group.shape)) for group in found.groups)
        return replace(found, groups=made)


def _padded(shape: Shape) -> Shape:
    return (*shape, *([0] * (4 - len(shape))))


@mutant(
    "shape-reversed",
    stands_for="Dimensions in the order of a column-major library, innermost first.",
    found_by=(*ENCODING, *DECODING),
)
class Reversed(ReferenceClient):
    """Writes and reads a shape with its last dimension first."""

    codec = OtherShapes(lambda shape: shape[::-1], lambda _, shape: shape[::-1])


@mutant(
    "shape-padded-with-ones",
    stands_for="What broadcasting does; lmcache pads with zeros, and strips nothing else.",
    releases="0.4.4 and later",
    found_by=ENCODING,
)
class PaddedWithOnes(ReferenceClient):
    """Pads a short shape with ones."""

    codec = OtherShapes(lambda shape: (*shape, *([1] * (4 - len(shape)))))


@mutant(
    "shape-padded-in-front",
    stands_for="What broadcasting does with dimensions that are missing; lmcache adds them at the end.",
    releases="0.4.4 and later",
    found_by=ENCODING,
)
class PaddedInFront(ReferenceClient):
    """Pads a short shape in front."""

    codec = OtherShapes(lambda shape: (*([0] * (4 - len(shape))), *shape))


def _four(shape: Shape) -> Shape:
    if len(shape) != 4:
        raise EncodeError(f"shape {list(shape)} does not have 4 dimensions")
    return shape


@mutant(
    "shape-of-four-only",
    stands_for="LMCache #1150 and #2752: until 0.4.3 a layer of a cache, which has three dimensions, could not be stored.",
    releases="0.4.4 and later",
    found_by=(*ENCODING, "lm.roundtrip.formats"),
)
class FourOnly(ReferenceClient):
    """Refuses shapes of fewer than four dimensions."""

    codec = OtherShapes(_four)


@mutant(
    "shape-zeros-kept",
    stands_for="A client of 0.4.3 or older: LMCache pull request 2751 strips the zeros that a short shape was padded with.",
    releases="0.4.4 and later",
    found_by=DECODING,
)
class ZerosKept(ReferenceClient):
    """Leaves the padding of a short shape where it is."""

    codec = OtherShapes(read=lambda _, shape: _padded(shape))


@mutant(
    "shape-binary-stripped",
    stands_for="One rule for all formats: the two BINARY ones count bytes in the first of four dimensions, and keep them all.",
    releases="0.4.4 and later",
    found_by=(*DECODING, "lm.roundtrip.formats"),
)
class BinaryStripped(ReferenceClient):
    """Strips the zeros of BINARY shapes as well."""

    codec = OtherShapes(read=lambda name, shape: without_padding(shape) if name in BINARY_FORMATS else shape)


@mutant(
    "shape-of-zeros-is-scalar",
    stands_for="A shape of nothing but zeros stripped to none, which is a scalar: lmcache keeps one dimension, and it is 0.",
    releases="0.4.4 and later",
    found_by=("lm.request.decode", "lm.reply.decode"),
)
class ZerosAreScalar(ReferenceClient):
    """Takes a shape that is nothing but zeros for one element."""

    codec = OtherShapes(read=lambda name, shape: shape if any(shape) or name in BINARY_FORMATS else (1,))


def _to_the_first_zero(name: str, shape: Shape) -> Shape:
    if name in BINARY_FORMATS:
        return shape
    return shape[: max(1, shape.index(0))] if 0 in shape else shape


@mutant(
    "shape-ends-at-a-zero",
    stands_for="A shape read as a C string is: up to the first zero, which may stand inside.",
    releases="0.4.4 and later",
    found_by=("lm.request.decode", "lm.reply.decode"),
)
class EndsAtAZero(ReferenceClient):
    """Cuts a shape at its first zero."""

    codec = OtherShapes(read=_to_the_first_zero)


@mutant(
    "shape-stripped-too-early",
    stands_for="A client of 0.4.4 or later: older releases know four dimensions and no padding.",
    releases="up to 0.4.3",
    found_by=DECODING,
)
class StrippedTooEarly(ReferenceClient):
    """Strips trailing zeros where they are dimensions."""

    codec = OtherShapes(read=lambda name, shape: shape if name in BINARY_FORMATS else without_padding(shape))


class _AnyRank(Codec):
    def encode_request(self, profile: LmProfile, request: Request) -> bytes:
        return super().encode_request(profile, replace(request, about=self._four(request.about)))

    def encode_reply(self, profile: LmProfile, reply: Reply) -> bytes:
        return super().encode_reply(profile, replace(reply, about=self._four(reply.about)))

    def encode_metadata(self, profile: LmProfile, metadata: RemoteMetadata) -> bytes:
        groups = tuple(Group(group.dtype, _padded(group.shape)[:4]) for group in metadata.groups)
        return super().encode_metadata(profile, replace(metadata, groups=groups))

    @staticmethod
    def _four(about: Description) -> Description:
        return replace(about, shape=_padded(about.shape)[:4])


@mutant(
    "shape-padded-too-early",
    stands_for="The same: what an older server gives back has four dimensions, and the layer that was stored does not fit it.",
    releases="up to 0.4.3",
    found_by=("lm.request.encode-refused", "lm.reply.encode-refused", "lm.metadata.encode-refused"),
)
class PaddedTooEarly(ReferenceClient):
    """Pads shapes where the release takes four dimensions and no others."""

    codec = _AnyRank()
