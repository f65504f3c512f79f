"""Defects in what a server answers."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import replace

from harness.mutants.mutant import server_mutant
from mockserver.endings import Ending
from mockserver.faults.outgoing import Outgoing
from mockserver.lm import LmServer
from mockserver.lm.replies import Replies
from mockserver.lm.requests import ServerRequest
from mockserver.store import Store
from wire.lm.frames import header_numbers, replace_field
from wire.lm.profile import LmProfile

Change = Callable[[LmProfile, ServerRequest, Outgoing, Store], Outgoing]


def other_replies(change: Change) -> type[Replies]:
    """Replies that are made as they should be, and then changed."""

    class Other(Replies):
        """Changed replies."""

        def answer(self, request: ServerRequest, store: Store) -> Outgoing:
            """The changed reply."""
            return change(self._profile, request, super().answer(request, store), store)

    return Other


def _and_closes(out: Outgoing) -> Outgoing:
    """The same, and the end of the connection: whoever waits for more need not wait long."""
    return replace(out, last="close", ending=Ending("no data", "that is all"))


def _header(profile: LmProfile, outgoing: Outgoing, name: str, value: int) -> Outgoing:
    return (
        replace(outgoing, header=replace_field(profile.header.reply, outgoing.header, name, value))
        if outgoing.header
        else outgoing
    )


def _code(profile: LmProfile, value: int) -> Outgoing:
    plain = struct.pack(f"<{len(profile.header.reply)}i", value, 0, 1, 2, *([0] * (len(profile.header.reply) - 4)))
    return Outgoing(profile.header.reply, plain)


@server_mutant("server-answers-put", stands_for="A protocol in which every request has a reply.")
class AnswersPut(LmServer):
    """Answers a PUT."""

    replies_class = other_replies(lambda profile, request, out, _: _code(profile, 200) if request.command == "PUT" else out)


@server_mutant("server-answers-list", stands_for="What the code of lmcache's server means to do, and no release does.")
class AnswersList(LmServer):
    """Answers a LIST."""

    replies_class = other_replies(lambda profile, request, out, _: _code(profile, 400) if request.command == "LIST" else out)


@server_mutant("server-is-never-well", stands_for="A check of health that looks at something else.")
class NeverWell(LmServer):
    """Answers HEALTH with failure."""

    replies_class = other_replies(lambda profile, request, out, _: _code(profile, 400) if request.command == "HEALTH" else out)


def _with_payload(_: LmProfile, request: ServerRequest, out: Outgoing, store: Store) -> Outgoing:
    value = store.get(request.key)
    return replace(out, body=value.data) if request.command == "EXIST" and value is not None and value.data else out


@server_mutant("server-exist-with-payload", stands_for="One function for GET and EXIST.")
class ExistWithPayload(LmServer):
    """Sends the payload with the reply to an EXIST."""

    replies_class = other_replies(_with_payload)


def _miss_with_body(_: LmProfile, request: ServerRequest, out: Outgoing, store: Store) -> Outgoing:
    return replace(out, body=b"miss") if request.command == "GET" and store.get(request.key) is None else out


@server_mutant("server-miss-with-body", stands_for="An explanation behind a failure, as HTTP servers send it.")
class MissWithBody(LmServer):
    """Sends bytes behind a miss."""

    replies_class = other_replies(_miss_with_body)


def _miss_404(profile: LmProfile, _: ServerRequest, out: Outgoing, __: Store) -> Outgoing:
    missed = bool(out.header) and header_numbers(profile.header.reply, out.header)["code"] == 400
    return _header(profile, out, "code", 404) if missed else out


@server_mutant("server-miss-is-404", stands_for="The number that HTTP has for it.")
class MissIs404(LmServer):
    """Answers a miss with code 404."""

    replies_class = other_replies(_miss_404)


def _location_in_the_middle(profile: LmProfile, _: ServerRequest, out: Outgoing, __: Store) -> Outgoing:
    if not out.header:
        return out
    numbers = list(struct.unpack(f"<{len(profile.header.reply)}i", out.header))
    moved = [*numbers[:4], numbers[-1], *numbers[4:-1]]
    return replace(out, header=struct.pack(f"<{len(moved)}i", *moved))


@server_mutant(
    "server-location-in-the-middle",
    stands_for="One struct for both headers: the location stands elsewhere in a reply.",
    releases="0.3.3 and later",
)
class LocationInTheMiddle(LmServer):
    """Writes the location of a reply where a request has it."""

    replies_class = other_replies(_location_in_the_middle)


def _big_endian(profile: LmProfile, _: ServerRequest, out: Outgoing, __: Store) -> Outgoing:
    count = len(profile.header.reply) if out.header else 0
    return replace(out, header=struct.pack(f">{count}i", *struct.unpack(f"<{count}i", out.header)))


@server_mutant("server-big-endian", stands_for="Network byte order.")
class BigEndian(LmServer):
    """Writes the integers of a reply with the most significant byte first."""

    replies_class = other_replies(_big_endian)


def _one_byte_more(_: LmProfile, request: ServerRequest, out: Outgoing, __: Store) -> Outgoing:
    return replace(out, body=bytes(out.body) + b"\n") if request.command == "GET" and len(out.body) else out


@server_mutant("server-trailing-byte", stands_for="A line feed or a NUL behind a payload.")
class TrailingByte(LmServer):
    """Sends one byte more than a payload has."""

    replies_class = other_replies(_one_byte_more)


def _cut_to_64k(_: LmProfile, __: ServerRequest, out: Outgoing, ___: Store) -> Outgoing:
    return _and_closes(replace(out, body=out.body[: 1 << 16])) if len(out.body) > 1 << 16 else out


@server_mutant(
    "server-payload-cut",
    stands_for="One send of a buffer that has 64 KiB.",
    found_by=("servers.transcripts.replay[*large-value]",),
)
class PayloadCut(LmServer):
    """Sends the first 64 KiB of a payload, and closes."""

    replies_class = other_replies(_cut_to_64k)


def _shape_reversed(profile: LmProfile, _: ServerRequest, out: Outgoing, __: Store) -> Outgoing:
    if not out.header:
        return out
    numbers = header_numbers(profile.header.reply, out.header)
    for place in range(4):
        out = _header(profile, out, f"shape{place}", numbers[f"shape{3 - place}"])
    return out


@server_mutant("server-shape-reversed", stands_for="Dimensions kept in the order of another language.")
class ShapeReversed(LmServer):
    """Gives back a shape with its last dimension first."""

    replies_class = other_replies(_shape_reversed)


def _default_format(profile: LmProfile, request: ServerRequest, out: Outgoing, _: Store) -> Outgoing:
    return _header(profile, _header(profile, out, "format", 1), "dtype", 2) if request.command == "GET" else out


@server_mutant(
    "server-forgets-format",
    stands_for="A store of bytes alone, with defaults for what it was not asked to keep.",
)
class ForgetsFormat(LmServer):
    """Gives every value back as KV_2LTD of float16."""

    replies_class = other_replies(_default_format)


def _length_of_payload(profile: LmProfile, request: ServerRequest, out: Outgoing, _: Store) -> Outgoing:
    return _header(profile, out, "length", len(out.body)) if request.command == "GET" else out


@server_mutant(
    "server-length-of-what-it-has",
    stands_for="A length measured instead of kept: it differs where a PUT was cut, or lied.",
)
class LengthOfWhatItHas(LmServer):
    """Announces the bytes that it has, instead of those that the PUT announced."""

    replies_class = other_replies(_length_of_payload)


def _as_asked(_: LmProfile, request: ServerRequest, out: Outgoing, __: Store) -> Outgoing:
    asked = request.about.length
    return _and_closes(replace(out, body=out.body[:asked])) if request.command == "GET" and 0 < asked < len(out.body) else out


@server_mutant(
    "server-get-by-length",
    stands_for="The length of a GET taken for a limit.",
    found_by=("servers.transcripts.replay[*get-length-ignored]",),
)
class GetByLength(LmServer):
    """Sends no more than a GET has for its length, and closes."""

    replies_class = other_replies(_as_asked)


def _selecting(profile: LmProfile, request: ServerRequest, out: Outgoing, store: Store) -> Outgoing:
    value = store.get(request.key)
    if request.command != "GET" or value is None or request.about.dtype in {value.about.dtype, "float16"}:
        return out
    return _and_closes(_code(profile, 400))


@server_mutant(
    "server-get-by-description",
    stands_for="The dtype of a GET taken for part of what is asked for.",
    found_by=("servers.transcripts.replay[*get-description-ignored]",),
)
class GetByDescription(LmServer):
    """Misses a value whose dtype is another than the GET has, and closes."""

    replies_class = other_replies(_selecting)
