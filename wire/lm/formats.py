"""Memory formats as one release knows them: later releases added to the table.

Source: ``lmcache.v1.memory_management.MemoryFormat``.
"""

from __future__ import annotations

from wire.errors import DecodeError, EncodeError
from wire.lm.enums import name_of, number_of
from wire.lm.profile import LmProfile


def format_number(profile: LmProfile, name: str) -> int:
    """The number of a memory format.

    Raises:
        EncodeError: there is no such format, or not yet in this release.
    """
    number = number_of("format", name)
    if number > profile.highest_format:
        raise EncodeError(f"format {name} does not exist in lmcache {profile.release}")
    return number


def format_name(profile: LmProfile, number: int) -> str:
    """The memory format that a number stands for.

    Raises:
        DecodeError: the release has no such format.
    """
    if number > profile.highest_format:
        raise DecodeError(f"format {number} does not exist in lmcache {profile.release}")
    name = name_of("format", number)
    assert name is not None
    return name
