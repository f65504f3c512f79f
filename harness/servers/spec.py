"""Server specifications, as users write them: ``mock``, ``lmcache``, ``HOST:PORT``, ``exec:COMMAND``."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

from harness.case import TargetName
from harness.clients.spec import parse_command
from harness.protocols import PROTOCOLS
from harness.reference.servers.lm import RobustServer
from harness.reference.servers.mp import ReferenceMpServer
from harness.usage import UsageError, address_of
from mockserver.lm import LmServer
from mockserver.mp import MpServer
from wire.release import Release

Kind = Literal["mock", "real", "address", "command"]
FORMS: Final = "mock, lmcache, HOST:PORT or 'exec:COMMAND with {port}'"
PLACEHOLDERS: Final = ("host", "port", "release", "chunk_size")
"""What a command may name in braces; ``chunk_size`` is the number of tokens of a chunk, of which only servers of ``mp`` know."""

LmMaker = type[LmServer]
MpMaker = type[MpServer]


@dataclass(frozen=True)
class ServerSpec:
    """A server under test."""

    text: str
    kind: Kind
    address: tuple[str, int] | None = None
    command: tuple[str, ...] = ()
    """Words with :data:`PLACEHOLDERS`, the first one the path of a program."""
    lm: LmMaker = LmServer
    """What is made in place of the mock server, where it is a server of ours."""
    mp: MpMaker = MpServer

    @property
    def is_told_the_release(self) -> bool:
        """Whether its command names the release, so that one command stands for a server of each."""
        return any("{release}" in word for word in self.command)

    @property
    def target(self) -> TargetName:
        """What its cases run against: a server of ours is fresh for each of them."""
        return "mock" if self.kind == "mock" else "live"


_OURS: Final[Mapping[str, tuple[LmMaker, MpMaker]]] = MappingProxyType(
    {"mock": (LmServer, MpServer), "reference": (RobustServer, ReferenceMpServer)}
)
"""Servers of this package by name."""


def parse_server(text: str, protocol: str) -> ServerSpec:
    """Read what stands behind ``lmconform server``.

    Raises:
        UsageError: it has none of the forms, or ``protocol`` is not one wire.
        ClientUnavailable: there is no such program, or no such mutant.
    """
    if protocol not in PROTOCOLS:
        raise UsageError(f"a server speaks one wire: write --protocol {' or --protocol '.join(PROTOCOLS)}")
    kind, _, rest = text.strip().partition(":")
    if text.strip() in _OURS:
        lm, mp = _OURS[text.strip()]
        return ServerSpec(text, "mock", lm=lm, mp=mp)
    if kind == "mutant":
        return _mutant(text, rest)
    if text.strip() == "lmcache":
        return ServerSpec(text, "real")
    if kind == "exec":
        return ServerSpec(text, "command", command=_command(rest))
    address = address_of(text.strip())
    if address is None:
        raise UsageError(f"{text!r} is no server; write {FORMS}")
    return ServerSpec(text, "address", address=address)


def require_one_release(server: ServerSpec, releases: Sequence[Release]) -> None:
    """Refuse several releases for a server that is not told which of them it is to speak: no bytes on the wire tell it.

    Raises:
        UsageError: it would be judged by wires that exclude each other.
    """
    if len(releases) == 1 or server.kind not in {"address", "command"} or server.is_told_the_release:
        return
    told = ", or write {release} where its command line names it" if server.kind == "command" else ""
    raise UsageError(
        f"{server.text!r} is one server, which is not told the release that it is to speak, and {len(releases)} releases were "
        f"selected: name one, such as --lmcache {releases[-1]}{told}"
    )


def _command(text: str) -> tuple[str, ...]:
    if not text.strip():
        raise UsageError("exec: needs a command, such as 'exec:./my-server --port {port}'")
    words = parse_command(text)
    try:
        named = {name for word in words[1:] for _, name, *_ in string.Formatter().parse(word) if name is not None}
        if named <= set(PLACEHOLDERS):
            _ = [word.format(**dict.fromkeys(PLACEHOLDERS, 0)) for word in words[1:]]
    except (ValueError, LookupError, AttributeError) as error:
        raise UsageError(f"exec: {text.strip()!r}: {error}; a brace that is meant as such is written twice") from None
    unknown = sorted(named - set(PLACEHOLDERS))
    if unknown:
        raise UsageError(f"exec: names {{{unknown[0]}}}, which nothing stands for; known are {_braced(PLACEHOLDERS)}")
    if "port" not in named:
        raise UsageError(
            "exec: must name {port}, the port that the server is to listen on, such as 'exec:./my-server --port {port}'"
        )
    return tuple(words)


def _braced(names: tuple[str, ...]) -> str:
    return ", ".join(f"{{{name}}}" for name in names)


def _mutant(text: str, name: str) -> ServerSpec:
    from harness.mutants.mutant import find_server_mutant

    make = find_server_mutant(name).make
    return ServerSpec(text, "mock", lm=make) if issubclass(make, LmServer) else ServerSpec(text, "mock", mp=make)
