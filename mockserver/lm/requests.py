"""A request header as the real server takes it.

Source: ``ClientMetaMessage.deserialize`` of each release. Whatever it raises ends the connection without a reply.
"""

from __future__ import annotations

from dataclasses import dataclass

from wire.errors import DecodeError
from wire.keys import CacheKey, parse_key_as_server
from wire.lm.enums import COMMANDS, name_of
from wire.lm.formats import format_name
from wire.lm.frames import Description, header_numbers
from wire.lm.profile import KEY_FIELD_SIZE, LmProfile
from wire.lm.shapes import strip_shape

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
    numbers = header_numbers(profile.header.request, header)
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
    try:
        text = header[-KEY_FIELD_SIZE:].decode()
    except UnicodeDecodeError as error:
        raise DecodeError(f"the key field is not UTF-8: {error}") from None
    return ServerRequest(_command_name(numbers["command"]), parse_key_as_server(profile.release, text), text.strip(), about)


def glance(profile: LmProfile, header: bytes) -> tuple[str, str]:
    """Command and key of a header that a server refuses, for the journal: bytes that are not UTF-8 are escaped."""
    command = header_numbers(profile.header.request, header)["command"]
    return _command_name(command), header[-KEY_FIELD_SIZE:].decode(errors="backslashreplace").strip()


def _command_name(number: int) -> str:
    return _COMMAND_NAMES.get(number, str(number))
