"""What users write, read: releases, targets, addresses; and the error about what makes no sense."""

from __future__ import annotations

import difflib
import secrets
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from fixturegen.corpus import captured_releases
from fixturegen.environment import RUNTIMES
from harness.case import TARGETS, TargetName
from harness.clients.spec import takes_limits
from harness.limits import CAN_LIMIT, ClientLimits, LimitsError, parse_client_limits
from harness.memory import default_limit
from harness.plugin import CLIENT_START, DEADLINE
from harness.sizes import size_of
from wire.errors import WireError
from wire.numerals import LONGEST, NoNumber, read_integer, shown
from wire.release import Release

LEVELS: Final = ("must", "should")
LONGEST_WAIT: Final = 86400.0
"""Seconds."""
LEAST_MEMORY: Final = 64 << 20
"""Bytes: an interpreter that has imported a codec, and one large value."""
MOST_MEMORY: Final = 1 << 50
_PORT: Final = range(1, 65536)


class UsageError(Exception):
    """What the user asked for makes no sense; the message says what to write instead."""


def require_writable(folder: Path, what: str) -> None:
    """Make a folder and write into it, so that work does not end with nowhere to keep its result; ``what`` names that.

    Raises:
        UsageError: it cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        problem = "it is a file and no folder" if folder.is_file() else error.strerror
        raise UsageError(f"cannot write {what} to {folder}: {problem}; name another folder with --out") from None


def parse_releases(text: str) -> list[Release]:
    """``all`` or versions separated by commas, each in the corpus.

    Raises:
        UsageError: a release is unknown or not captured.
    """
    captured = captured_releases()
    if text.strip() == "all":
        if not captured:
            raise UsageError("the corpus is empty; run 'lmconform capture RELEASE' first")
        return captured
    found = []
    for word in filter(None, (word.strip() for word in text.split(","))):
        try:
            release = Release.parse(word)
        except WireError as error:
            raise UsageError(str(error)) from None
        if release not in captured:
            known = ", ".join(str(known) for known in captured)
            raise UsageError(
                f"lmcache {release} is not in the corpus{_meant(word, captured)} (captured: {known}); "
                f"run 'lmconform capture {release}'"
            )
        named = captured[captured.index(release)]  # 0.5 is 0.5.0, as for pip, and its captures are under the longer name
        if named not in found:
            found.append(named)
    if not found:
        raise UsageError("no release was named; write --lmcache 0.5.6, or --lmcache all")
    return found


def _meant(word: str, captured: Sequence[Release]) -> str:
    """A guess at a name that was cut short or misspelt; a release that is new looks like neither."""
    names = [str(release) for release in captured]
    of_the_series = [name for name in names if name.startswith(f"{word}.")]
    close = of_the_series[-1:] or difflib.get_close_matches(word, names, n=1, cutoff=0.85)
    return f", did you mean {close[0]}?" if close else ""


def parse_targets(text: str) -> list[TargetName]:
    """Targets separated by commas, in their fixed order.

    Raises:
        UsageError: a name is unknown, or none is given.
    """
    words = {word.strip() for word in text.split(",") if word.strip()}
    unknown = sorted(words - set(TARGETS))
    if unknown or not words:
        wrong = f"unknown target {', '.join(unknown)}" if unknown else "no target was named"
        raise UsageError(f"{wrong}; targets are {', '.join(TARGETS)}, separated by commas")
    return [target for target in TARGETS if target in words]


def parse_require(text: str) -> str:
    """``must`` or ``should``: the lowest level whose failures count.

    Raises:
        UsageError: anything else.
    """
    if text not in LEVELS:
        raise UsageError(f"unknown level {text!r}; write one of {', '.join(LEVELS)}")
    return text


def parse_runtime(text: str) -> str:
    """``venv`` or ``docker``.

    Raises:
        UsageError: anything else.
    """
    if text not in RUNTIMES:
        raise UsageError(f"unknown runtime {text!r}; runtimes are {', '.join(RUNTIMES)}")
    return text


def parse_effort(examples: int | None, deadline: float) -> tuple[int | None, float]:
    """Examples of each property, None where nobody asked for a number, and seconds for each call.

    Raises:
        UsageError: one of them is not positive, or the seconds are more than a day.
    """
    if examples is not None and examples < 1:
        raise UsageError(f"--examples {examples} would check nothing; give 1 or more")
    _require_time("--deadline", deadline, DEADLINE)
    return examples, deadline


def parse_seed(seed: int) -> int:
    """The number that examples are drawn from.

    Raises:
        UsageError: it is negative.
    """
    if seed < 0:
        raise UsageError(f"--seed {seed} is no seed; give 0 or more, or random")
    return seed


def read_seed(text: str) -> int:
    """A seed as the command line takes it: a number, or ``random`` for one that nobody chose.

    Raises:
        UsageError: anything else.
    """
    if text == "random":
        return 1 + secrets.randbelow(2**31 - 1)
    try:
        return parse_seed(read_integer(text))
    except NoNumber:
        raise UsageError(f"--seed {shown(text)!r} is no seed; give a number of at most {LONGEST} digits, or random") from None


def parse_limits(start: float, memory: str | int | None, *, clients: int = 1) -> tuple[float, int]:
    """Seconds that a client may take to start, and bytes that it may hold where so many clients run at once.

    Raises:
        UsageError: one of them is no number, or out of bounds.
    """
    _require_time("--client-start", start, CLIENT_START)
    if memory is None:
        return start, default_limit(clients)
    size = size_of(str(memory))
    if size is None:
        raise UsageError(
            f"--client-memory {shown(str(memory))} is no size; give bytes, or a number with KiB, MiB or GiB, such as 4GiB"
        )
    if not LEAST_MEMORY <= size <= MOST_MEMORY:
        raise UsageError(
            f"--client-memory {shown(str(memory))} is {'less' if size < LEAST_MEMORY else 'more'} than a client can have; "
            f"give from {LEAST_MEMORY >> 20}MiB to {MOST_MEMORY >> 40}TiB"
        )
    return start, size


def read_client_limits(text: str | None, client: str) -> ClientLimits | None:
    """What the kernel limits for a client that is a process; None: nothing.

    Raises:
        UsageError: the text are no limits, or nothing here could keep this client to them.
    """
    try:
        limits = parse_client_limits(text)
    except LimitsError as error:
        raise UsageError(str(error)) from None
    if limits is None:
        return None
    if not takes_limits(client):
        raise UsageError(
            "--client-limits holds for clients that are processes of this machine, stdio:, lmcache: and lmcache-mp:, and not for "
            f"{client}: a Python class and what is built in run inside lmconform (stdio:COMMAND gives one a process), and a "
            "container has limits of its own (--cpus in docker:, --client-memory)"
        )
    if not CAN_LIMIT:
        raise UsageError(
            "--client-limits needs a kernel that limits another process (prlimit, of Linux), and this one does not; leave it out "
            "or set the limits in the command of the client, as stdio:'sh -c \"ulimit -t 60; exec ./adapter\"'"
        )
    return limits


def _require_time(option: str, seconds: float, example: float) -> None:
    if not 0 < seconds <= LONGEST_WAIT:
        raise UsageError(
            f"{option} {seconds:g} is no time to wait; give seconds, such as {example:g}, and at most {LONGEST_WAIT:g}, a day"
        )


def parse_address(
    text: str | None, releases: Sequence[Release], targets: Sequence[TargetName], *, given_by: str = "--live"
) -> tuple[str, int] | None:
    """``HOST:PORT`` of a server that the user runs; ``given_by`` is what names it, for messages.

    Raises:
        UsageError: it has another form, or it is not clear what it is for.
    """
    if text is None:
        return None
    address = address_of(text)
    if address is None:
        raise UsageError(f"--live {shown(text)!r} is no address; write HOST:PORT, such as 127.0.0.1:65432")
    if "live" not in targets:
        raise UsageError("--live names a server, but live is not among the targets; add --target live")
    if len(releases) != 1:
        raise UsageError(f"{given_by} names one server, which runs one release; name that release with --lmcache")
    return address


def address_of(text: str) -> tuple[str, int] | None:
    """Host and port of ``HOST:PORT``; None for anything else."""
    host, separator, port = text.rpartition(":")
    try:
        number = read_integer(port)
    except NoNumber:
        return None
    return (host.strip("[]"), number) if separator and host and number in _PORT else None
