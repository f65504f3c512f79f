"""Values of one client, each under a key of its own, and whose value it is that comes back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fixturegen.vector import patterned
from harness.compat.exchange import Ask, Expectation, Line
from harness.compat.frames_of import PLAIN_VALUE, ClientFrames, Value
from harness.compat.judge import Trouble, trouble_in
from reports.compat.model import Evidence, Exchange
from wire.lm.frames import Description
from wire.release import Release

HIT = Expectation("SUCCESS")
MISS = Expectation("FAIL")


@dataclass(frozen=True)
class Shelved:
    """One value that was stored."""

    key: str
    about: Description
    payload: bytes
    exchange: Exchange


class NotStoredError(Exception):
    """The server does not take what the client stores."""

    def __init__(self, trouble: Trouble, evidence: Evidence) -> None:
        super().__init__(trouble.reason)
        self.trouble = trouble
        self.evidence = evidence


def put(frames: ClientFrames, value: Value, key: str, seed: int) -> tuple[Ask, bytes]:
    """A PUT, and the payload that it stores."""
    payload = patterned(seed, value.about.length)
    return Ask("PUT", frames.put(value, key), payload), payload


def get(frames: ClientFrames, key: str, expects: Expectation) -> Ask:
    """A GET."""
    return Ask("GET", frames.request("GET", key), expects=expects)


def exist(frames: ClientFrames, key: str, expects: Expectation) -> Ask:
    """An EXIST."""
    return Ask("EXIST", frames.request("EXIST", key), expects=expects)


def stored(about: Description, payload: bytes) -> Expectation:
    """The answer to a GET of what was stored."""
    return Expectation("SUCCESS", (about, payload))


def shelve(
    line: Line, frames: ClientFrames, server: Release, texts: Mapping[str, str], value: Value | None = None
) -> dict[str, Shelved]:
    """PUT something of its own under each key text; an EXIST at the end shows that all of it arrived.

    Raises:
        NotStoredError: it did not.
    """
    kind = value or frames.value(PLAIN_VALUE)
    shelf: dict[str, Shelved] = {}
    for seed, (name, text) in enumerate(texts.items(), 1000):
        ask, payload = put(frames, kind, text, seed)
        shelf[name] = Shelved(text, kind.about, payload, line.ask(ask).exchange)
    if shelf:
        last = list(shelf.values())[-1]
        ask = exist(frames, last.key, HIT)
        heard = line.ask(ask)
        trouble = trouble_in(ask, heard, server, [shelved.exchange.sent for shelved in shelf.values()])
        if trouble is not None:
            raise NotStoredError(trouble, Evidence((last.exchange, heard.exchange)))
    return shelf


def owner(shelf: Mapping[str, Shelved], payload: bytes) -> str | None:
    """Under which name a payload was stored."""
    return next((name for name, shelved in shelf.items() if shelved.payload == payload), None)
