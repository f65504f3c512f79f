"""Which releases of lmcache the package index offers for the pinned interpreter: asked, and kept with the corpus."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

from fixturegen.corpus import captured_releases, corpus_root
from fixturegen.errors import CorpusError, EnvironmentUnavailable
from fixturegen.settings import OFFLINE_SETTING, offline, pip_arguments
from fixturegen.vector import content_hash
from wire.errors import UnknownReleaseError
from wire.release import Release

INDEX_NAME: Final = "index.json"
ASK_TIMEOUT: Final = 120.0
_VERSIONS: Final = re.compile(r"^Available versions: (.+)$", re.MULTILINE)


def offered_releases() -> list[Release]:
    """The releases with a wheel for CPython 3.11 that the package index lists now, oldest first.

    Pre-releases, and releases older than the tables of ``wire``, are left out.

    Raises:
        EnvironmentUnavailable: the index cannot be asked.
    """
    if offline():
        raise EnvironmentUnavailable(f"{OFFLINE_SETTING} forbids asking the package index for releases; name them instead")
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", "index", "versions", "lmcache"]
    try:
        done = subprocess.run(
            [*command, "--only-binary", ":all:", "--python-version", "3.11", *pip_arguments()],
            capture_output=True,
            text=True,
            timeout=ASK_TIMEOUT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise EnvironmentUnavailable(f"pip did not list the releases of lmcache within {ASK_TIMEOUT:.0f} s") from None
    found = _VERSIONS.search(done.stdout)
    if done.returncode != 0 or found is None:
        last = done.stderr.strip().splitlines()[-1:] or ["it printed no list"]
        raise EnvironmentUnavailable(f"pip cannot list the releases of lmcache: {last[0]}; name them instead")
    releases = []
    for text in found[1].split(","):
        try:
            releases.append(Release.parse(text))
        except UnknownReleaseError:
            continue
    return sorted(releases)


def write_index(releases: list[Release], root: Path | None = None) -> None:
    """Keep the list with the corpus."""
    folder = root or corpus_root()
    folder.mkdir(parents=True, exist_ok=True)
    body = {"package": "lmcache", "python": "3.11", "releases": [str(release) for release in releases]}
    (folder / INDEX_NAME).write_text(json.dumps({**body, "seal": content_hash(body)}, indent=2) + "\n", encoding="utf-8")


def read_index(root: Path | None = None) -> list[Release]:
    """The list that was kept.

    Raises:
        CorpusError: the file is missing or damaged.
    """
    path = (root or corpus_root()) / INDEX_NAME
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        seal = document.pop("seal")
        releases = [Release.parse(text) for text in document["releases"]]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, UnknownReleaseError) as error:
        raise CorpusError(f"{path}: no list of releases ({error}); run 'lmconform capture all'") from None
    if seal != content_hash(document):
        raise CorpusError(f"{path}: edited after it was written (its seal does not match); run 'lmconform capture all'")
    return releases


def missing_releases(root: Path | None = None) -> list[Release]:
    """What the index offers now and the corpus lacks, oldest first.

    Raises:
        EnvironmentUnavailable: the index cannot be asked.
    """
    captured = captured_releases(root)
    return [release for release in offered_releases() if release not in captured]
