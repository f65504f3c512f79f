"""What a release of lmcache means on the ``lm://`` wire."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from wire.release import RangeTable, Release

REQUEST_FIELDS = ("command", "length", "format", "dtype", "shape0", "shape1", "shape2", "shape3")
REPLY_FIELDS = ("code", "length", "format", "dtype", "shape0", "shape1", "shape2", "shape3")
KEY_FIELD_SIZE = 150
"""Bytes of the key field: UTF-8, padded with spaces on the right."""


@dataclass(frozen=True)
class HeaderLayout:
    """The int32 fields of both headers, in order; a request header ends with the key field."""

    request: tuple[str, ...]
    reply: tuple[str, ...]

    @property
    def request_size(self) -> int:
        """Bytes of a request header: 182 until 0.3.2, then 186."""
        return 4 * len(self.request) + KEY_FIELD_SIZE

    @property
    def reply_size(self) -> int:
        """Bytes of a reply header: 32 until 0.3.2, then 36."""
        return 4 * len(self.reply)


_FIRST = HeaderLayout(REQUEST_FIELDS, REPLY_FIELDS)
_WITH_LOCATION = HeaderLayout(
    request=(*REQUEST_FIELDS[:4], "location", *REQUEST_FIELDS[4:]),
    reply=(*REPLY_FIELDS, "location"),
)

HEADER_LAYOUTS = RangeTable("header layout", ("0.3.1", _FIRST), ("0.3.3", _WITH_LOCATION))
HIGHEST_FORMATS = RangeTable("highest format", ("0.3.1", 6), ("0.4.5", 7), ("0.5.1", 8))
STRICT_ENUMS = RangeTable("strict command and code", ("0.3.1", False), ("0.3.6", True))
SHORT_SHAPES = RangeTable("shapes of fewer than 4 dimensions", ("0.3.1", False), ("0.4.4", True))
METADATA_GROUPS = RangeTable("metadata with groups", ("0.3.1", False), ("0.3.12", True))


@dataclass(frozen=True)
class LmProfile:
    """The ``lm://`` wire of one release.

    Source: ``lmcache.v1.protocol`` of each release. A test compares every row that a captured release touches with the corpus,
    and lists those that none touches.
    """

    release: Release
    header: HeaderLayout
    highest_format: int
    strict_enums: bool
    """Unknown commands and codes are refused; before 0.3.6 they passed as plain integers."""
    short_shapes: bool
    """Shapes of 1 to 3 dimensions are padded with zeros, and trailing zeros are stripped on decode."""
    metadata_groups: bool
    """RemoteMetadata carries several (dtype, shape) groups."""

    @property
    def has_location(self) -> bool:
        """Whether headers carry a location field."""
        return "location" in self.header.request


@functools.lru_cache(maxsize=128)
def lm_profile(release: Release) -> LmProfile:
    """The profile of a release; a release newer than every table row gets the newest rows."""
    return LmProfile(
        release=release,
        header=HEADER_LAYOUTS[release],
        highest_format=HIGHEST_FORMATS[release],
        strict_enums=STRICT_ENUMS[release],
        short_shapes=SHORT_SHAPES[release],
        metadata_groups=METADATA_GROUPS[release],
    )
