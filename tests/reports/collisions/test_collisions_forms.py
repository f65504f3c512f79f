"""Collisions as text, Markdown, HTML and JSON."""

import json
from dataclasses import replace

import jsonschema_rs
import pytest

from reports.collisions.document import collisions_schema, to_json
from reports.collisions.harm import Grade, Harm, worst, worst_harm
from reports.collisions.page import html, markdown
from reports.collisions.text import text_lines
from reports.collisions.verdict import exit_code, parse_fail_on
from reports.verdict import ExitCode


def plain(result, width=100):
    return [line.plain for line in text_lines(result, width=width)]


def test_everything_fits_its_schema(everything, demonstration):
    document = to_json(replace(everything, demonstrations=(demonstration,)))
    jsonschema_rs.Draft202012Validator(collisions_schema()).validate(document)
    assert len(document["pairs"]) == len(document["generations"]) ** 2
    assert json.loads(json.dumps(document)) == document


def test_the_matrix_has_a_row_for_each_generation(everything):
    lines = plain(everything)
    own = everything.generation("0.4.7")
    (row,) = [line for line in lines if line.split()[:2] == ["0.4.7", own.label]]
    letters = row.split()[2:]
    assert len(letters) == len(everything.server_generations)
    assert letters[everything.generations.index(own)] == "+"


def test_one_pair_is_told_operation_by_operation(two):
    lines = plain(two)
    (line,) = [line for line in lines if line.split()[:2] == ["D", "GET_CHUNK_SIZE"]]
    assert line.split() == ["D", "GET_CHUNK_SIZE", "17", "CLEAR"]
    text = " ".join(" ".join(lines).split())
    assert "GET_CHUNK_SIZE: executes CLEAR, which clears the cache" in text
    assert "every engine sends it when it starts" in text


def test_many_pairs_are_told_by_what_is_met(everything):
    text = " ".join(" ".join(plain(everything)).split())
    assert "GET_CHUNK_SIZE: executes CLEAR, which clears the cache: every object of every client is gone" in text
    assert "0.5.1 -> 0.5.2 h server first 21 of 21 operations work" in text
    assert "K server first 19 of 22 operations work; not LOOKUP, FREE_LOOKUP_LOCKS and GET_EXPERIMENTAL" in text


@pytest.mark.parametrize("width", [70, 80, 120])
def test_lines_keep_to_the_width(everything, width):
    assert max(len(line) for line in plain(everything, width)) <= width


def test_markdown_has_tables_and_escapes(two, demonstration):
    text = markdown(replace(two, demonstrations=(demonstration,)))
    assert "| D | GET\\_CHUNK\\_SIZE | 17 | CLEAR |" in text
    assert "a \\<title\\> with \\| signs" in text
    assert "      GET_CHUNK_SIZE of 0.4.7: nil" in text


def test_html_escapes_and_needs_nothing_else(two, demonstration):
    text = html(replace(two, demonstrations=(demonstration,)))
    assert "a &lt;title&gt; with | signs" in text
    assert '<td class="destroys">D</td><td>GET_CHUNK_SIZE</td>' in text
    assert "http://" not in text
    assert "https://" not in text


def test_a_demonstration_says_what_was_sent_and_what_came(two, demonstration):
    lines = plain(replace(two, demonstrations=(demonstration,)))
    assert lines[-4:] == [
        "Demonstrated: a <title> with | signs  the mock of 0.5.1",
        "  GET_CHUNK_SIZE of 0.4.7: nil",
        "    frames behind the uid: 11",
        "  the cache is empty",
    ]


def test_worse_is_worse_in_plain_use():
    assert worst([Grade(Harm.HANGS), Grade(Harm.DESTROYS, plain=False)]) == Grade(Harm.HANGS)
    assert worst([Grade(Harm.KILLS), Grade(Harm.LEAKS), Grade(Harm.HANGS)]) == Grade(Harm.LEAKS)
    assert worst([]) == Grade(Harm.SAME)
    assert worst_harm([Harm.HANGS, Harm.MISLEADS]) is Harm.MISLEADS
    assert (Grade(Harm.HANGS).letter, Grade(Harm.HANGS, plain=False).letter) == ("H", "h")


@pytest.mark.parametrize(
    ("words", "code"),
    [("any", 1), ("plain", 1), ("never", 0), ("destroys", 1), ("kills", 0), ("corrupts,hangs", 1), ("strands,kills", 0)],
)
def test_what_fails_can_be_chosen(two, words, code):
    assert exit_code(two, parse_fail_on(words)) == code


def test_a_demonstration_that_could_not_be_played_is_undecided(two, demonstration):
    result = replace(two, demonstrations=(replace(demonstration, problem="the server does not start"),))
    assert exit_code(result, parse_fail_on("never")) is ExitCode.UNDECIDED


@pytest.mark.parametrize("words", ["", "wrong", "any,destroys", "same"])
def test_other_words_are_refused(words):
    with pytest.raises(ValueError, match="with --protocol mp write one of any, plain and never, or some of destroys, corrupts"):
        parse_fail_on(words)
