"""``lmconform verify``: is the corpus as it was captured?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fixturegen.corpus import captured_releases, corpus_root, folders_without_manifest, load_corpus
from fixturegen.errors import CorpusError
from fixturegen.index import INDEX_NAME, read_index
from reports.verdict import ExitCode


def command(
    corpus: Annotated[Path | None, typer.Option("--corpus", help="Folder of the corpus (default: cases/corpus).")] = None,
) -> int:
    """Hash every line and every file of the corpus again, and name whatever was edited.

    Exit codes: 0 untouched, 2 something differs.
    """
    releases = captured_releases(corpus)
    if not releases:
        raise CorpusError(f"no captured release in {corpus or 'the corpus'}; run 'lmconform capture RELEASE'")
    problems = 0
    for folder in folders_without_manifest(corpus):
        problems += 1
        typer.echo(f"{folder}: has no manifest.json, and so does not count; restore it, capture again or remove it", err=True)
    if ((corpus or corpus_root()) / INDEX_NAME).exists():
        try:
            read_index(corpus)
        except CorpusError as error:
            problems += 1
            typer.echo(f"{INDEX_NAME}: {error}", err=True)
    for release in releases:
        try:
            found = load_corpus(release, corpus, every_line=True)
        except CorpusError as error:
            problems += 1
            typer.echo(f"{release}: {error}", err=True)
            continue
        vectors = sum(len(entries) for entries in found.vectors.values())
        typer.echo(f"{release}: {vectors} vectors and {len(found.transcripts)} transcripts, as captured")
    return int(ExitCode.USAGE if problems else ExitCode.CONFORMANT)
