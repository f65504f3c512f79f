"""Who can talk to whom: measured once on the real servers and shipped, given as a file, or played now against mocks."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from fixturegen.corpus import corpus_fingerprint
from harness.compat.run import CompatOptions, run_compat
from harness.usage import UsageError
from reports.compat.document import from_json
from reports.compat.model import CompatResult
from wire.release import Release

SHIPPED: Final = Path(__file__).resolve().parent / "compat.json.gz"
"""What ``lmconform compat --format json`` wrote of all captured releases and their real servers."""
_PACKED: Final = b"\x1f\x8b"


def compatibility(
    releases: Sequence[Release], given: Path | None, progress: Callable[[str], None], shipped: Path = SHIPPED
) -> CompatResult:
    """The matrix of some releases.

    Raises:
        UsageError: the file that was given cannot be read, or lacks one of the releases.
    """
    if given is not None:
        return _part(read_matrix(given), releases, given)
    measured = read_matrix(shipped)
    known = {*measured.clients, *measured.servers}
    if known.issuperset(map(str, releases)) and measured.corpus == corpus_fingerprint(sorted(map(Release.parse, known))):
        return _part(measured, releases, shipped)
    progress("the captures are others than those of the matrix that comes with lmconform: playing all pairs against mocks")
    return run_compat(CompatOptions(releases, releases, target="mock"), progress)


def read_matrix(path: Path) -> CompatResult:
    """The document of a matrix, packed with gzip or not.

    Raises:
        UsageError: it cannot be read, or is none.
    """
    try:
        data = path.read_bytes()
        return from_json(json.loads(gzip.decompress(data) if data.startswith(_PACKED) else data))
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror or error}") from None
    except (ValueError, EOFError, RecursionError) as error:
        raise UsageError(f"{path}: {error}; 'lmconform compat --format json --out {path.name}' writes such a file") from None


def _part(result: CompatResult, releases: Sequence[Release], path: Path) -> CompatResult:
    names = [str(release) for release in sorted(releases)]
    missing = [name for name in names if name not in result.clients or name not in result.servers]
    if missing:
        raise UsageError(
            f"{path}: nothing is said of lmcache {missing[0]}; narrow --releases, or measure with 'lmconform compat'"
        )
    return replace(
        result,
        clients=tuple(names),
        servers=tuple(names),
        cells={(one, other): result.cell(one, other) for one in names for other in names},
        same_client=_within(result.same_client, names),
        same_server=_within(result.same_server, names),
    )


def _within(groups: Sequence[Sequence[str]], names: Sequence[str]) -> list[list[str]]:
    """What is left of groups of releases."""
    left = ([name for name in group if name in names] for group in groups)
    return [group for group in left if group]
