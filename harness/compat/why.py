"""Why a server of a release closes or waits, as the tables of the wire explain it.

A verdict never rests on this: what happened is what crossed the wire. Where the tables explain nothing the words say only that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from reports.compat.model import Exchange
from wire.errors import DecodeError
from wire.keys import KEY_GRAMMARS, KeyGrammar, parse_key_as_server
from wire.lm.enums import FORMATS
from wire.lm.frames import header_numbers
from wire.lm.profile import KEY_FIELD_SIZE, LmProfile, lm_profile
from wire.release import Release

_FORMAT_NAMES: Final = {number: name for name, number in FORMATS.items()}


def why_silent(server: Release, first: bytes, exchange: Exchange) -> str:
    """Why no whole reply came."""
    if exchange.received:
        return f"{exchange.received} bytes of reply came and the client waits for {exchange.wanted}{_sizes(server, first)}"
    reads = lm_profile(server).header.request_size
    if len(first) < reads:
        return f"no reply: a request header has {len(first)} bytes and the server reads {reads}, so it waits for more"
    return f"no reply{_sizes(server, first)}"


def why_closed(server: Release, headers: Sequence[bytes]) -> str:
    """Why a connection was closed instead of answered, after these request headers."""
    profile = lm_profile(server)
    if len(headers[0]) != profile.header.request_size:
        return f"the server closes the connection{_sizes(server, headers[0])}"
    refusals = (_refusal(profile, header) for header in headers)
    return f"the server closes the connection: {next(filter(None, refusals), 'nothing that is known here explains it')}"


def _sizes(server: Release, first: bytes) -> str:
    reads = lm_profile(server).header.request_size
    if len(first) == reads:
        return ""
    return f" (a request header has {len(first)} bytes and the server reads {reads}: from the first one on they are out of step)"


def _refusal(profile: LmProfile, header: bytes) -> str | None:
    number = header_numbers(profile.header.request, header)["format"]
    if not 0 <= number <= profile.highest_format:
        name = _FORMAT_NAMES.get(number, "unknown")
        return f"format {number} ({name}) is beyond its table, which ends at {profile.highest_format}"
    text = header[-KEY_FIELD_SIZE:].decode(errors="replace").strip()
    try:
        parse_key_as_server(profile.release, text)
    except DecodeError:
        return _key_refusal(KEY_GRAMMARS[profile.release], text)
    return None


def _key_refusal(grammar: KeyGrammar, text: str) -> str:
    names = part_names(grammar)
    parts = text.split("@")
    if len(parts) < len(names):
        return f"the key has {len(parts)} parts, it wants {len(names)} ({'@'.join(names)})"
    by_name = dict(zip(names, parts, strict=False))
    for name in ("world", "worker"):
        if not _is_int(by_name[name], 10):
            return f"it wants {'@'.join(names)}, and there is no number in the place of {name}"
    if grammar.hash_style != "text" and not _is_int(by_name["hash"], 10 if grammar.hash_style == "decimal" else 16):
        return f"it wants {'@'.join(names)}, and there is no number in the place of hash"
    if grammar.dtype_names is not None and by_name["dtype"] not in grammar.dtype_names.values():
        return "its keys know no dtype of that name"
    return _rest_refusal(grammar, names, parts[len(names) :])


def _rest_refusal(grammar: KeyGrammar, names: Sequence[str], rest: Sequence[str]) -> str:
    if not grammar.tags:
        return f"its keys have nothing behind the {names[-1]}"
    wrong = next((part for part in rest if "%" not in part), None)
    if wrong is not None and wrong.isdigit():
        return "it takes no layer keys"
    if wrong is not None:
        return f"it takes only tags behind the {names[-1]}, and something else stands there"
    return "the key means nothing to it"


def part_names(grammar: KeyGrammar) -> list[str]:
    """The parts that every key of a release has, in order."""
    names = ["model", "world", "worker", "hash"]
    return [*(["fmt"] if grammar.prefix else []), *names, *(["dtype"] if grammar.dtype_names is not None else [])]


def _is_int(text: str, base: int) -> bool:
    try:
        int(text, base)
    except ValueError:
        return False
    return True
