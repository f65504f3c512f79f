"""A tap at work: proxy, listener, recorder, and what is said of them while they run."""

from __future__ import annotations

import contextlib
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from harness.tap.address import Address
from harness.tap.event import Event, Side
from harness.tap.finding import Finding
from harness.tap.guess import Guess
from harness.tap.keeper import KEPT_OF_A_PAYLOAD
from harness.tap.lm.listener import PATIENCE
from harness.tap.proxy import Proxy
from harness.tap.recording import NOTHING, Header, Protocol, Recorder, Redacted, now
from harness.tap.scribe import Scribe
from harness.tap.wires import wire
from harness.usage import UsageError
from wire.release import Release

MOST_BYTES: Final = 1 << 30
"""Of a recording, unless another limit is given."""
_SWITCH: Final = 0.0002
"""Seconds after which a thread lets another one go on."""


@dataclass(frozen=True)
class Wishes:
    """What a tap is to do."""

    listen: Address
    to: Address
    protocol: Protocol
    out: Path
    profile: Release | None = None
    redacted: Redacted = NOTHING
    kept: int = KEPT_OF_A_PAYLOAD
    """Bytes of each payload that are recorded."""
    max_bytes: int = MOST_BYTES
    patience: float = PATIENCE


@dataclass
class Outcome:
    """What a tap has seen; filled in while it works."""

    levels: Counter[str] = field(default_factory=Counter)
    counts: Mapping[str, int] = field(default_factory=dict)
    guesses: Mapping[Side, Guess] = field(default_factory=dict)
    seconds: float = 0.0
    trouble: str = ""
    """Why the recording is not complete."""
    defect: str = ""
    """A mistake of ours in the listener."""


@contextlib.contextmanager
def tapping(
    wishes: Wishes,
    *,
    tell: Callable[[Finding], None] = lambda _: None,
    notice: Callable[[Event], None] = lambda _: None,
    hurried: Callable[[], bool] = lambda: False,
) -> Iterator[tuple[Address, Outcome]]:
    """Pass on, listen and record until the block ends; where it listens, and what it has seen once the block has ended.

    ``hurried`` is asked at the end, as long as something has still to be written, and gives that up.

    Raises:
        UsageError: a host has no address, the port is in use, or nothing can listen to the protocol.
        RecordingError: the file cannot be made.
    """
    outcome = Outcome()
    known = wire(wishes.protocol)
    listener = known.listen(wishes.profile, wishes.patience)
    keeper = known.keep(listener, limit=wishes.kept, redacted=wishes.redacted)
    scribes: list[Scribe] = []
    try:
        proxy = Proxy(wishes.listen, wishes.to, lambda event: scribes[0].put(event))  # noqa: PLW0108  # made below
    except OSError as error:
        raise UsageError(f"cannot listen on {wishes.listen}: {error.strerror}; give another port, or 0 for any") from None

    def noted(finding: Finding) -> None:
        outcome.levels[finding.level] += 1
        tell(finding)

    try:
        profile = str(wishes.profile) if wishes.profile is not None else None
        header = Header(wishes.protocol, str(proxy.address), str(wishes.to), profile, wishes.redacted, now())
        recorder = Recorder(wishes.out, header, max_bytes=wishes.max_bytes)
    except BaseException:
        proxy.stop()
        raise
    # What is told must be as redacted as what is recorded.
    teller = known.listen(wishes.profile, wishes.patience) if wishes.redacted else None
    scribe = Scribe(listener, keeper, recorder, teller=teller, tell=noted, notice=notice, elapsed=proxy.elapsed)
    scribes.append(scribe)
    scribe.start()
    proxy.start()
    # The thread that passes on the traffic gets the interpreter soon, also while the other one works.
    before = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH)
    try:
        yield proxy.address, outcome
    finally:
        outcome.seconds = proxy.elapsed()
        proxy.stop()
        sys.setswitchinterval(before)
        done = scribe.close(hurried=hurried)
        outcome.counts = dict(scribe.counts)
        outcome.guesses = {"client": listener.guess("client"), "server": listener.guess("server")}
        outcome.trouble = recorder.trouble if done else "what was recorded last could not be written in time"
        outcome.defect = scribe.defect
