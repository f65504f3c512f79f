"""``lmconform verify``: is the corpus as it was captured?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fixturegen.corpus import captured_releases, corpus_root, folders_without_manifest, load_corpus
from fixturegen.errors import CorpusError
from fixturegen.index import INDEX_NAME, read_index
from fixturegen.manifest import Protocol
from reports.verdict import ExitCode
from wire.release import Release


def command(
    corpus: Annotated[Path | None, typer.Option("--corpus", help="Folder of the corpus (default: cases/corpus).")] = None,
) -> int:
    """Hash every line and every file of the corpus again, and name whatever was edited.

    Exit codes: 0 untouched, 2 something differs.
    """
    releases, mp_releases = captured_releases(corpus), captured_releases(corpus, protocol="mp")
    if not releases and not mp_releases:
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
    wires: list[tuple[Protocol, list[Release]]] = [("lm", releases), ("mp", mp_releases)]
    for protocol, names in wires:
        for release in names:
            problems += _looked_at(release, protocol, corpus)
    return int(ExitCode.USAGE if problems else ExitCode.CONFORMANT)


def _looked_at(release: Release, protocol: Protocol, corpus: Path | None) -> int:
    """Read one protocol of a release and say what was found; 1 where something differs."""
    name = str(release) if protocol == "lm" else f"{release} {protocol}"
    try:
        found = load_corpus(release, corpus, every_line=True, protocol=protocol)
    except CorpusError as error:
        typer.echo(f"{name}: {error}", err=True)
        return 1
    vectors = sum(len(entries) for entries in found.vectors.values())
    typer.echo(f"{name}: {vectors} vectors and {len(found.transcripts) + len(found.mp_transcripts)} transcripts, as captured")
    return 0
