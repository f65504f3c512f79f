"""RemoteMetadata: what other remote backends of lmcache put in front of a stored value.

Source: ``lmcache.v1.protocol.RemoteMetadata``. Seven int32 (length, format, dtype, four dimensions) until 0.3.11; from
0.3.12 ``2 + 5 * groups`` of them.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from wire.errors import DecodeError, EncodeError
from wire.lm.enums import name_of, number_of
from wire.lm.formats import format_name, format_number
from wire.lm.profile import LmProfile
from wire.lm.shapes import pad_shape, strip_shape


@dataclass(frozen=True)
class Group:
    """One tensor of a value."""

    dtype: str | None
    shape: tuple[int, ...]


@dataclass(frozen=True)
class RemoteMetadata:
    """Byte length and memory format of a value, and its tensors."""

    length: int
    format: str
    groups: tuple[Group, ...]


def metadata_size(groups: int) -> int:
    """Bytes of a RemoteMetadata with so many groups."""
    return 4 * (2 + 5 * groups)


def encode_metadata(profile: LmProfile, metadata: RemoteMetadata) -> bytes:
    """The prefix of a value, little-endian int32.

    Raises:
        EncodeError: more than one group before 0.3.12, or a value that has no number.
    """
    if len(metadata.groups) != 1 and not profile.metadata_groups:
        raise EncodeError(f"lmcache {profile.release} has one group, not {len(metadata.groups)}")
    values = [metadata.length, format_number(profile, metadata.format)]
    for group in metadata.groups:
        values += [number_of("dtype", group.dtype), *pad_shape(profile, group.shape)]
    try:
        return struct.pack(f"<{len(values)}i", *values)
    except struct.error:
        raise EncodeError(f"a value does not fit into int32: {values}") from None


def decode_metadata(profile: LmProfile, data: bytes, groups: int) -> RemoteMetadata:
    """Read the prefix of a value; bytes behind it are ignored, as the real decoder does.

    Raises:
        DecodeError: too short, more than one group before 0.3.12, or a number outside its table.
    """
    if groups != 1 and not profile.metadata_groups:
        raise DecodeError(f"lmcache {profile.release} has one group, not {groups}")
    size = metadata_size(groups)
    if len(data) < size:
        raise DecodeError(f"metadata of {groups} groups needs {size} bytes, got {len(data)}")
    values = struct.unpack_from(f"<{2 + 5 * groups}i", data)
    name = format_name(profile, values[1])
    found = tuple(
        Group(name_of("dtype", values[start]), strip_shape(profile, values[start + 1 : start + 5], name))
        for start in range(2, len(values), 5)
    )
    return RemoteMetadata(values[0], name, found)
