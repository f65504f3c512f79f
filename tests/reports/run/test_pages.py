"""A run as Markdown and as HTML: what stands there, that nothing of a client acts there, and that it stays small."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest
from markdown_it import MarkdownIt

from reports.diagnosis import Diagnosis, FieldDifference, FrameDump, ValueDifference
from reports.expectation import Listed, ListFile, Standing
from reports.parts import Merged, Part, Selection, Shard
from reports.record import CaseRecord, RunFooter, RunHeader
from reports.results import Results
from reports.run.pages import LARGEST, html, markdown
from reports.verdict import Verdict, count_verdicts, exit_code

ENTRY = Listed(3, "fail", Standing.AS_LISTED, Verdict.FAIL, "it only connects", "2999-01-01")
FULL = Diagnosis(
    summary="1 of 36 bytes differs",
    requirement="LM-GET-004",
    level="MUST",
    statement="A client waits for all of it.",
    why_it_matters="a header arrives split now and then",
    fields=(FieldDifference(12, 4, "dtype", "2 (float16)", "1 (float16)"),),
    frames=(FrameDump("got", b"\x00\xff"),),
    rerun="lmconform run --only 'lm.get.header[0.5.6-mock]'",
)


@pytest.fixture
def run(header: RunHeader) -> Any:
    def make(*cases: CaseRecord, incomplete: str | None = None, **changes: Any) -> Results:
        counts = count_verdicts(case.verdict for case in cases)
        footer = RunFooter(counts, 4.25, exit_code(counts), "2026-01-02T03:05:05Z", complete=True)
        return Results(replace(header, **changes), cases, None if incomplete else footer, incomplete)

    return make


class Page(HTMLParser):
    """The elements of a page with their attributes, and all its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in {"meta", "br"}:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


class Rendered(Page):
    """Markdown as an independent parser renders it, and its text outside of code."""

    def __init__(self, text: str) -> None:
        self.outside = ""
        super().__init__(MarkdownIt("commonmark").enable("table").render(text))

    def handle_data(self, data: str) -> None:
        super().handle_data(data)
        if "code" not in self.open:
            self.outside += data


def test_the_verdict_comes_first(run: Any, make_case: Any) -> None:
    results = run(make_case(), make_case("lm.get.other", Verdict.FAIL, summary="s"))
    assert markdown(results).split("\n")[0] == "## NOT CONFORMANT"
    assert markdown(results).split("\n")[2] == "`2 cases in 4.2 s: 1 pass, 1 fail.`"
    headings = [tag for tag, _ in Page(html(results)).elements if tag in {"h1", "h2", "h3"}]
    assert headings.index("h1") == 0
    assert '<h1 class="bad">NOT CONFORMANT</h1>' in html(results)


def test_a_failure_has_its_requirement_its_first_difference_and_its_command(run: Any, make_case: Any) -> None:
    cases = [make_case("lm.get.header", Verdict.FAIL, variant=f"v{number}", diagnosis=FULL) for number in range(9)]
    text = markdown(run(*cases))
    for part in ("LM-GET-004 MUST", "A client waits.", "dtype at 0xc", "2 (float16)", "1 (float16)", FULL.rerun):
        assert part in text
    assert "8 more cases: 0.5.6-mock-v1, 0.5.6-mock-v2" in text
    assert text.count("1 of 36 bytes differs") == 1


@pytest.mark.parametrize(
    ("diagnosis", "place", "expected", "got"),
    [
        (Diagnosis("s", values=(ValueDifference("keys[0].end", 3, 4),)), "keys[0].end", "3", "4"),
        (Diagnosis("s", values=(ValueDifference("", None, 4, "not expected"),)), "the answer (not expected)", "null", "4"),
        (Diagnosis("s", expected={"a": 1}, got=0), "the answer", '{"a": 1}', "0"),
        (Diagnosis("s", conformant_answer="a miss", client_answered="error"), "the answer", "a miss", "error"),
    ],
)
def test_the_first_difference_is_shown_whatever_it_is(
    run: Any, make_case: Any, diagnosis: Diagnosis, place: str, expected: str, got: str
) -> None:
    text = markdown(run(make_case(verdict=Verdict.FAIL, diagnosis=diagnosis)))
    assert f"first difference: {place}\n  expected  {expected}\n  got       {got}\n" in text


def test_the_table_has_topics_and_releases(run: Any, make_case: Any) -> None:
    cases = [make_case(release="0.5.5"), make_case(), make_case("lm.put.a", Verdict.FAIL, summary="s"), make_case("lm.put.b")]
    lines = markdown(run(*cases)).split("\n")
    assert "| topic | `0.5.5` mock | `0.5.6` mock | " in lines
    assert "| `lm.get` | 1p | 1p | " in lines
    assert "| `lm.put` | . | 1p 1F | " in lines
    page = Page(html(run(*cases)))
    bad = [dict(members) for tag, members in page.elements if tag == "td" and members.get("class") == "cell bad"]
    assert len(bad) == 1
    assert re.findall(r'<td class="cell bad"><a href="#[^"]*">(.*?)</a></td>', html(run(*cases))) == ["1p 1F"]


@pytest.mark.parametrize("page", [markdown, html])
def test_known_failures_and_unexpected_passes_stand_apart(run: Any, make_case: Any, page: Any) -> None:
    passed = replace(ENTRY, standing=Standing.PASSED, ended=Verdict.PASS)
    known = make_case("lm.get.old", Verdict.KNOWN_FAILURE, reason="it only connects", expectation=ENTRY)
    repaired = make_case("lm.get.repaired", Verdict.UNEXPECTED_PASS, reason="passes, but entry 3", expectation=passed)
    text = page(run(known, repaired, expectations=ListFile("known.toml", "0" * 64, 3)))
    parts = re.split(r'<h2 id="[a-z]+">|### ', text)
    by_title = {part.split("<")[0].split("\n")[0]: part for part in parts}
    assert "lm.get.old" in by_title["Known failures"]
    assert "lm.get.repaired" in by_title["Unexpected passes"]
    assert "entry 3" in by_title["The list of known failures must be edited"]
    assert "Failures" not in by_title


@pytest.mark.parametrize("page", [markdown, html])
def test_an_incomplete_run_never_looks_like_a_pass(run: Any, make_case: Any, page: Any) -> None:
    text = page(run(make_case(), incomplete="there is no footer"))
    assert "INCOMPLETE" in text
    assert "there is no footer. Nothing is claimed about the client." in text
    assert "CONFORMANT" not in text


@pytest.mark.parametrize("page", [markdown, html])
def test_shards_and_merged_runs_say_what_they_are(run: Any, make_case: Any, page: Any) -> None:
    selection = Selection(8, "0" * 64, None, 15.0, 30.0, "venv")
    part = Part(2, "2026-01-02T03:04:05Z", 1.5, "3.11.7", "Linux", ("lmconform", "run"))
    assert "2 of 4" in page(run(make_case(), selection=selection, shard=Shard(2, 4)))
    assert "NO FAILURE IN THIS SHARD" in page(run(make_case(), selection=selection, shard=Shard(2, 4)))
    assert "1 of 4 shards" in page(run(make_case(), selection=selection, merged=Merged(4, (part,), ("shard 1/4 is missing",))))


WILD = (
    "<script>alert(1)</script> </pre></details> <img src=x onerror=alert(2)> [click](https://evil.example) "
    "![i](https://evil.example/i) @somebody #1 **bold** `code` ``` ~~~ | cell | {{ 7*7 }} {% raw %} &lt; \\` "
    "\x1b[2J \u202e \udc80 \n# heading\n```\n<b>x</b>\n| a |\n"
)


@pytest.fixture
def wild(run: Any, make_case: Any) -> Results:
    """A run in which everything that a client or a user controls is markup."""
    diagnosis = Diagnosis(
        summary=WILD,
        requirement="LM-GET-004",
        fields=(FieldDifference(0, 1, WILD, WILD, WILD, WILD),),
        values=(ValueDifference(WILD, WILD, {WILD: WILD}, WILD),),
        frames=(FrameDump(WILD, b"x"),),
        expected=WILD,
        got=WILD,
        client_answered=WILD,
        conformant_answer=WILD,
        provenance=WILD,
        counterexample=WILD,
        rerun=f"lmconform run --client {WILD}",
        client_stderr=WILD * 3,
    )
    cases = [
        make_case("lm.get.a", Verdict.FAIL, variant=WILD, diagnosis=diagnosis, reason=WILD, expectation=ENTRY),
        *(make_case(f"lm.get.a{number}", Verdict.CRASH, variant=WILD, summary=WILD) for number in range(250)),
        make_case("lm.get.b", Verdict.UNSUPPORTED, operation=WILD, reason=WILD),
        make_case("lm.get.c", Verdict.KNOWN_FAILURE, reason=WILD, expectation=ENTRY),
        make_case("lm.get.d", Verdict.UNEXPECTED_PASS, reason=WILD, expectation=replace(ENTRY, standing=Standing.PASSED)),
        make_case("lm.get.e", Verdict.PASS, reason=WILD, expectation=replace(ENTRY, outcome="flaky")),
    ]
    results: Results = run(*cases, python=WILD, platform=WILD, expectations=ListFile(WILD, "0" * 64, 3))
    client = replace(results.header.client, spec=WILD, name=WILD, version=WILD, language=WILD)
    return replace(results, header=replace(results.header, client=client))


def test_nothing_that_a_client_says_can_act_in_markdown(wild: Results) -> None:
    text = markdown(wild)
    assert all(line.isprintable() for line in text.split("\n"))
    page = Rendered(text)
    assert page.open == []
    assert "<script>alert(1)</script>" in page.text
    assert {tag for tag, _ in page.elements} <= {
        *("h2", "h3", "h4", "p", "ul", "li", "code", "pre", "strong", "table", "thead", "tbody", "tr", "th", "td")
    }
    for sign in ("<", "alert", "evil", "somebody", "bold", "cell", "7*7", "heading"):
        assert sign not in page.outside, sign


def test_no_text_is_lost_from_the_cells_of_tables(wild: Results) -> None:
    """A bar that ends a cell too early cuts off what follows."""
    subjects = re.findall(r"<td><code>(.*?)</code></td>", MarkdownIt("commonmark").enable("table").render(markdown(wild)))
    whole = [text for text in subjects if "alert(1)" in text]
    assert len(whole) >= 6
    assert all(("| cell |" in text and "heading" in text) or "characters in all)" in text for text in whole)


def test_nothing_that_a_client_says_can_act_in_html(wild: Results) -> None:
    text = html(wild)
    assert all(line.isprintable() for line in text.split("\n"))
    page = Page(text)
    assert page.open == []
    assert "<script>alert(1)</script>" in page.text
    tags = [tag for tag, _ in page.elements]
    assert not set(tags) & {"img", "iframe", "object", "form", "link", "base", "svg"}
    assert tags.count("script") == 2
    assert all(str(members["href"]).startswith("#") for tag, members in page.elements if tag == "a")
    attributes = {name for _, members in page.elements for name in members}
    assert attributes <= {
        *("lang", "charset", "name", "content", "http-equiv", "class", "scope", "open", "id", "href", "type", "tabindex", "role"),
        *("aria-label", "aria-labelledby", "aria-hidden", "colspan", "rowspan", "data-cause"),
    }


def test_nothing_that_a_client_says_can_act_in_the_data_of_the_page(wild: Results) -> None:
    raw = re.findall(r'<script type="application/json" id="data">(.*?)</script>', html(wild), re.DOTALL)
    assert len(raw) == 1
    assert raw[0].isascii()
    assert "<" not in raw[0]
    data = json.loads(raw[0])
    texts = [text for name in ("variants", "reasons") for text in data[name]]
    assert any("<script>alert(1)</script>" in text for text in texts)
    assert all(text.isprintable() for text in texts)
    for markup in (*data["told"].values(), *(line for line, _ in data["causes"])):
        inside = Page(markup)
        assert inside.open == []
        assert not {tag for tag, _ in inside.elements} & {"script", "img", "iframe", "object", "form", "link", "svg"}
        assert not [name for _, members in inside.elements for name in members if name.startswith("on")]


def test_the_page_allows_its_own_script_and_no_other(run: Any, make_case: Any) -> None:
    text = html(run(make_case()))
    script = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    assert len(script) == 1
    digest = base64.b64encode(hashlib.sha256(script[0].encode()).digest()).decode()
    policy = next(m["content"] for tag, m in Page(text).elements if tag == "meta" and "http-equiv" in m)
    assert f"script-src 'sha256-{digest}'" in str(policy)


def test_the_html_page_needs_nothing_else(run: Any, make_case: Any, header: RunHeader) -> None:
    text = html(run(make_case(), client=replace(header.client, issues=None)))  # its address is shown, as text
    assert not re.search(r"https?://|url\(|@import|src=|href=[\"'](?!#)", text)
    assert any("default-src 'none'" in str(members.get("content")) for _, members in Page(text).elements)
    assert "prefers-color-scheme: dark" in text


def test_a_page_of_very_many_failures_stays_small(run: Any, make_case: Any) -> None:
    cases = [
        make_case(
            f"lm.t{number}.c",
            Verdict.FAIL,
            variant=f"v{number}",
            release=f"0.{number % 40}.0",
            summary="東" * 4000,
            reason="r" * 4000,
        )
        for number in range(400)
    ]
    results = run(*cases)
    assert len(markdown(results).encode()) <= LARGEST
    assert markdown(results).startswith("## NOT CONFORMANT\n")
    assert len(html(results).encode()) < 4_000_000


def test_failures_beyond_those_explained_are_named_and_counted(run: Any, make_case: Any) -> None:
    cases = [make_case(f"lm.get.c{number}", Verdict.FAIL, summary=f"reason {number}") for number in range(100)]
    text = markdown(run(*cases))
    assert text.count("#### FAIL") == 20
    assert "- FAIL `lm.get.c20[0.5.6-mock]`: `reason 20`" in text
    assert "- and 30 more" in text
