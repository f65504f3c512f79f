"""``lmconform capture``: ask the real lmcache."""

from __future__ import annotations

import concurrent.futures
import contextlib
import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from fixturegen.capture import Progress, capture
from fixturegen.corpus import captured_releases, corpus_root, load_corpus
from fixturegen.environment import PinnedEnvironment, open_environment
from fixturegen.errors import CaptureError, CorpusError, EnvironmentUnavailable
from fixturegen.index import missing_releases, offered_releases, write_index
from fixturegen.manifest import Protocol
from fixturegen.mp.capture import capture_mp
from harness.cli import options
from harness.cli.numbers import whole
from harness.machine import at_once
from harness.usage import UsageError, parse_runtime, require_writable
from reports.verdict import ExitCode
from wire.mp.operations import FIRST_RELEASE
from wire.release import Release

ALL = "all"
LATEST = "latest"
MEMORY_OF_ONE = 4 << 30
"""Bytes that one capture may need: two interpreters with torch, and what they allocate."""


class Format(StrEnum):
    """How a capture tells what it did."""

    TEXT = "text"
    JSON = "json"


class Protocols(StrEnum):
    """What is captured of a release."""

    LM = "lm"
    MP = "mp"
    ALL = "all"

    def of(self, release: Release) -> list[Protocol]:
        """The protocols to capture: all of them are those that the release has.

        Raises:
            UsageError: the release does not have the one that is wanted.
        """
        has_mp = release >= FIRST_RELEASE
        if self is Protocols.MP and not has_mp:
            raise UsageError(f"lmcache {release} has no multiprocess protocol; it is there from {FIRST_RELEASE} on")
        wanted: dict[Protocol, bool] = {"lm": self is not Protocols.MP, "mp": self is not Protocols.LM and has_mp}
        return [name for name, is_wanted in wanted.items() if is_wanted]


@dataclass(frozen=True)
class Ended:
    """One capture that ended, well or with a problem."""

    release: Release
    folder: Path | None = None
    vectors: int = 0
    transcripts: int = 0
    problem: str | None = None


def command(
    releases: Annotated[
        list[str],
        typer.Argument(
            metavar="RELEASE...",
            help="Releases such as 0.5.6; 'all' that the index offers and the corpus lacks; or 'latest', the newest of those.",
        ),
    ],
    runtime: options.Runtime = "venv",
    out: Annotated[Path | None, typer.Option("--out", help="Folder of the corpus (default: cases/corpus).")] = None,
    protocol: Annotated[
        Protocols,
        typer.Option(
            "--protocol",
            help="lm: codecs, keys and the lm:// server; mp: the multiprocess protocol; all: what the release has of both.",
        ),
    ] = Protocols.ALL,
    again: Annotated[bool, typer.Option("--again", help="With 'all': capture also what the corpus has.")] = False,
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs", "-j", metavar="NUMBER", parser=whole(1), help="Captures at once (default: as processors and memory allow)."
        ),
    ] = None,
    form: Annotated[
        Format, typer.Option("--format", help="What is printed at the end: text, or json for programs.")
    ] = Format.TEXT,
) -> int:
    """Capture frames, keys and conversations from the real, unmodified lmcache into the corpus.

    Builds the pinned environment on first use (a venv, or with --runtime docker an image). By default both wires of a release are
    captured; it has the multiprocess protocol from 0.3.9.post1 on. Everything is asked twice, in two
    processes; what differs fails the capture unless it is known to differ, and then says why. 'all' goes on where an earlier
    call stopped.

    The JSON document names what was captured, each release with the captured one before it ('previous'), and what failed.
    """
    runtime_name = parse_runtime(runtime)
    chosen = _chosen(releases, out, protocol, again=again)
    if not chosen:
        typer.echo(_document([], out) if form is Format.JSON else "the corpus has every release that the package index offers")
        return int(ExitCode.CONFORMANT)
    require_writable(out or corpus_root(), "the corpus")
    environment = open_environment(runtime_name)
    # What all captures need is built once; what is wrong with this one release is told when its turn comes.
    with contextlib.suppress(EnvironmentUnavailable):
        environment.prepare(chosen[0])
    ended = _capture_each(chosen, protocol, environment, out, form, jobs or at_once(len(chosen), memory_of_one=MEMORY_OF_ONE))
    failures = [one for one in ended if one.problem is not None]
    if form is Format.JSON:
        typer.echo(_document(ended, out))
    elif len(chosen) > 1:
        typer.echo(f"{len(chosen) - len(failures)} of {len(chosen)} releases captured")
    for one in failures:
        typer.echo(f"lmconform: {one.release}: {one.problem}", err=True)
    return int(ExitCode.UNDECIDED if failures else ExitCode.CONFORMANT)


def _chosen(words: Sequence[str], out: Path | None, protocol: Protocols, *, again: bool) -> list[Release]:
    special = {ALL, LATEST} & set(words)
    if special and len(words) > 1:
        raise UsageError(f"{special.pop()!r} stands alone; name releases, or 'all', or 'latest'")
    if ALL in words:
        offered = offered_releases()
        write_index(offered, out)
        if protocol is Protocols.MP:
            offered = [release for release in offered if release >= FIRST_RELEASE]
        return [release for release in offered if again or not _is_captured(release, out, protocol)]
    if LATEST in words:
        return missing_releases(out)[-1:]
    named = list(dict.fromkeys(Release.parse(text) for text in words))
    for release in named:
        protocol.of(release)
    return named


def _is_captured(release: Release, out: Path | None, protocol: Protocols) -> bool:
    return all(
        release in (captured_releases(out) if name == "lm" else captured_mp_releases(out)) for name in protocol.of(release)
    )


def captured_mp_releases(out: Path | None) -> list[Release]:
    """The releases whose multiprocess protocol is in a corpus."""
    return captured_releases(out, protocol="mp")


def _capture_each(
    chosen: Sequence[Release],
    protocol: Protocols,
    environment: PinnedEnvironment,
    out: Path | None,
    form: Format,
    jobs: int,
) -> list[Ended]:
    """Capture every release, each on its own."""
    console = Console(stderr=True, highlight=False)
    ending = threading.Event()

    def progress(text: str) -> None:
        if ending.is_set():
            raise CaptureError("interrupted")
        console.print(text)

    def one(release: Release) -> Ended:
        try:
            found = [_captured(release, name, environment, out, progress) for name in protocol.of(release)]
        except (CaptureError, CorpusError, EnvironmentUnavailable) as error:
            if len(chosen) == 1 and form is Format.TEXT:
                raise
            return Ended(release, problem=str(error))
        if form is Format.TEXT:
            for one in found:
                typer.echo(f"{one.folder}: {one.vectors} vectors, {one.transcripts} transcripts")
        return Ended(release, found[0].folder, sum(one.vectors for one in found), sum(one.transcripts for one in found))

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        try:
            return list(pool.map(one, chosen))
        except KeyboardInterrupt:
            ending.set()
            console.print("interrupted: this ends with the step that runs; what the corpus had is as it was")
            raise


def _captured(
    release: Release, protocol: Protocol, environment: PinnedEnvironment, out: Path | None, progress: Progress
) -> Ended:
    """Capture one protocol of a release, and count what came."""
    if protocol == "lm":
        folder = capture(release, environment, root=out, progress=progress)
        corpus = load_corpus(release, out or corpus_root())
    else:
        folder = capture_mp(release, environment, root=out, progress=progress)
        corpus = load_corpus(release, out or corpus_root(), protocol="mp")
    return Ended(
        release,
        folder,
        sum(len(found) for found in corpus.vectors.values()),
        len(corpus.transcripts) + len(corpus.mp_transcripts),
    )


def _document(ended: Sequence[Ended], out: Path | None) -> str:
    captured = captured_releases(out)

    def previous(release: Release) -> str | None:
        older = [other for other in captured if other < release]
        return str(older[-1]) if older else None

    document = {
        "captured": [
            {
                "release": str(one.release),
                "previous": previous(one.release),
                "folder": str(one.folder),
                "vectors": one.vectors,
                "transcripts": one.transcripts,
            }
            for one in ended
            if one.problem is None
        ],
        "failed": [{"release": str(one.release), "reason": one.problem} for one in ended if one.problem is not None],
    }
    return json.dumps(document, indent=2)
