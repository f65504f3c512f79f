"""``lmconform capture``: ask the real lmcache."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from fixturegen.capture import capture
from fixturegen.corpus import corpus_root, load_corpus
from fixturegen.environment import open_environment
from harness.cli import options
from harness.matrix import parse_runtime
from wire.release import Release


def command(
    releases: Annotated[list[str], typer.Argument(metavar="RELEASE...", help="Releases of lmcache, such as 0.5.6.")],
    runtime: options.Runtime = "venv",
    out: Annotated[Path | None, typer.Option("--out", help="Folder of the corpus (default: cases/corpus).")] = None,
) -> None:
    """Capture frames, keys and conversations from the real, unmodified lmcache into the corpus.

    Builds the pinned environment on first use (a venv, or with --runtime docker an image). Everything is asked twice, in two
    processes; what differs fails the capture unless it is known to differ, and then says why.
    """
    chosen = [Release.parse(text) for text in releases]
    environment = open_environment(parse_runtime(runtime))
    console = Console(stderr=True, highlight=False)
    for release in chosen:
        folder = capture(release, environment, root=out, progress=console.print)
        corpus = load_corpus(release, out or corpus_root())
        vectors = sum(len(found) for found in corpus.vectors.values())
        typer.echo(f"{folder}: {vectors} vectors, {len(corpus.transcripts)} transcripts")
