"""Drift as text, Markdown, JSON and HTML."""

import html.parser
import io
import re
from dataclasses import replace

import pytest
from future_captures import observed
from jsonschema import Draft202012Validator

from reports.drift.compare import compare
from reports.drift.document import document_text, drift_document, drift_schema, history_document
from reports.drift.history import history
from reports.drift.markdown import drift_markdown, history_markdown
from reports.drift.model import Aspect, Change, Drift, Example, Level, Levels, Role, Side, Table
from reports.drift.page import drift_page, history_page
from reports.drift.text import drift_lines, history_lines
from reports.terminal import make_console, show

NASTY = "</code><script>alert(1)</script>|`a`\x1b[31m\u202e"


@pytest.fixture(scope="module")
def drift():
    return compare(observed("0.3.2"), observed("0.3.3"))


@pytest.fixture(scope="module")
def short_history():
    return history([observed(release) for release in ("0.3.1", "0.3.2", "0.3.3", "0.3.4", "0.3.5")])


@pytest.fixture
def nasty_drift():
    example = Example(f"lm.{NASTY}", Side(NASTY, b"\x00\x01"), None)
    change = Change(
        Aspect.ANSWERS, NASTY, Levels.all(Level.BREAKING), NASTY, (example,), (NASTY,), Table((NASTY, "b"), ((NASTY, "c"),))
    )
    return Drift("0.5.5", "0.5.6", (change,), 1, 0, 0, (NASTY,))


def text_of(lines, width=100):
    out = io.StringIO()
    show(make_console(out, width=width), lines)
    return out.getvalue()


class Tags(html.parser.HTMLParser):
    """Checks that tags are closed in order, and keeps the text."""

    VOID = frozenset({"meta", "br", "link"})

    def __init__(self):
        super().__init__()
        self.open, self.text, self.names = [], "", []

    def handle_starttag(self, tag, attrs):
        self.names.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def parsed(page):
    tags = Tags()
    tags.feed(page)
    assert tags.open == []
    return tags


def test_text_begins_with_the_two_releases_and_the_worst_level(drift):
    first = text_of(drift_lines(drift, 100)).splitlines()[0]
    assert first.startswith("lmcache 0.3.2 -> 0.3.3 ")
    assert first.endswith("BREAKING")


def test_text_says_for_each_role_how_badly_it_is_hit(drift):
    text = text_of(drift_lines(drift, 100))
    assert "a client that stores   breaking   5 breaking" in text
    assert "a client that loads    breaking   6 breaking" in text
    assert "a server               breaking   4 breaking" in text


@pytest.mark.parametrize("width", [60, 80, 100, 120])
def test_prose_fits_the_terminal(drift, width):
    lines = [
        line.plain for line in drift_lines(replace(drift, changes=tuple(replace(c, table=None) for c in drift.changes)), width)
    ]
    assert max(map(len, lines)) <= width


def test_text_shows_an_example_with_both_sides(drift):
    text = text_of(drift_lines(drift, 120))
    assert "shown by  lm.key.format.plain and 20 more" in text
    assert "0.3.2   vllm@meta-llama/Llama-3.1-8B@1@0@000000" in text
    assert "0.3.3   vllm@meta-llama/Llama-3.1-8B@1@0@1885667171979194497" in text


def test_text_of_no_change_says_on_what_grounds():
    drift = compare(observed("0.5.5"), observed("0.5.6"))
    text = " ".join(text_of(drift_lines(drift, 100)).split())
    assert f"Nothing changed on the wire: {drift.compared} inputs and conversations were captured from both releases" in text


def test_text_shows_what_a_capture_holds_without_letting_it_act(nasty_drift):
    text = text_of(drift_lines(nasty_drift, 100))
    assert "\x1b[31m" not in text
    assert "\u202e" not in text
    assert "\\x1b[31m" in text


@pytest.mark.parametrize("width", [80, 120])
def test_the_table_of_the_history_fits_the_terminal(short_history, width):
    grid = [line.plain for line in history_lines(short_history, width)]
    assert max(map(len, grid)) <= width


def test_all_captured_releases_fit_one_table_of_120_columns():
    from fixturegen.corpus import captured_releases

    found = history([observed(str(release)) for release in captured_releases()])
    lines = [line.plain for line in history_lines(found, 120)]
    assert max(map(len, lines)) <= 120
    row = next(line for line in lines if line.startswith("request header"))
    assert row.split()[-len(found.groups) :] == ["o", *["."] * (len(found.groups) - 1)]


def test_the_history_lists_every_boundary_with_its_changes(short_history):
    text = text_of(history_lines(short_history, 120))
    assert "0.3.2 -> 0.3.3" in text
    assert "X  Request header: 182 -> 186 bytes; location (4 bytes) is inserted at offset 16 (stores, loads, server)" in text
    assert "Nothing changed at the other 2 boundaries." in text


def test_markdown_has_a_table_for_roles_and_one_for_changes(drift):
    lines = drift_markdown(drift).splitlines()
    assert lines[0] == "# lmcache 0.3.2 -> 0.3.3: breaking"
    assert "|  | stores | loads | server | change |" in lines
    assert (
        "| 2 | - | breaking | breaking | Reply header: 32 -\\> 36 bytes; location (4 bytes) is appended at offset 32 |" in lines
    )


def test_markdown_shows_what_a_capture_holds_without_letting_it_act(nasty_drift):
    text = drift_markdown(nasty_drift)
    prose = re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)
    assert "\\<script\\>" in prose
    assert "<script>" not in prose.replace("\\<", "")
    assert "\x1b" not in text


def test_markdown_of_the_history_has_a_column_for_each_group(short_history):
    heading = history_markdown(short_history).splitlines()[2]
    assert heading == "| part | generation | 0.3.1 to 0.3.2 | 0.3.3 | 0.3.4 to 0.3.5 |"


@pytest.mark.parametrize("make", [drift_page, lambda drift: drift_page(drift, "a client")], ids=["plain", "claims"])
def test_a_page_is_well_formed_and_needs_nothing_else(drift, make):
    page = parsed(make(drift))
    assert not [name for name, attrs in page.names if name in {"script", "link", "img"} or "src" in attrs]
    assert "Request header: 182 -> 186 bytes" in page.text


def test_a_page_shows_what_a_capture_holds_without_letting_it_act(nasty_drift):
    page = drift_page(nasty_drift)
    assert "<script>" not in page
    assert "\u202e" not in page
    assert "</code><script>alert(1)</script>" in parsed(page).text


def test_a_page_of_the_history_is_well_formed(short_history):
    page = parsed(history_page(short_history))
    assert "0.3.4 to 0.3.5" in page.text


def test_documents_follow_their_schema(drift, short_history, nasty_drift):
    schema = drift_schema()
    Draft202012Validator.check_schema(schema)
    for document in (drift_document(drift), drift_document(nasty_drift), history_document(short_history)):
        Draft202012Validator(schema).validate(document)


def test_the_schema_knows_every_aspect_level_and_role():
    definitions = drift_schema()["$defs"]
    assert definitions["aspect"]["enum"] == [aspect.value for aspect in Aspect]
    assert definitions["level"]["enum"] == [level.word for level in Level]
    assert definitions["levels"]["required"] == [role.value for role in Role]


def test_the_schema_refuses_a_document_that_lacks_its_changes(drift):
    document = drift_document(drift)
    del document["changes"]
    assert not Draft202012Validator(drift_schema()).is_valid(document)


def test_a_document_holds_the_bytes_of_an_example(drift):
    change = drift_document(drift)["changes"][0]
    assert change["examples"][0]["before"]["hex"].startswith("01000000")
    assert len(change["examples"][0]["after"]["hex"]) == 2 * 186
    assert document_text(drift_document(drift)).isascii()
