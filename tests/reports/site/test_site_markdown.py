"""Markdown on pages of the site."""

import re

import pytest

from reports.site.links import Places, relative
from reports.site.markdown import Sources, inline, labels, linked_words, rendered, sections, title_of
from reports.site.model import Document

PLACES = Places({"LM-REPLY-003"}, {"lm.segments.split-header"}, {"F1": "findings/client.html#f1"})
SOURCES = Sources({"docs/spec/lm.md": "spec/lm.html", "docs/findings/client.md": "findings/client.html"}, PLACES)


def shown(text, page="findings/client.html"):
    return rendered(Document("client", "Client", text, "docs/findings/client.md"), page, SOURCES)


def test_html_in_markdown_is_text():
    assert "<b>" not in shown("a <b>c</b>\n\n<script>alert(1)</script>")
    assert "&lt;script&gt;" in shown("<script>alert(1)</script>")


def test_the_first_heading_is_the_title_of_the_page_and_not_repeated():
    assert shown("# Client\n\ntext").strip() == "<p>text</p>"


def test_headings_have_the_anchors_of_forges_and_equal_ones_a_number():
    assert '<h2 id="exit-codes">' in shown("## Exit codes")
    assert '<h2 id="exit-codes-1">' in shown("## Exit codes\n\n## Exit codes")


def test_headings_leave_no_level_out():
    assert re.findall("<(/?h[1-6])", shown("# A\n\n## B\n\n#### C\n\n## D\n\n### E")) == [
        "h2", "/h2", "h3", "/h3", "h2", "/h2", "h3", "/h3",
    ]  # fmt: skip


def test_the_title_of_a_page_is_the_heading_that_it_begins_with():
    assert title_of("\n# The `lm://` wire\n\n# Another", "lm") == "The lm:// wire"
    assert title_of("words\n\n# Later", "lm") == "lm"


def test_the_number_of_a_finding_is_an_anchor():
    assert '<a id="f1"></a>' in shown("## F1: a header in parts")
    assert '<strong id="w1">' in shown("- **W1. Messages that end the service.** More.")
    assert list(labels(Document("x", "X", "## F1: a\n\n- **W1. b** c\n\n## no: d", ""))) == ["F1", "W1"]


@pytest.mark.parametrize(
    ("link", "expected"),
    [
        ("../spec/lm.md#numbers", 'href="../spec/lm.html#numbers"'),
        ("#here", 'href="#here"'),
        ("https://example.org/x", 'href="https://example.org/x"'),
        ("../reference/compat.md", 'class="elsewhere" title="docs/reference/compat.md"'),
    ],
)
def test_links_lead_to_pages_of_the_site_or_say_what_they_mean(link, expected):
    assert expected in shown(f"a [word]({link})")


@pytest.mark.parametrize("link", ["javascript:alert(1)", "data:text/html,x", "file:///etc/passwd"])
def test_links_that_could_act_are_none(link):
    assert "href" not in shown(f"[a]({link})")


def test_names_become_links():
    text = shown("`LM-REPLY-003`, lm.segments.split-header and LM-REPLY-999")
    assert '<a href="../requirements/LM-REPLY-003.html"><code>LM-REPLY-003</code></a>' in text
    assert '<a href="../cases/lm.html#lm.segments.split-header">lm.segments.split-header</a>' in text
    assert "LM-REPLY-999</a>" not in text


def test_names_inside_links_are_left_alone():
    assert shown("[LM-REPLY-003](../spec/lm.md)").count("<a ") == 1


def test_plain_words_are_escaped_and_findings_linked():
    assert linked_words("F1: <x>", "index.html", PLACES) == '<a href="findings/client.html#f1">F1</a>: &lt;x&gt;'


def test_a_line_has_code_and_no_links_of_its_own():
    assert inline("`a` [b](https://example.org) <i>", "index.html", PLACES) == "<code>a</code> b &lt;i&gt;"


def test_sections_are_cut_at_headings():
    found = list(sections(Document("x", "X", "# X\n\nintro\n\n## A b\n\ntext\n\n    code", "")))
    assert [(one.level, one.title, one.anchor, one.text.strip()) for one in found] == [
        (1, "X", "", "intro"),
        (2, "A b", "a-b", "text code"),
    ]


@pytest.mark.parametrize(
    ("place", "page", "expected"),
    [
        ("a.html", "index.html", "a.html"),
        ("lm/a.html#x", "lm/b.html", "a.html#x"),
        ("mp/a.html", "lm/b.html", "../mp/a.html"),
        ("index.html", "lm/b.html", "../index.html"),
        ("lm/b.html#x", "lm/b.html", "#x"),
        ("lm/b.html", "lm/b.html", "b.html"),
        ("lm/b.html", "index.html", "lm/b.html"),
    ],
)
def test_places_are_seen_from_the_page(place, page, expected):
    assert relative(place, page) == expected
