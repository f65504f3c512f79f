"""A request header as the real server takes it.

Source: ``ClientMetaMessage.deserialize`` of each release. Whatever it raises ends the connection without a reply.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

from wire.errors import DecodeError
from wire.keys import CacheKey, parse_key_as_server
from wire.lm.enums import COMMANDS, name_of
from wire.lm.formats import format_name
from wire.lm.frames import Description, header_numbers
from wire.lm.profile import KEY_FIELD_SIZE, LmProfile
from wire.lm.shapes import strip_shape
from wire.release import Release

_REMEMBERED_NUMBERS = 1024
_REMEMBERED_KEYS = 8192
_COMMAND_NAMES = {number: name for name, number in COMMANDS.items()}


@dataclass(frozen=True, slots=True)
class ServerRequest:
    """A request that a server accepts: what to do, the identity of the key, and what a PUT says about its payload."""

    command: str
    key: CacheKey
    key_text: str
    about: Description


def read_request(profile: LmProfile, header: bytes) -> ServerRequest:
    """Judge a header.

    Until 0.3.5 any command passes, and a server that does not know it goes on to the next request; ``command`` is the number
    as text then. The location is checked and forgotten: no server keeps it.

    Raises:
        DecodeError: a command (from 0.3.6 on), format, dtype or location outside its table, a key field that is not UTF-8
            or no key of this release.
    """
    command, about = read_numbers(profile, header[:-KEY_FIELD_SIZE])
    return ServerRequest(command, *_read_key(profile.release, header[-KEY_FIELD_SIZE:]), about)


class RequestReader:
    """:func:`read_request` for a server: it remembers what integers and keys mean, and keys that are alike are one object."""

    def __init__(self, profile: LmProfile) -> None:
        self._key = functools.lru_cache(_REMEMBERED_KEYS)(functools.partial(_read_key, profile.release))
        self._numbers = functools.lru_cache(_REMEMBERED_NUMBERS)(functools.partial(read_numbers, profile))

    def read(self, header: bytes) -> ServerRequest:
        """Judge a header.

        Raises:
            DecodeError: as :func:`read_request`.
        """
        command, about = self._numbers(header[:-KEY_FIELD_SIZE])
        return ServerRequest(command, *self._key(header[-KEY_FIELD_SIZE:]), about)


def read_numbers(profile: LmProfile, data: bytes) -> tuple[str, Description]:
    """The integers of a header: the command, and what a PUT says about its payload.

    Raises:
        DecodeError: as :func:`read_request`.
    """
    numbers = header_numbers(profile.header.request, data)
    if profile.strict_enums:
        name_of("command", numbers["command"])
    name = format_name(profile, numbers["format"])
    if profile.has_location:
        name_of("location", numbers["location"])
    about = Description(
        length=numbers["length"],
        format=name,
        dtype=name_of("dtype", numbers["dtype"]),
        shape=strip_shape(profile, [numbers[f"shape{index}"] for index in range(4)], name),
    )
    return _command_name(numbers["command"]), about


def _read_key(release: Release, field: bytes) -> tuple[CacheKey, str]:
    try:
        text = field.decode()
    except UnicodeDecodeError as error:
        raise DecodeError(f"the key field is not UTF-8: {error}") from None
    text = text.strip()
    return parse_key_as_server(release, text), text


def glance(profile: LmProfile, header: bytes) -> tuple[str, str]:
    """Command and key of a header that a server refuses, for the journal: bytes that are not UTF-8 are escaped."""
    command = header_numbers(profile.header.request, header)["command"]
    return _command_name(command), header[-KEY_FIELD_SIZE:].decode(errors="backslashreplace").strip()


def _command_name(number: int) -> str:
    return _COMMAND_NAMES.get(number, str(number))
