"""The cases by topic, and which requirement is checked by what and kept by whom."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from reports.run.page import html as page_of_run
from reports.site.judged import MEANINGS, TONES, Judged, run_page
from reports.site.links import requirement_page
from reports.site.model import Case, Content
from reports.site.rendering import Renderer

GROUPS: Final = {
    "keys": "Keys and hashes",
    "layouts": "Layouts of a chunk",
    "lm": "Clients of lm://",
    "mp": "The multiprocess wire",
    "servers": "Servers of lm://",
    "l2": "Storage plugins",
    "remote": "Remote connectors",
}
"""First parts of the names of cases, in words."""


def pages(content: Content, renderer: Renderer, judged: Sequence[Judged]) -> Iterator[tuple[str, bytes]]:
    """``cases/``, ``coverage.html`` and ``runs/``."""
    groups: dict[str, dict[str, list[Case]]] = {}
    for case in content.cases.values():
        groups.setdefault(case.group, {}).setdefault(case.topic, []).append(case)
    yield (
        "cases/index.html",
        renderer.page("cases/index.html", "cases_index.html.j2", title="Cases", section="cases", groups=groups, titles=GROUPS),
    )
    killed: dict[str, int] = {}
    for mutant in content.mutants:
        for name in mutant.cases:
            killed[name] = killed.get(name, 0) + 1
    for group, topics in groups.items():
        path = f"cases/{group}.html"
        title = f"Cases: {GROUPS.get(group, group)}"
        yield path, renderer.page(path, "cases.html.j2", title=title, section="cases", topics=topics, killed=killed)
    yield (
        "coverage.html",
        renderer.page(
            "coverage.html",
            "coverage.html.j2",
            title="Coverage",
            section="coverage",
            judged=judged,
            runs=content.runs,
            run_page=run_page,
            rows=[
                (one, content.citing.get(one.id, ()), [who.of(content.citing.get(one.id, ()), one.id) for who in judged])
                for one in content.requirements.values()
            ],
            documents=list(dict.fromkeys(one.document for one in content.requirements.values())),
            legend=[(letter, TONES[letter], words) for letter, words in MEANINGS if content.runs or letter in "pk"],
            requirement_page=requirement_page,
        ),
    )
    for number, run in enumerate(content.runs, 1):
        yield run_page(number), page_of_run(run).encode()
