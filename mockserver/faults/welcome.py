"""How a listener meets the next connection."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

DoorState = Literal["open", "refusing", "full"]
"""``refusing``: nobody listens on the port; ``full``: the queue of connections that wait to be accepted has no place."""


@dataclass(frozen=True, slots=True)
class Welcome:
    """What happens to the next connection, and the faults to which that is due, as ``--fault`` would spell them."""

    door: DoorState = "open"
    wait: float = 0.0
    """Seconds between its arrival and its acceptance."""
    faults: tuple[str, ...] = ()


OPEN = Welcome()
"""The welcome of a server that behaves."""
