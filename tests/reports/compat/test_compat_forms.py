"""Every form says the same: what was played, what was derived from what, what was not run, and the bytes behind each reason."""

import copy
import json
import re
from html.parser import HTMLParser

import jsonschema
import pytest

from reports.compat.document import compat_schema, from_json, to_json
from reports.compat.model import Cell, Evidence
from reports.compat.page import html, markdown
from reports.compat.text import text_lines
from reports.compat.wording import exchange_lines, struck_words, summary, where

WIDTHS = (60, 80, 200)


def text(result, width=120):
    return "\n".join(line.plain for line in text_lines(result, width=width))


def document(result):
    return json.dumps(to_json(result))


class Reader(HTMLParser):
    """Text and attributes of a page; complains about tags that do not match."""

    VOID = frozenset({"meta", "br"})

    def __init__(self, page):
        super().__init__()
        self.open, self.tags, self.titles, self.links, self.ids, self.words = [], [], [], [], [], []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        found = dict(attributes)
        self.titles += [found["title"]] if "title" in found else []
        self.links += [found["href"]] if "href" in found else []
        self.ids += [found["id"]] if "id" in found else []
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def test_the_summary_counts_cells(result):
    assert summary(result) == "3 clients x 4 servers, live servers (venv): 4 cells played, 5 derived, 3 not run, 12 s"


def test_the_text_has_a_row_for_every_client(result):
    found = text(result)
    assert re.search(r"^1\.0 a'w'w'R !$", found, re.MULTILINE)
    assert re.search(r"^1\.1 a'w w R !$", found, re.MULTILINE)
    assert re.search(r"^2\.0 b'\+ \+ \+ !$", found, re.MULTILINE)


def test_the_text_has_the_releases_of_servers_from_top_to_bottom(result):
    rows = text(result).splitlines()
    start = next(index for index, row in enumerate(rows) if row.strip() == "servers") + 1
    assert [row.split() for row in rows[start : start + 4]] == [list("1123"), list("...."), list("0100"), list("1123")]


def test_the_text_has_the_releases_of_few_servers_from_left_to_right(make):
    rows = text(make({("1.0", server): Cell("1.0", server) for server in ("0.3.9.post1", "0.5.6")})).splitlines()
    start = next(index for index, row in enumerate(rows) if row.strip() == "servers") + 1
    assert rows[start].split() == ["0.3.9.post1", "0.5.6"]
    assert rows[start].index("0.5.6") + len("0.5.6") == len(rows[start]) == len(rows[start + 1]) == len(rows[start + 2])


@pytest.mark.parametrize("width", WIDTHS)
def test_a_matrix_of_33_releases_fits_into_80_columns(make, width):
    names = [f"0.3.{number}.post1" for number in range(10, 43)]
    cells = {(client, server): Cell(client, server, derived_from=(client, "x")) for client in names for server in names}
    rows = [line.plain for line in text_lines(make(cells), width=width) if line.plain.startswith("0.3.")]
    assert len(rows) == 33
    assert {len(row) for row in rows} == {80}


@pytest.mark.parametrize("form", [text, markdown, html, document])
def test_every_form_has_every_release_and_reason(result, form):
    found = form(result)
    for words in ("1.0", "1.1", "2.0", "3.0", "the server closes the connection", "another key is asked for", "no wheel"):
        assert words in found


@pytest.mark.parametrize("form", [text, markdown, html])
def test_every_form_says_what_was_derived_from_what(result, form):
    assert "as clients and servers: 1.0 from 1.1" in form(result)


def test_a_page_and_a_document_name_the_source_of_every_derived_cell(result):
    assert any("derived from 1.1 against 2.0" in title for title in Reader(html(result)).titles)
    cells = {(cell["client"], cell["server"]): cell for cell in to_json(result)["cells"]}
    assert cells["1.0", "2.0"]["derived_from"] == {"client": "1.1", "server": "2.0"}
    assert cells["1.1", "2.0"]["derived_from"] is None


@pytest.mark.parametrize("form", [text, markdown, html])
def test_no_form_speaks_of_derivation_where_nothing_was_derived(make, form):
    assert "derived from" not in form(make({("1", "1"): []})).lower()


@pytest.mark.parametrize("form", [text, markdown])
def test_the_bytes_behind_a_reason_are_shown(result, form):
    found = form(result)
    assert "client EXIST: sent 158 bytes: 03000000 01000000 | vllm@m@1@0@1a2b" in found
    assert "came 8 of 36 bytes: c8000000 00000000, then silence" in found


def test_a_page_shows_the_bytes_behind_a_reason(result):
    words = "".join(Reader(html(result)).words)
    assert "came 8 of 36 bytes: c8000000 00000000, then silence" in words


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (
            {"received": 0, "got": b"", "ending": "closed"},
            "came nothing, then the connection was closed; 36 bytes were waited for",
        ),
        ({"received": 36, "got": bytes(36), "ending": "answered"}, "came 36 bytes: " + " ".join(["00000000"] * 9)),
        ({"received": 70, "got": bytes(70), "ending": "answered"}, "came 70 bytes: " + " ".join(["00000000"] * 16) + " ..."),
    ],
)
def test_what_came_is_told_in_words(make, changes, expected):
    assert exchange_lines(make.exchange(**changes))[1].strip() == expected


def test_nothing_is_said_to_have_come_where_nothing_is_due(make):
    assert len(exchange_lines(make.exchange(request="PUT", payload=64, wanted=0))) == 1


def test_captures_are_shown_where_there_was_no_conversation(make):
    shown = Evidence(captured=(("a key, as it is stored", "m@1"),))
    assert "captured, a key, as it is stored: m@1" in text(make({("1", "1"): [make.finding(evidence=shown)]}))


def test_many_questions_are_counted():
    assert struck_words("abcdefgh") == "a, b, c, d, e, f and 2 more"


def test_a_reason_says_where_it_holds(result):
    from reports.compat.grouping import client_groups, reasons, server_groups

    found = {reason.text: where(reason, client_groups(result), server_groups(result)) for reason in reasons(result)}
    assert found["the server closes the connection"] == "a -> 2"


def test_a_page_is_well_formed_and_its_links_lead_somewhere(result):
    page = Reader(html(result))
    assert {link.removeprefix("#") for link in page.links} <= set(page.ids)
    assert "script" not in page.tags


def test_a_page_needs_nothing_else(result):
    page = html(result)
    assert not re.search(r"(src|href)\s*=\s*\"(?!#)|@import|url\(", page)


HOSTILE = '<script>alert("x")</script>\x1b[31m'


def test_a_page_shows_hostile_text_as_text(make):
    key = HOSTILE.encode().ljust(150)
    found = [make.finding(reason=HOSTILE, struck=(HOSTILE,), evidence=Evidence((make.exchange(sent=bytes(8) + key),)))]
    page = Reader(html(make({("1", "1"): found, ("1", "2"): Cell("1", "2", problem=HOSTILE)})))
    assert "script" not in page.tags
    assert any("alert" in words for words in page.words)


def test_markdown_shows_hostile_text_as_text(make):
    found = markdown(make({("1", "1"): [make.finding(reason=f"{HOSTILE} *a* | b")]}))
    assert "\\<script\\>" in found
    assert "\\*a\\* \\| b" in found


@pytest.mark.parametrize("form", [text, markdown])
def test_no_form_lets_text_control_a_terminal(make, form):
    key = HOSTILE.encode().ljust(150)
    found = [make.finding(reason=HOSTILE, struck=(HOSTILE,), evidence=Evidence((make.exchange(sent=bytes(8) + key),)))]
    assert "\x1b" not in form(make({("1", "1"): found, ("1", "2"): Cell("1", "2", problem=HOSTILE)}))


@pytest.mark.parametrize("form", [text, markdown, html])
def test_a_log_is_cut_to_how_it_begins_and_ends(make, form):
    log = "the server ended:\n\x1b[32mloading\nTraceback\nOSError: no space\n"
    found = form(make({("1", "1"): [], ("1", "2"): Cell("1", "2", problem=log)}))
    assert "the server ended: ... OSError: no space" in found
    assert "Traceback" not in found


def test_the_document_keeps_a_log(make):
    assert to_json(make({("1", "1"): Cell("1", "1", problem="one\ntwo")}))["cells"][0]["problem"] == "one\ntwo"


def test_the_document_follows_its_schema(result):
    jsonschema.Draft202012Validator(compat_schema()).validate(to_json(result))


def test_the_schema_is_a_schema():
    jsonschema.Draft202012Validator.check_schema(compat_schema())


def test_the_document_keeps_the_evidence_of_cells_that_were_played(result):
    cells = {(cell["client"], cell["server"]): cell for cell in to_json(result)["cells"]}
    assert cells["1.1", "2.0"]["findings"][0]["evidence"]["exchanges"][0]["sent"].startswith("0300000001000000")
    assert "evidence" not in cells["1.0", "2.0"]["findings"][0]


def test_findings_of_the_document_point_to_reasons(result):
    found = to_json(result)
    texts = {reason["number"]: reason["text"] for reason in found["reasons"]}
    cell = next(cell for cell in found["cells"] if (cell["client"], cell["server"]) == ("1.1", "2.0"))
    assert [texts[finding["reason"]] for finding in cell["findings"]] == [
        "the server closes the connection", "another key is asked for",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "spoil",
    [
        lambda cell: cell.update(outcome="fine"),
        lambda cell: cell.update(problem="a problem in a cell that was run"),
        lambda cell: cell.update(derived_from={"client": "1.0", "server": "1.0"}),
        lambda cell: cell["findings"][0].pop("evidence"),
        lambda cell: cell["findings"][0].update(struck=[]),
        lambda cell: cell.update(extra=1),
    ],
)
def test_the_schema_refuses_what_is_no_matrix(result, spoil):
    found = copy.deepcopy(to_json(result))
    spoil(next(cell for cell in found["cells"] if (cell["client"], cell["server"]) == ("1.1", "2.0")))
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(compat_schema()).validate(found)


def test_a_document_that_is_read_back_gives_the_same_document(result):
    told = to_json(result)
    assert to_json(from_json(json.loads(json.dumps(told)))) == told


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"version": 2}, "version 1"),
        ({"cells": []}, "no cell for 1.0 against 1.0"),
        ({"reasons": []}, "there is no reason"),
        ({"clients": "all"}, "clients"),
    ],
)
def test_a_document_that_does_not_hold_together_is_refused(result, change, said):
    with pytest.raises(ValueError, match=said):
        from_json(to_json(result) | change)


def test_no_document_at_all_is_refused():
    with pytest.raises(ValueError, match="not a matrix"):
        from_json([1])
