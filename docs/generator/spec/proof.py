"""How much stands behind the specification: captures, conversations, requirements and cases."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from docs.generator.requirements import citing_cases
from docs.generator.spec.corpus import Protocol, captured, captures
from docs.generator.spec.words import spans
from docs.generator.table import table
from harness.requirements import Requirement, load_requirements

_WIRES: Final[dict[Protocol, str]] = {"lm": "`lm://`, keys, hashes and layouts", "mp": "the multiprocess server"}
_LEVELS: Final = ("MUST", "SHOULD", "MAY")


def counts() -> str:
    """Captured releases, answers and conversations of each wire."""
    return table(
        ("captured of", "releases", "which", "answers of the real code", "conversations with the real server"), _counts()
    )


def _counts() -> Iterator[tuple[str, ...]]:
    for protocol, name in _WIRES.items():
        releases = captured(protocol)
        held = [captures(release, protocol) for release in releases]
        answers = sum(len(vectors) for each in held for vectors in each.vectors.values())
        conversations = sum(len(each.transcripts) + len(each.mp_transcripts) for each in held)
        yield name, str(len(releases)), spans(releases), f"{answers:,}", f"{conversations:,}"


def requirements() -> str:
    """Requirements by page and level, and how many of them a case cites."""
    return table(("page", *_LEVELS, "checked by a case", "of no case, with the reason"), _requirements())


def _requirements() -> Iterator[tuple[str, ...]]:
    citing = citing_cases()
    by_page: dict[str, list[Requirement]] = {}
    for one in load_requirements().values():
        by_page.setdefault(one.document, []).append(one)
    for page, held in by_page.items():
        levels = [str(sum(one.level == level for one in held)) for level in _LEVELS]
        checked = sum(bool(citing[one.id]) for one in held)
        yield f"[{page.removesuffix('.md')}]({page})", *levels, str(checked), str(len(held) - checked)
