"""Examples that once showed a defect, kept for good: one JSON line each, in ``replies.jsonl`` and ``programs.jsonl``.

A line has an ``id`` that never changes, the day it was ``found``, ``what`` it shows, the ``releases`` it holds for, the
classes of ``outcome`` that are right, and either a ``reply`` (what a client asks and the bytes that it gets) or a
``program`` (the steps of :mod:`cases.lm.play`). ``counterexample.schema.json`` is its form.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Literal

from harness.case import Variant
from harness.failure import CaseFailure
from wire.lm.profile import LmProfile
from wire.release import Release, ReleaseRange

DIRECTORY: Final = Path(__file__).parent
SCHEMA: Final = DIRECTORY / "counterexample.schema.json"
Kind = Literal["reply", "program"]
FILES: Final[Mapping[Kind, str]] = {"reply": "replies.jsonl", "program": "programs.jsonl"}


@functools.cache
def counterexamples(kind: Kind) -> Sequence[Mapping[str, Any]]:
    """Every kept example of a kind."""
    text = (DIRECTORY / FILES[kind]).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines() if line]


def kept(kind: Kind) -> Callable[[Release], Sequence[Variant]]:
    """Variants: the kept examples of a kind that hold for the release."""

    def chosen(release: Release) -> Sequence[Variant]:
        found = [example for example in counterexamples(kind) if release in ReleaseRange.parse(example["releases"])]
        return [Variant(example["id"], example) for example in found]

    return chosen


def kept_as(failure: CaseFailure, profile: LmProfile, members: Mapping[str, Any]) -> CaseFailure:
    """The same failure, which tells the example that shows it as a line that can be kept here."""
    about = {"id": "NAME-IT", "found": "YYYY-MM-DD", "what": "SAY-WHAT", "releases": str(profile.release)}
    line = json.dumps({**about, **members}, ensure_ascii=True)
    return type(failure)(replace(failure.diagnosis, counterexample=line))
