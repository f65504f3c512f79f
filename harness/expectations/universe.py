"""Whether a pattern means any case at all, also one that a run does not select."""

from __future__ import annotations

from collections.abc import Mapping

from fixturegen.corpus import captured_releases
from harness.case import TARGETS, CaseSpec, cells
from harness.expectations.entry import Entry
from harness.patterns import literal_start, matches


def pattern_exists(pattern: str, entry: Entry, specs: Mapping[str, CaseSpec | None]) -> bool:
    """Whether it matches an execution on a captured release and a target that the entry means.

    ``specs`` are all cases by topic and name.
    """
    start = literal_start(pattern)
    releases = [release for release in captured_releases() if entry.means_release(release)]
    targets = [target for target in TARGETS if not entry.targets or target in entry.targets]
    for name, spec in specs.items():
        near = f"{name}["
        if spec is None or not (near.startswith(start) or start.startswith(near)):
            continue
        if any(matches(pattern, f"{name}[{cell.id}]") for cell in cells(spec, releases, targets)):
            return True
    return False
