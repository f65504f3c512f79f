"""Adapters that recorded conversations are held with: the reference client, and two that show what it does not do."""

from __future__ import annotations

import os
import sys
from typing import IO, Any, Final

from harness.clients.host import Host
from harness.reference.lm import ReferenceClient
from harness.reference.mp.client import ReferenceMpClient

_RELEASE: Final = "0.5.6"
TOGETHER: Final = 3
"""Requests of an operation that :class:`BackwardsHost` reads before it answers the first of them."""


class Recorded(ReferenceClient):
    """The reference client, telling nothing that differs from machine to machine."""

    def hello(self, **members: Any) -> dict[str, Any]:
        """Of one release, so that a new one changes no recording."""
        return {**super().hello(**members), "releases": [_RELEASE], "language": "Python"}

    def state(self, **members: Any) -> dict[str, Any]:
        """What the contract demands."""
        return {"connections": super().state(**members)["connections"]}


class RecordedMp(ReferenceMpClient):
    """The same on the wire of the multiprocess server."""

    def hello(self, **members: Any) -> dict[str, Any]:
        """Of one release."""
        return {**super().hello(**members), "releases": [_RELEASE], "language": "Python"}


class WithABug(Recorded):
    """Fails where a key has a layer, in a way that it did not foresee."""

    def parse_key(self, **members: Any) -> dict[str, Any]:
        """Stumble."""
        if members["text"].endswith("@31"):
            raise IndexError("list index out of range")
        return super().parse_key(**members)


class OneAtATime(Recorded):
    """Is never sent two requests at once."""

    def hello(self, **members: Any) -> dict[str, Any]:
        """Leave ``concurrent`` out."""
        return {name: value for name, value in super().hello(**members).items() if name != "concurrent"}


class BackwardsHost(Host):
    """Reads several ``format_key`` and answers the last of them first."""

    def serve(self, requests: IO[bytes], answers: IO[bytes]) -> int:
        """Answer until ``bye`` or the end of input."""
        held = []
        while line := requests.readline():
            request = self.read(line)
            if request["op"] == "format_key":
                held.append(request)
                if len(held) < TOGETHER:
                    continue
                while held:
                    self.serve_one(held.pop(), answers)
                continue
            self.serve_one(request, answers)
            if request["op"] == "bye":
                break
        return 0


def main(arguments: list[str]) -> int:
    """The adapter that answers backwards."""
    del arguments
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return BackwardsHost(Recorded()).serve(sys.stdin.buffer, answers)
