"""The forms of a comparison: what stands in them, how long they get, and that nothing from outside acts in them."""

import json
import re
import unicodedata

import jsonschema
import pytest
from markdown_it import MarkdownIt

from reports.diff.compare import compare
from reports.diff.document import diff_schema, dumps
from reports.diff.kinds import Kind
from reports.diff.model import Releases
from reports.diff.page import html, markdown, marker
from reports.diff.text import text_lines
from reports.diff.verdict import parse_fail_on
from reports.record import ClientInfo

HOSTILE = (
    "</summary></details>--><script>alert(1)</script><img src=x>\x00\x1b[31m\u202e\ud800\u2028 [x](https://evil.example) "
    "| `` \r\n# @everybody"
)
ACTIVE = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}


def text(found, **more):
    return "\n".join(line.plain for line in text_lines(found, width=120, **more))


def visible(page):
    """What a browser shows of Markdown or of a page, without its markup."""
    return re.sub(r"<[^>]+>", "", page)


FORMS = {"text": text, "markdown": markdown, "html": html}


@pytest.mark.parametrize("form", FORMS)
def test_every_kind_is_told_with_its_cases(every_kind, form):
    page = FORMS[form](compare(*every_kind))
    for kind in Kind:
        assert str(kind).replace("-", " ") in page.lower()
    for name in [
        "broken",
        "first",
        "changed",
        "undecided",
        "listed",
        "lost",
        "short",
        "flaky",
        "known",
        "gone",
        "fixed",
        "gained",
        "new",
    ]:
        assert f"lm.put.{name}[0.5.6-mock" in page
    assert "NEW did not run lmcache 0.5.5" in page


@pytest.mark.parametrize("form", FORMS)
def test_a_message_is_told_as_it_was_and_as_it_is(run, fail, form):
    page = FORMS[form](compare(run(fail(why="two bytes short")), run(fail(why="one byte too many"))))
    below = page.partition("</summary>")[2] or page
    assert below.index("two bytes short") < below.index("one byte too many")
    assert "lmconform run --only lm.get.partial-header" in page
    assert "LM-GET-004 MUST" in page


@pytest.mark.parametrize("form", FORMS)
def test_one_cause_is_told_once(run, make_case, fail, form):
    old = run(*(make_case(variant=f"v{number}") for number in range(20)))
    page = FORMS[form](compare(old, run(*(fail(variant=f"v{number}") for number in range(20)))))
    assert visible(page).count("lm.get.partial-header[0.5.6-mock-v") <= 3  # the name, details and the command
    assert re.search(r"in 19 more|and 19 more", page)


def test_text_ends_with_the_verdict(every_kind):
    lines = text(compare(*every_kind)).splitlines()
    assert any(line.startswith("UNDECIDED  NEW has 1 case in which harness, mock or environment failed") for line in lines)
    assert lines[-1].endswith("as before.")


def test_text_shows_as_many_causes_as_wished(run, make_case, fail):
    old = run(*(make_case(f"lm.get.c{number}") for number in range(9)))
    found = compare(old, run(*(fail(f"lm.get.c{number}") for number in range(9))))
    assert "and 7 more causes" in text(found, groups=2)
    assert "more cause" not in text(found, groups=9)


def test_a_closed_cause_says_what_is_wrong(run, fail, make_case):
    page = html(
        compare(run(make_case("lm.get.a"), fail("lm.get.b", "two short")), run(fail("lm.get.a", "odd"), make_case("lm.get.b")))
    )
    closed = [part.partition("</summary>")[0] for part in page.split("<summary>")[1:]]
    assert [re.findall(r'class="said">([^<]*)', summary) for summary in closed] == [["odd"], ["two short"]]


def test_failures_that_differ_in_how_many_bytes_are_wrong_are_one_cause_and_those_at_another_place_are_not(run, fail, make_case):
    said = {"a": "10 of 36 bytes differ, the first at 0x4", "b": "4 of 36 bytes differ, the first at 0x4"}
    said["c"] = "4 of 36 bytes differ, the first at 0x8"
    old = run(*(make_case("lm.reply.encode", variant=name) for name in said))
    new = run(*(fail("lm.reply.encode", f"the header: {why}", variant=name) for name, why in said.items()))
    told = text(compare(old, new))
    assert "alike     in 1 more: b\n" in told
    assert [line.strip() for line in told.splitlines() if "now " in line] == [
        f"now       FAIL: the header: {said[one]}" for one in "ac"
    ]


def test_no_line_of_text_is_wider_than_the_terminal_but_for_commands(every_kind):
    lines = [line.plain for line in text_lines(compare(*every_kind), width=70)]
    assert [line for line in lines if len(line) > 70 and "lmconform run" not in line] == []


def test_a_comment_begins_with_a_marker_of_its_title(every_kind):
    found = compare(*every_kind)
    assert markdown(found).startswith("<!-- lmconform diff: Conformance -->\n")
    assert marker("a -->\n<b>") == "<!-- lmconform diff: a ___n_b_ -->"
    assert markdown(found, "nightly").startswith(marker("nightly"))


def test_a_comment_is_never_longer_than_a_forge_takes(run, make_case, fail):
    names = [f"lm.get.c{number}-{'x' * 300}" for number in range(300)]
    found = compare(run(*map(make_case, names)), run(*(fail(name, "y" * 4000) for name in names)))
    page = markdown(found)
    assert 1000 < len(page) < 65_536
    assert "300 broken" in page
    assert page.count("<details") == page.count("</details>")
    assert "more causes" in page


def test_a_page_is_of_bounded_size(run, make_case, fail):
    names = [f"lm.t{number}.c{number}" for number in range(1000)]
    found = compare(run(*map(make_case, names)), run(*(fail(name, "y" * 4000) for name in names)))
    assert len(html(found)) < 1_500_000
    assert "900 more causes" in html(found)


def test_comments_fold_all_but_what_is_worse(every_kind):
    page = markdown(compare(*every_kind))
    opened = re.findall(r"<details open><summary><strong>([a-z -]+):", page)
    assert opened == ["broken", "new failures"]


def test_json_has_every_change_and_keeps_its_schema(every_kind):
    found = compare(*every_kind)
    document = json.loads(dumps(found, parse_fail_on("any")))
    jsonschema.validate(document, diff_schema())
    assert len(document["changes"]) == sum(document["counts"].values()) == len(Kind) + 1
    assert document["exit_code"] == 3
    (changed,) = (change for change in document["changes"] if change["kind"] == "changed")
    assert (changed["old"]["message"], changed["new"]["message"]) == ("one", "two")


def test_the_schema_knows_every_kind_and_no_other():
    assert diff_schema()["$defs"]["kind"]["enum"] == list(map(str, Kind))


def test_two_releases_are_told(run, make_case, fail):
    both = run(make_case(release="0.5.5"), fail())
    found = compare(both, both, Releases("0.5.5", "0.5.6"))
    assert "0.5.5 -> 0.5.6" in text(found)
    assert "in OLD" in html(found)
    assert "lm.get.partial-header[0.5.5-mock]" in markdown(found)
    assert json.loads(dumps(found, frozenset()))["releases"] == {"old": "0.5.5", "new": "0.5.6"}


@pytest.fixture
def hostile(run, make_case, fail):
    """A pair of runs in which a client and a damaged file say something hostile wherever they can."""
    client = ClientInfo(HOSTILE, HOSTILE, HOSTILE, HOSTILE, (HOSTILE,), (HOSTILE,), HOSTILE)
    mine = {"release": HOSTILE, "target": HOSTILE, "variant": HOSTILE, "title": HOSTILE}
    about = {"client": client, "releases": (HOSTILE,), "targets": (HOSTILE,), "python": HOSTILE, "platform": HOSTILE}
    old = run(
        make_case(f"{HOSTILE}.a", **mine), fail(f"{HOSTILE}.b", HOSTILE, **mine), make_case(f"{HOSTILE}.c", **mine), **about
    )
    new = run(fail(f"{HOSTILE}.a", HOSTILE, **mine), fail(f"{HOSTILE}.b", f"other {HOSTILE}", **mine), name=HOSTILE, **about)
    return compare(old, new)


@pytest.mark.parametrize("form", FORMS)
def test_nothing_from_outside_acts(hostile, form):
    page = FORMS[form](hostile)
    assert [character for character in page if unicodedata.category(character) in ACTIVE and character != "\n"] == []


def test_nothing_from_outside_is_markup_in_a_page(hostile):
    page = html(hostile, HOSTILE)
    assert not re.search(r"<(script|img)", page)
    assert page.count("<details") == page.count("</details>")


def test_nothing_from_outside_is_markup_in_a_comment(hostile):
    page = markdown(hostile, HOSTILE)
    shown = MarkdownIt("commonmark", {"html": True}).enable("table").render(page)
    assert not re.search(r"<(script|img|a)\b", shown)
    assert re.findall(r"<h\d", shown) == ["<h2"]
    assert "@everybody" not in re.sub(r"<code>.*?</code>", "", shown, flags=re.DOTALL)
    assert shown.count("<details") == shown.count("</details>") == page.count("<details")


def test_json_holds_hostile_texts_as_they_came(hostile):
    document = json.loads(dumps(hostile, frozenset()))
    assert document["new"]["name"] == HOSTILE
