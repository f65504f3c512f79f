"""``lmconform drift``: what changed on the wire between two releases."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.text import Text

from fixturegen.corpus import captured_releases, load_corpus
from harness.clients.spec import open_client
from harness.usage import UsageError
from reports.drift.claims import Claims, concern
from reports.drift.compare import compare
from reports.drift.document import document_text, drift_document, history_document
from reports.drift.history import history
from reports.drift.markdown import drift_markdown, history_markdown
from reports.drift.model import Drift, Level
from reports.drift.observe.observed import Observed, observe
from reports.drift.page import drift_page, history_page
from reports.drift.text import drift_lines, history_lines
from reports.terminal import make_console, show
from reports.verdict import ExitCode
from wire.release import Release

LATEST: Final = "latest"
FILE_WIDTH: Final = 120
"""Columns of text that is written to a file."""


class Format(StrEnum):
    """How a drift is written."""

    TEXT = "text"
    MD = "md"
    JSON = "json"
    HTML = "html"


class Protocol(StrEnum):
    """The wires that are compared."""

    ALL = "all"
    LM = "lm"
    MP = "mp"


class FailOn(StrEnum):
    """The level from which on the exit code is 1."""

    BREAKING = "breaking"
    BEHAVIOURAL = "behavioural"
    ADDITIVE = "additive"
    NEVER = "never"


def command(
    old: Annotated[str | None, typer.Argument(metavar="OLD", help="The older release, as 0.5.5.", show_default=False)] = None,
    new: Annotated[
        str | None,
        typer.Argument(
            metavar="NEW",
            help="The newer one, or 'latest'; without both, the newest two that are captured.",
            show_default=False,
        ),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="The whole history as one table, then every boundary.")] = False,
    form: Annotated[Format, typer.Option("--format", help="How it is written.")] = Format.TEXT,
    out: Annotated[Path | None, typer.Option("--out", help="Write to a file.")] = None,
    fail_on: Annotated[FailOn, typer.Option("--fail-on", help="Exit with 1 from this level on.")] = FailOn.BREAKING,
    claims: Annotated[
        str | None, typer.Option("--claims", metavar="RANGE", help="Releases that your client claims, such as '0.3.14 to 0.5.5'.")
    ] = None,
    client: Annotated[
        str | None, typer.Option("--client", metavar="SPEC", help="Ask a client which releases it claims, instead of --claims.")
    ] = None,
    corpus: Annotated[Path | None, typer.Option("--corpus", help="Folder of the corpus (default: cases/corpus).")] = None,
    protocol: Annotated[
        Protocol | None,
        typer.Option(
            "--protocol", help="Wires to compare (default: all; with --client those that it speaks).", show_default=False
        ),
    ] = None,
) -> int:
    """Show what changed on the wire between two captured releases, whom it breaks, and what a client must change.

    Everything comes from the captures of the two, also for a release that this version knows nothing of: 'lmconform capture
    latest', then 'lmconform drift'.

    Exit codes: 0 nothing at or above --fail-on, 1 something, 2 a release is unknown or not captured. With --claims or --client
    the level is the one that concerns this client.
    """
    captured = captured_releases(corpus)
    claimed, spoken = _claims(claims, client)
    wires = protocol or spoken
    if everything:
        if old or new:
            raise UsageError("--all compares every captured release; leave OLD and NEW away")
        return _all(captured, Captures(corpus, wires), form, out, fail_on, claimed)
    pair = _pair(captured, old, new)
    captures = Captures(corpus, wires)
    drift = captures.between(*pair)

    found = concern(claimed, drift, captured, captures.between) if claimed else None
    sentence = found.sentence if found else ""
    texts = {
        Format.JSON: lambda: document_text(drift_document(drift, found)),
        Format.MD: lambda: drift_markdown(drift, sentence),
        Format.HTML: lambda: drift_page(drift, sentence),
    }
    _write(out, texts.get(form), lambda width: drift_lines(drift, width, sentence))
    return _exit(found.level if found else drift.worst, fail_on)


def _all(
    captured: Sequence[Release], captures: Captures, form: Format, out: Path | None, fail_on: FailOn, claimed: Claims | None
) -> int:
    if len(captured) < 2:
        raise UsageError("the history needs two captured releases; run 'lmconform capture all'")
    observed = {release: captures.observed(release) for release in captured}
    found = history(list(observed.values()))
    last = found.drifts[-1]
    about = concern(claimed, last, captured, lambda a, b: compare(observed[a], observed[b])) if claimed else None
    sentence = about.sentence if about else ""
    texts = {
        Format.JSON: lambda: document_text(history_document(found, about)),
        Format.MD: lambda: history_markdown(found, sentence),
        Format.HTML: lambda: history_page(found, sentence),
    }
    _write(out, texts.get(form), lambda width: history_lines(found, width, sentence))
    return _exit(about.level if about else found.worst, fail_on)


def _claims(claims: str | None, client: str | None) -> tuple[Claims | None, Protocol]:
    """What a client claims, and the wires that are meant if nobody names them."""
    if claims is not None and client is not None:
        raise UsageError("give --claims or --client, not both")
    if client is not None:
        session = open_client(client)
        try:
            return Claims.of_versions(session.description.releases), _spoken(session.description.operations)
        finally:
            session.stop()
    return (None if claims is None else Claims.parse(claims)), Protocol.ALL


def _spoken(operations: Collection[str]) -> Protocol:
    """The wires of which a client declares operations."""
    multiprocess = {name for name in operations if name.startswith("mp_")}
    if not multiprocess:
        return Protocol.LM
    return Protocol.ALL if set(operations) - multiprocess - {"connect", "close"} else Protocol.MP


def _pair(captured: Sequence[Release], old: str | None, new: str | None) -> tuple[Release, Release]:
    if old is None:
        if len(captured) < 2:
            raise UsageError("a drift needs two captured releases; run 'lmconform capture latest'")
        return captured[-2], captured[-1]
    if new is None:
        raise UsageError(f"give two releases, such as {old} {LATEST}, or none for the newest two, or --all")
    before = Release.parse(old)
    if new == LATEST and not captured:
        raise UsageError("the corpus is empty; run 'lmconform capture latest' first")
    after = captured[-1] if new == LATEST else Release.parse(new)
    return before, after


@dataclass(frozen=True)
class Captures:
    """The captures of a corpus, as far as they are compared."""

    corpus: Path | None
    wires: Protocol

    def observed(self, release: Release) -> Observed:
        """What the captures of a release show.

        Raises:
            CorpusError: the release is not captured, or its captures are damaged.
        """
        has_mp = self.wires is not Protocol.LM and release in captured_releases(self.corpus, protocol="mp")
        mp = load_corpus(release, self.corpus, protocol="mp") if has_mp else None
        return observe(load_corpus(release, self.corpus), mp, lm=self.wires is not Protocol.MP)

    def between(self, one: Release, other: Release) -> Drift:
        """What changed from one release to another."""
        return compare(self.observed(one), self.observed(other))


def _write(out: Path | None, text: Callable[[], str] | None, lines: Callable[[int], list[Text]]) -> None:
    """Write a document, or lines as wide as the terminal is."""
    if text is not None:
        if out:
            out.write_text(text(), encoding="utf-8")
        else:
            typer.echo(text(), nl=False)
    elif out:
        with out.open("w", encoding="utf-8") as file:
            show(make_console(file, width=FILE_WIDTH), lines(FILE_WIDTH))
    else:
        console = make_console()
        show(console, lines(console.width))


def _exit(level: Level, fail_on: FailOn) -> int:
    failed = fail_on is not FailOn.NEVER and level >= Level[fail_on.name]
    return int(ExitCode.NOT_CONFORMANT if failed else ExitCode.CONFORMANT)
