"""Smoke explains every way in which an adapter can be broken: what was sent, what came, what was expected, what to do."""

import re
import shlex
import sys
from pathlib import Path

import pytest

from harness.client import Budget
from harness.clients.stdio import StdioSession
from harness.smoke import smoke

BROKEN = Path(__file__).parent / "clients" / "broken"
sys.path.insert(0, str(BROKEN))

from wrong_whenever_asked import KINDS  # noqa: E402  # the adapters are no package, they run by themselves

BUDGET = Budget(start=10, stop=0.4, memory=100 << 20)
SHORT, LONG = 1.0, 20.0
SILENT = {"hangs", "stops", "ignores-sigterm", "waits-for-a-thread", "floods-stderr", "half-a-line-then-silence"}
"""Adapters that cost the whole deadline."""


def adapter(name, *arguments, budget=BUDGET):
    return lambda: StdioSession([sys.executable, str(BROKEN / f"{name}.py"), *arguments], budget=budget)


def parts(detail):
    """The lines of an explanation by name, and what stands before them."""
    named = dict(re.findall(r"^(line sent|line received|line expected|what to do): +(.*)$", detail, re.MULTILINE))
    return {"what": detail.partition("\nline sent: ")[0], **named}


def failure(factory, check, deadline=LONG):
    (found,) = smoke(factory, deadline=deadline, only={check})
    assert found.failed, found
    return parts(found.detail)


ADVICE = {
    "hangs": "answer every request",
    "stops": "answer every request",
    "ignores-sigterm": "answer every request",
    "waits-for-a-thread": "answer every request",
    "floods-stderr": "answer every request",
    "exits-with-0": "go on reading after each answer",
    "exits-with-3": "catch what ends the process",
    "segfaults": "run it in a debugger",
    "aborts": "run it in a debugger",
    "half-a-line-then-exit": "write whole lines",
    "child-writes-on": "write whole lines",
    "child-leaves-and-writes-on": "write whole lines",
    "half-a-line-then-silence": "end each answer with a line feed",
    "line-without-end": "end each answer with a line feed",
    "line-of-20-megabytes": "end each answer with a line feed",
    "speaks-after-its-answer": "exactly one line for each request",
    "answers-twice": "exactly one line for each request",
    "closes-stdin": "pack_layout is declared and its arguments make sense",
    "closes-stdout": "keep standard output open",
    "closes-both": "keep standard output open",
    "lines-without-end": "repeat the id",
    "id-of-the-next": "repeat the id",
    "id-of-the-first": "repeat the id",
    "grows": "find what grows",
    "grows-in-a-child": "find what grows",
    "fills-the-scratch": "find what grows",
    "file-of-holes": "give the number of its bytes",
    "file-is-short": "give the number of its bytes",
    "file-is-a-pipe": "write the file into the scratch directory",
    "file-is-a-link": "write the file into the scratch directory",
    "file-is-elsewhere": "give its name without a path",
    "file-is-missing": "write the file into the scratch directory",
    "removes-the-scratch": "write the file into the scratch directory",
    "replaces-the-scratch": "write the file into the scratch directory",
    "garbage": "logs belong on standard error",
    "empty-line": "logs belong on standard error",
    "nul-bytes": "logs belong on standard error",
    "deep-nesting": "logs belong on standard error",
    "not-utf-8": "write UTF-8",
    "nan": "JSON has no NaN",
    "answer-of-another-operation": "every member in the row of the operation must be there",
    "unknown-class-of-error": "one of the five classes",
    "nothing-but-null": "leave the others out",
}


def test_the_table_knows_every_adapter():
    assert ADVICE.keys() == KINDS.keys()


@pytest.mark.parametrize("kind", ADVICE)
def test_a_broken_adapter_is_shown_what_it_received_what_it_answered_and_what_was_expected(kind):
    found = failure(adapter("wrong_whenever_asked", kind), "large bytes", SHORT if kind in SILENT else LONG)
    assert found["line sent"].startswith('{"id":2,"op":"pack_layout","args":{')
    assert found["line received"]
    assert found["line expected"] == '{"id": 2, "ok": {"bytes": {"hex": "..."}, "shape": [0]}}'
    assert ADVICE[kind] in found["what to do"]


@pytest.mark.parametrize(
    ("line", "received"),
    [
        ('{"id": 2, "ok": {}}', '{"id": 2, "ok": {}}'),
        ('{"id": 2, "miss": true}', '{"id": 2, "miss": true}'),
        ('{"id": 2}', '{"id": 2}'),
        ('{"id": "2", "unsupported": {"reason": ""}}', '{"id": "2", "unsupported": {"reason": ""}}'),
        ('{"unsupported": {"reason": ""}}', '{"unsupported": {"reason": ""}}'),
        ('{"id": 2, "unsupported": {}}', '{"id": 2, "unsupported": {}}'),
        (
            '{"id": 2, "error": {"class": "refused", "message": "no"}}',
            '{"id": 2, "error": {"class": "refused", "message": "no"}}',
        ),
        ("[2]", "[2]"),
        ('{"id": 2, "ok": {"text": "\\ud800"}}', '{"id": 2, "ok": {"text": "\\ud800"}}'),
    ],
)
def test_a_wrong_answer_to_an_unknown_operation_is_shown_beside_the_right_one(line, received):
    found = failure(adapter("says", f"{line}\n"), "unknown operation")
    assert found["line sent"] == '{"id":2,"op":"lmconform_made_up_operation","args":{},"deadline_ms":20000}'
    assert found["line received"] == received
    assert found["line expected"].startswith('{"id": 2, "unsupported": {"reason": "..."}}')
    assert found["what to do"]


@pytest.mark.parametrize(
    ("name", "received", "todo"),
    [
        ("half_a_line", '{"id": 2, "ok": {"hash (and no line feed)', "flush standard output"),
        ("never_reads", "nothing", "flush standard output"),
        ("exits", "nothing", "catch what ends the process"),
        ("exits_mid_line", '{"id": 2, "ok" (and no line feed)', "write whole lines"),
        ("segfaults", "nothing", "run it in a debugger"),
        ("closes_stdin", "nothing", "keep standard input open"),
        ("closes_stdout", "nothing", "keep standard output open"),
        ("endless_output", "xxxx", "end each answer with a line feed"),
        ("huge_line", '{"id": 2, "ok": {"hashes": ["000', "end each answer with a line feed"),
    ],
)
def test_an_adapter_that_goes_away_or_goes_on_for_ever_is_told_so(name, received, todo):
    found = failure(adapter(name), "unknown operation", SHORT if name in {"half_a_line", "never_reads"} else LONG)
    assert found["line received"].startswith(received)
    assert found["line expected"] == '{"id": 2, "unsupported": {"reason": "..."}}'
    assert todo in found["what to do"]


@pytest.mark.parametrize("kind", ["link", "other", "file", "nothing"])
def test_an_adapter_that_replaces_its_scratch_directory_is_told_so(kind, tmp_path):
    parent = tmp_path / "parent"
    parent.mkdir()
    command = [sys.executable, str(BROKEN / "replaces_its_scratch.py"), kind, str(tmp_path)]
    found = failure(lambda: StdioSession(command, budget=BUDGET, scratch_parent=parent), "unknown operation")
    assert "expected the client to leave it in place" in found["what"]
    assert found["what to do"].startswith("leave the directory that hello named")


HELLOS = {
    '{"id": 1, "ok": {"name": "x"}}': "every member in the row",
    '{"id": 1, "unsupported": {"reason": "no"}}': "answer hello with ok",
    '{"id": 1, "error": {"class": "refused", "message": "no"}}': "answer hello with ok",
    "Listening on port 80": "logs belong on standard error",
    '{"id": 1, "ok": {"name": "x", "version": 1, "language": "", "operations": [], "releases": []}}': "give the member the form",
    '{"id": 1, "ok": {"name": "x", "version": "1", "language": "", "operations": [], "releases": ["*"], "protocol": 2}}':
        "answer the protocol that hello asks for",
}  # fmt: skip


@pytest.mark.parametrize("line", HELLOS)
def test_a_wrong_hello_is_shown_beside_a_right_one(line):
    command = ["sh", "-c", f"read line; echo {shlex.quote(line)}; read line"]
    (found,) = smoke(lambda: StdioSession(command, budget=BUDGET))
    assert found.failed
    explained = parts(found.detail)
    assert explained["line sent"].startswith('{"id":1,"op":"hello","args":{"protocol":1,')
    assert explained["line received"] == line
    assert explained["line expected"].startswith('{"id": 1, "ok": {"name": "...", "version": "...", "language": "...", ')
    assert HELLOS[line] in explained["what to do"]


@pytest.mark.parametrize(("command", "todo"), [("sleep 9", "flush standard output"), ("true", "run the command by hand")])
def test_a_program_that_is_no_adapter_is_told_how_to_begin(command, todo):
    (found,) = smoke(lambda: StdioSession(["sh", "-c", f"exec {command}"], budget=Budget(start=0.5, stop=1)))
    assert parts(found.detail)["line received"] == "nothing"
    assert todo in parts(found.detail)["what to do"]


@pytest.mark.parametrize("how", ["one-twice", "an-unknown-one", "all-but-the-second", "dies", "half"])
def test_an_adapter_that_mixes_up_several_requests_is_told_so(how):
    script = (
        f"import sys; sys.path.insert(0, {str(BROKEN)!r})\n"
        "from polite import describe, read, write, raw\n"
        "first = read(); write(id=first['id'], ok={**describe(()), 'concurrent': True})\n"
        "for _ in range(4):\n    write(id=read()['id'], ok={'connections': 0})\n"
        "asked = [read() for _ in range(4)]\n"
        "def answer(n): write(id=asked[n]['id'], ok={'connections': 0})\n"
        f"how = {how!r}\n"
        "if how == 'one-twice': answer(0); answer(0)\n"
        "elif how == 'an-unknown-one': write(id=99, ok={'connections': 0})\n"
        "elif how == 'all-but-the-second': answer(0); answer(2); answer(3)\n"
        "elif how == 'dies': answer(0); sys.exit(3)\n"
        "elif how == 'half': raw(b'{\"id\": 6')\n"
        "read()\n"
    )
    found = failure(lambda: StdioSession([sys.executable, "-c", script], budget=BUDGET), "several at once", 1.0)
    assert '{"id":6,"op":"state"' in found["line sent"]
    assert found["line received"]
    assert found["line expected"] == "one answer line for each of the 4 requests, in any order, with the id of its request"
    assert found["what to do"]
