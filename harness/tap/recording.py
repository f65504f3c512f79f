"""The file of a recording: one header, events in the order in which they were written, one footer; each is a line of JSON.

Its schema is ``reports/schemas/recording-v1.schema.json``.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Literal, Self, TypeAlias

from harness.tap.event import Event
from harness.version import TOOL_VERSION
from reports.escape import escape
from reports.plain import clip
from reports.schema import JSON_LINE, LineSchema
from wire.errors import UnknownReleaseError
from wire.release import Release

SCHEMA_VERSION: Final = 1
LONGEST_LINE: Final = 8 << 20
"""Bytes of one line that are read: a segment of the proxy takes a few hundred thousand."""
MOST_EVENTS: Final = 5_000_000
FLUSHED_AT: Final = 1 << 16
"""Bytes that wait at most before they are written."""
RECORDS: Final = ("header", "event", "footer")
LINES: Final = LineSchema("recording", SCHEMA_VERSION, RECORDS)
"""What a line may be."""
Protocol: TypeAlias = Literal["lm", "mp"]


class RecordingError(Exception):
    """A file that is no recording, or cannot be written; the message names file, line and what is wrong."""


@dataclass(frozen=True)
class Redacted:
    """What was replaced while it was recorded, or later."""

    keys: bool = False
    payloads: bool = False

    def __bool__(self) -> bool:
        return self.keys or self.payloads


NOTHING: Final = Redacted()


@dataclass(frozen=True)
class Header:
    """Between whom the proxy stood."""

    protocol: Protocol
    listen: str
    to: str
    profile: str | None = None
    """The release that both sides were said to be; None: not said."""
    redacted: Redacted = NOTHING
    started: str = ""
    tool_version: str = TOOL_VERSION

    def to_json(self) -> dict[str, Any]:
        """The first line."""
        return {"record": "header", "schema_version": SCHEMA_VERSION, **vars(self), "redacted": dict(vars(self.redacted))}

    @classmethod
    def from_json(cls, line: Mapping[str, Any]) -> Self:
        """Read a line that the schema allows."""
        known = {name: line[name] for name in cls.__dataclass_fields__ if name in line}
        return cls(**{**known, "redacted": Redacted(**line.get("redacted", {}))})


@dataclass(frozen=True)
class Footer:
    """How a recording ended."""

    ended: str
    complete: bool
    """Every event that happened is in the file."""
    why: str = ""
    """Why it is not complete."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """``connections``, ``events``, ``client_bytes``, ``server_bytes``, ``lost_events``, ``not_accepted``."""
    findings: Mapping[str, int] = field(default_factory=dict)
    """What was noticed while recording, by rule; nothing rests on it, since it follows from the events."""

    def to_json(self) -> dict[str, Any]:
        """The last line."""
        line = {"record": "footer", **vars(self), "counts": dict(self.counts), "findings": dict(self.findings)}
        return {name: value for name, value in line.items() if name != "why" or value}

    @classmethod
    def from_json(cls, line: Mapping[str, Any]) -> Self:
        """Read a line that the schema allows."""
        return cls(**{name: line[name] for name in cls.__dataclass_fields__ if name in line})


class Recorder:
    """Writes a recording as it goes. What the disk refuses is remembered in :attr:`trouble` and never raised."""

    def __init__(self, path: Path, header: Header, *, max_bytes: int | None = None) -> None:
        """Make the file, which only its owner can read, and write the header.

        Raises:
            RecordingError: it is there already, or cannot be made.
        """
        self.path = path
        self.trouble = ""
        """Why events are missing from the file; empty: none is."""
        self.written = 0
        self.events = 0
        self._max_bytes = max_bytes
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except FileExistsError:
            raise RecordingError(f"{escape(str(path))} is there already; name another file, or remove it first") from None
        except OSError as error:
            raise RecordingError(
                f"cannot write a recording to {escape(str(path))}: {error.strerror}; name another file"
            ) from None
        self._file = descriptor
        self._waiting = bytearray()
        self._whole = 0
        """Bytes of whole lines that the system has taken."""
        self._write(header.to_json())
        self.flush()

    def event(self, event: Event) -> None:
        """Append an event."""
        if self.trouble:
            return
        if self._max_bytes is not None and self.written > self._max_bytes:
            self.incomplete(f"the file has reached {self._max_bytes} bytes (--max-bytes)")
            return
        self.events += 1
        self._write(event.to_json())

    def incomplete(self, why: str) -> None:
        """Remember that events are missing, and why; the first reason stays. Nothing is written any more but the footer."""
        self.trouble = self.trouble or why

    def flush(self) -> None:
        """Hand over to the system what was written so far; of what it does not take as a whole, nothing stays in the file."""
        waiting, self._waiting = memoryview(bytes(self._waiting)), bytearray()
        taken = 0
        try:
            while taken < len(waiting):
                taken += os.write(self._file, waiting[taken:])
        except OSError as error:
            self.incomplete(f"the disk took no more: {error.strerror or error}")
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, self._whole)
                os.lseek(self._file, self._whole, os.SEEK_SET)
        else:
            self._whole += taken

    def close(self, counts: Mapping[str, int], findings: Mapping[str, int] | None = None) -> None:
        """Write the footer, if the disk takes it, and close the file."""
        self.flush()
        footer = Footer(now(), not self.trouble, self.trouble, {**counts, "events": self.events}, findings or {})
        self._write(footer.to_json())
        self.flush()
        with contextlib.suppress(OSError):
            os.close(self._file)

    def discard(self) -> None:
        """Close the file and take it away, as if there had been none."""
        with contextlib.suppress(OSError):
            os.close(self._file)
        self.path.unlink(missing_ok=True)

    def _write(self, line: dict[str, Any]) -> None:
        text = _line(line)
        self._waiting += text
        self.written += len(text)
        if len(self._waiting) > FLUSHED_AT:
            self.flush()


class Recording:
    """A recording that is read: its header at once, the events as they are asked for, and then its footer."""

    def __init__(self, path: Path) -> None:
        """Open a file and read its header.

        Raises:
            RecordingError: it cannot be read or does not begin with the header of a recording.
        """
        self.path = path
        self.footer: Footer | None = None
        """How it ended; None before all events were read, and where the recording was cut short."""
        self.cut = ""
        """Where it was cut short, in words, once all events were read; empty: it was not."""
        try:
            self._file = path.open("rb")
        except IsADirectoryError:
            raise RecordingError(
                f"{escape(str(path))} is a folder, and a recording is a file; the results of a run are for 'lmconform report'"
            ) from None
        except OSError as error:
            raise RecordingError(f"cannot read {escape(str(path))}: {error.strerror}") from None
        self._number = 0
        try:
            self.header = self._read_header()
        except RecordingError:
            self.close()
            raise

    @property
    def complete(self) -> bool:
        """Whether everything that happened is in it; known once all events were read."""
        return self.footer is not None and self.footer.complete

    @property
    def trouble(self) -> str:
        """Why it is not complete; empty if it is."""
        if self.footer is None:
            return self.cut or "it has no footer: it is being written, or the tap was killed"
        return "" if self.footer.complete else self.footer.why or "its footer says so"

    def events(self) -> Iterator[Event]:
        """The events in order; once.

        Raises:
            RecordingError: a line is none of a recording.
        """
        count = 0
        while (line := self._next()) is not None:
            if self.footer is not None:
                raise RecordingError(
                    f"{self._place()}: nothing may stand behind the footer; are these two recordings in one file?"
                )
            if line["record"] == "header":
                raise RecordingError(f"{self._place()}: a second header; are these two recordings in one file?")
            if line["record"] == "footer":
                self.footer = Footer.from_json(line)
                continue
            count += 1
            if count > MOST_EVENTS:
                raise RecordingError(f"{self._place()}: more than {MOST_EVENTS} events; record for a shorter time (--for)")
            try:
                yield Event.from_json(line)
            except ValueError:
                raise RecordingError(f"{self._place()}: member data: an odd number of hexadecimal digits") from None

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def _read_header(self) -> Header:
        line = self._next()
        if line is None:
            raise RecordingError(f"{escape(str(self.path))}: the file is empty; recordings are what 'lmconform tap' writes")
        if line["record"] != "header":
            raise RecordingError(
                f"{self._place()}: a recording begins with its header, which this file does not; "
                "recordings are what 'lmconform tap' writes"
            )
        header = Header.from_json(line)
        try:
            dt.datetime.fromisoformat(header.started).timestamp()
            if header.profile is not None:
                Release.parse(header.profile)
        except UnknownReleaseError as error:
            raise RecordingError(f"{self._place()}: member profile: {escape(str(error))}") from None
        except (ValueError, OverflowError):
            raise RecordingError(f"{self._place()}: member started: {clip(ascii(header.started), 80)} is no time") from None
        return header

    def _next(self) -> dict[str, Any] | None:
        text = self._file.readline(LONGEST_LINE + 1)
        if not text:
            return None
        self._number += 1
        if len(text) > LONGEST_LINE:
            raise RecordingError(f"{self._place()}: longer than {LONGEST_LINE} bytes; no tap writes such a line")
        whole = text.endswith(b"\n")
        try:
            line = JSON_LINE.decode(text.decode("utf-8-sig"))
        except (ValueError, RecursionError) as error:
            if not whole and self._number > 1:
                self.cut = f"it ends in the middle of line {self._number}"
                return None
            why = _WHY_NO_JSON.get(type(error)) or escape(str(error))
            raise RecordingError(f"{self._place()}: not JSON: {clip(why, 200)}") from None
        if self._number == 1 and isinstance(line, dict) and {"client", "releases", "targets"} <= line.keys():
            file = escape(str(self.path))
            raise RecordingError(
                f"{file} holds the results of a run, and no recording; 'lmconform report {file}' explains its failures"
            )
        fault = LINES.fault_in(line)
        if fault is not None:
            raise RecordingError(f"{self._place()}: {escape(fault)}")
        found: dict[str, Any] = line
        return found

    def _place(self) -> str:
        return f"{escape(str(self.path))}, line {self._number}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


@dataclass(frozen=True)
class Loaded:
    """A recording in memory."""

    header: Header
    events: tuple[Event, ...]
    footer: Footer | None
    trouble: str
    """Why it is not complete; empty if it is."""


def load(path: Path) -> Loaded:
    """Read a whole recording.

    Raises:
        RecordingError: the file cannot be read, or a line is none of a recording; the message names both.
    """
    with Recording(path) as recording:
        events = tuple(recording.events())
        return Loaded(recording.header, events, recording.footer, recording.trouble)


def now() -> str:
    """This moment, in UTC, as files hold it."""
    return dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds")


def _line(value: dict[str, Any]) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=True).encode() + b"\n"


_WHY_NO_JSON: Final[dict[type[Exception], str]] = {UnicodeDecodeError: "not UTF-8", RecursionError: "nested too deeply"}
