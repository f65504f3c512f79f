"""With what a run was made, for the foot of its page."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Final

from reports.plain import clip
from reports.results import Results
from reports.words import count

TEXT: Final = 300
LONG: Final = 2000
PARTS: Final = 40


def environment_facts(results: Results) -> list[tuple[str, str]]:
    """Labels and texts."""
    return [(label, text) for label, text in _facts(results) if text]


def _facts(results: Results) -> Iterator[tuple[str, str]]:
    header, client = results.header, results.header.client
    yield f"the {header.side} was started as", clip(client.spec, LONG)
    yield "it declares", _listed(client.operations, "operation")
    yield "and the releases", _listed(client.releases, "release")
    yield "its bugs are reported at", clip(client.issues or "", TEXT)
    yield "command line", clip(shlex.join(header.command_line), LONG)
    yield "began", header.started
    yield "ended", results.footer.ended if results.footer is not None else "it did not end"
    yield "lmconform", header.tool_version
    yield "Python", clip(header.python, TEXT)
    yield "machine", clip(header.platform, TEXT)
    yield "corpus", clip(header.corpus, TEXT)
    yield "seed of the examples", str(header.seed)
    chosen = header.selection
    if chosen is not None:
        yield "examples of each property", "the usual number" if chosen.examples is None else str(chosen.examples)
        yield "deadline of a call", f"{chosen.deadline:g} s"
        yield "patience at the start", f"{chosen.client_start:g} s"
        yield "live servers", clip(chosen.runtime, TEXT) if "live" in header.targets else ""
    listed = header.expectations
    if listed is not None:
        yield "list of known failures", f"{clip(listed.file, TEXT)}, sha256 {listed.sha256[:16]}"
    if header.merged is not None:
        for part in header.merged.parts[:PARTS]:
            told = f"{part.started}, {part.seconds:.1f} s, Python {part.python}, {part.platform}"
            yield f"shard {part.index} of {header.merged.count}", clip(told, TEXT)


def _listed(names: tuple[str, ...], noun: str) -> str:
    if not names:
        return ""
    shown = ", ".join(names)
    return clip(shown, TEXT) if len(names) <= 12 else f"{count(len(names), noun)}: {clip(', '.join(names), TEXT)}"
