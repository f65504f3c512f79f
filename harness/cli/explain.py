"""``lmconform explain``: what happened in a recording."""

from __future__ import annotations

import io
import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from harness.cli.numbers import whole
from harness.files import write_document
from harness.usage import UsageError
from reports.verdict import ExitCode
from wire.release import Release

if TYPE_CHECKING:
    from harness.tap.story import Story


class Format(StrEnum):
    """How the story is told."""

    TEXT = "text"
    HTML = "html"
    JSON = "json"
    PCAP = "pcap"


class Only(StrEnum):
    """What of it is told."""

    ALL = "all"
    FINDINGS = "findings"


def command(
    recording: Annotated[Path, typer.Argument(metavar="FILE", help="A recording of 'lmconform tap'.", show_default=False)],
    form: Annotated[
        Format, typer.Option("--format", help="pcap: packets for Wireshark; zero bytes stand for payload that was left out.")
    ] = Format.TEXT,
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Write there; not given: to standard output.")] = None,
    connection: Annotated[
        int | None, typer.Option("--connection", metavar="NUMBER", parser=whole(1), help="Only this connection.")
    ] = None,
    only: Annotated[Only, typer.Option("--only", help="findings: leave out what was said.")] = Only.ALL,
    profile: Annotated[
        str | None, typer.Option("--profile", metavar="RELEASE", help="The release that both sides should be.")
    ] = None,
) -> int:
    """Tell what happened in a recording: who talked, what was said, what release each side seems to be, and what is wrong.

    Exit code: 0 nothing is wrong, 1 an error or a warning was found, 2 the file is no recording.
    """
    from harness.tap.explain import read_story
    from harness.tap.text import only_connection

    if out is not None and out.resolve() == recording.resolve():
        raise UsageError(f"--out {out}: that is the recording itself; name another file")
    if form is Format.PCAP:
        _write_packets(recording, out)
        _say_written(form, out, recording)
        return int(ExitCode.CONFORMANT)
    story = read_story(recording, Release.parse(profile) if profile is not None else None)
    if connection is not None:
        story = only_connection(story, connection)
        if not story.conversations:
            raise UsageError(f"there is no connection {connection} in {recording}")
    if only is Only.FINDINGS:
        story.conversations.clear()
    _write(story, form, out)
    _say_written(form, out, recording)
    return int(ExitCode.NOT_CONFORMANT if story.guilty else ExitCode.CONFORMANT)


def _say_written(form: Format, out: Path | None, recording: Path) -> None:
    if out is not None:
        typer.echo(f"{out}: {form} of {recording}", err=True)


def _write_packets(recording: Path, out: Path | None) -> None:
    from harness.tap.explain import write_pcap

    if out is None and sys.stdout.isatty():
        raise UsageError("a capture file is not for a terminal; name a file with --out")
    packets = io.BytesIO()
    write_pcap(recording, packets)
    write_document(packets.getvalue(), out)


def _write(story: Story, form: Format, out: Path | None) -> None:
    from harness.tap.page import story_page
    from harness.tap.story import story_to_json
    from harness.tap.text import story_lines
    from reports.layout import fit

    console = Console(highlight=False)
    if form is Format.TEXT and out is None and console.is_terminal:
        for line in story_lines(story, fit(console.width)):
            console.print(line, soft_wrap=True)
    else:
        if form is Format.HTML:
            text = story_page(story)
        elif form is Format.JSON:
            text = json.dumps(story_to_json(story), indent=2) + "\n"
        else:
            text = "".join(f"{line.plain}\n" for line in story_lines(story, fit(console.width if out is None else 100)))
        write_document(text.encode(), out)
