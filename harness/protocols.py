"""The wires and interfaces that cases are about, and which of them a run has cases for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Literal

from fixturegen.manifest import Protocol as Captured
from harness.client import LM_OPERATIONS, MP_OPERATIONS
from harness.usage import UsageError
from reports.words import listing
from wire.mp.operations import FIRST_RELEASE
from wire.release import KNOWN_RELEASES, Release

Protocol = Literal["lm", "mp", "l2", "remote"]
"""Two wires, and two interfaces in Python: that of storage plugins of the multiprocess server, and that of remote connectors."""
PROTOCOLS: Final[tuple[Protocol, ...]] = ("lm", "mp")
"""The wires, which clients and servers speak; of these there are captures."""
DECLARED: Final = "declared"
"""The wires of which the client declares an operation."""
BOTH: Final = "both"
CHOICES: Final = (DECLARED, *PROTOCOLS, BOTH)

_BY_TOPIC: Final[dict[str, Protocol]] = {"mp": "mp", "l2": "l2", "remote": "remote"}
_SHARED: Final = frozenset(LM_OPERATIONS) & frozenset(MP_OPERATIONS)
"""Operations that say nothing of a wire: connections are opened and closed on both."""
_FIRST: Final[dict[Protocol, Release]] = {
    "lm": Release.parse(KNOWN_RELEASES[0]),
    "mp": FIRST_RELEASE,
    "l2": Release.parse("0.4.3"),
    "remote": Release.parse(KNOWN_RELEASES[0]),
}
"""The first release with each; ``native_plugin`` adapters came in 0.4.3."""
_OPERATIONS: Final[dict[Protocol, frozenset[str]]] = {
    "lm": frozenset(LM_OPERATIONS) - _SHARED,
    "mp": frozenset(MP_OPERATIONS) - _SHARED,
}


def protocol_of(topic: str) -> Protocol:
    """What a topic of cases is about: its first part, where that names one, or else the wire ``lm``."""
    return _BY_TOPIC.get(topic.split(".", maxsplit=1)[0], "lm")


def captured_protocol(protocol: Protocol) -> Captured | None:
    """The same for the corpus, which has the wires alone."""
    return protocol if protocol == "lm" or protocol == "mp" else None  # noqa: PLR1714  # mypy narrows only so


def parse_protocol(text: str) -> str:
    """What ``--protocol`` names.

    Raises:
        UsageError: anything but one of :data:`CHOICES`.
    """
    if text not in CHOICES:
        raise UsageError(f"unknown protocol {text!r}; write one of {', '.join(CHOICES)}")
    return text


def no_case(lmcache: Sequence[Release], protocols: Sequence[Protocol], otherwise: str) -> str:
    """Why a selection is empty, and what to do: releases before the first one with the wire have no case of it."""
    if list(protocols) == ["mp"] and all(release < FIRST_RELEASE for release in lmcache):
        asked = ", ".join(map(str, lmcache))
        return f"lmcache {asked} has no multiprocess server, so there is no case of it; the oldest with one is {FIRST_RELEASE}"
    return f"no case matches; {otherwise}"


def named(choice: str) -> Sequence[Protocol]:
    """The wires that a choice names, without looking at a client."""
    return [protocol for protocol in PROTOCOLS if choice in {protocol, BOTH, DECLARED}]


def declared(operations: Iterable[str]) -> Sequence[Protocol]:
    """The wires of which a client declares an operation; both for a client that declares nothing of either."""
    names = set(operations)
    found = [protocol for protocol in PROTOCOLS if names & _OPERATIONS[protocol]]
    return found or PROTOCOLS


def as_choice(protocols: Sequence[Protocol]) -> str:
    """The choice that names exactly these wires."""
    return BOTH if len(protocols) == len(PROTOCOLS) else protocols[0]


def has_protocol(release: Release, protocol: Protocol) -> bool:
    """Whether a release speaks a wire, or has an interface."""
    return release >= _FIRST[protocol]


def left_out_text(protocols: Sequence[str]) -> str:
    """Why cases of these wires are not in a run."""
    return f"cases of {listing(protocols)}: the client declares none of their operations; --protocol both runs them"
