"""What the tap needs of a wire, and where it is found for each."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

from harness.tap import recording
from harness.tap.event import Event
from harness.tap.keeper import Keeper
from harness.tap.listener import Listener
from harness.tap.pseudonyms import Pseudonyms
from harness.tap.recording import Header, Redacted
from harness.tap.story import Story
from harness.usage import UsageError
from wire.release import Release


class MakesKeeper(Protocol):
    """Makes what decides which bytes are written down."""

    def __call__(self, listener: Listener, *, limit: int, redacted: Redacted, pseudonyms: Pseudonyms | None = None) -> Keeper:
        """A keeper that works with this listener."""


@dataclass(frozen=True)
class Wire:
    """A wire that can be listened to."""

    name: recording.Protocol
    listen: Callable[[Release | None, float], Listener]
    """Makes a listener from the release that both sides are said to be, and from the seconds that a reply is waited for."""
    tell: Callable[[Header, Iterable[Event], Release | None], Story]
    """Makes a story of a recording; its ``trouble`` is for the caller to set."""
    keep: MakesKeeper = Keeper
    transcribe: Callable[[Iterable[Event], str, str], dict[str, Any]] | None = None
    """Makes a transcript of events, a name and a title; None: there are no transcripts of this wire."""
    play: Callable[[str, int, Mapping[str, Any]], Sequence[str]] | None = None
    """Plays a transcript against the server at a host and a port, and tells the differences."""


def wire(protocol: recording.Protocol) -> Wire:
    """The wire of this name: ``WIRE`` of ``harness.tap.NAME.wire``.

    Raises:
        UsageError: it cannot be listened to.
    """
    try:
        module = importlib.import_module(f"harness.tap.{protocol}.wire")
    except ModuleNotFoundError:
        raise UsageError(f"this version of lmconform cannot listen to the wire {protocol!r}") from None
    return cast("Wire", module.WIRE)
