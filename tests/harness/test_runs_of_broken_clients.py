"""A whole run with each broken adapter: it ends by itself in time, its results are complete, and they say what happened."""

import os
import shlex
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from fixturegen import leash

ADAPTER = Path(__file__).parent / "clients" / "broken" / "wrong_whenever_asked.py"
sys.path.insert(0, str(ADAPTER.parent))

from wrong_whenever_asked import KINDS  # noqa: E402  # the adapters are no package, they run by themselves

DEADLINE = 1.0
MEMORY = "200MiB"
BOUND = 45.0
"""Seconds for a run of few cases, on a machine that does much else; where a call is not bounded a run takes for ever."""
PARSE = ("keys.parse.parse[0.5.6-fixtures-lm.key.parse.plain]", "keys.parse.parse[0.5.6-fixtures-lm.key.parse.dtype-bool]")
PACK = ("layouts.packing.pack[0.5.6-fixtures-lm.layout.kv-2ltd.float16.in-order.pack]",)
OTHERS = "lm.reply.decode-refused"
"""Cases that the adapters pass, because they refuse: they come after the others."""


@dataclass(frozen=True)
class Expected:
    """What a run says of an adapter."""

    verdict: str
    words: str
    cases: tuple[str, ...] = PARSE
    deadline: float = DEADLINE


EXPECTED = {
    "hangs": Expected("hang", "parse_key: no answer within 1 s"),
    "stops": Expected("hang", "parse_key: no answer within 1 s"),
    "ignores-sigterm": Expected("hang", "parse_key: no answer within 1 s"),
    "waits-for-a-thread": Expected("hang", "parse_key: no answer within 1 s"),
    "exits-with-0": Expected("crash", "parse_key: the process ended with exit status 0"),
    "exits-with-3": Expected("crash", "parse_key: the process ended with exit status 3"),
    "segfaults": Expected("crash", "parse_key: the process ended with signal SIGSEGV"),
    "aborts": Expected("crash", "parse_key: the process ended with signal SIGABRT"),
    "half-a-line-then-exit": Expected("crash", "parse_key: the process ended with exit status 0"),
    "half-a-line-then-silence": Expected("hang", "parse_key: no answer within 1 s"),
    "child-writes-on": Expected("crash", "parse_key: the process ended with exit status 0"),
    "child-leaves-and-writes-on": Expected("crash", "parse_key: the process ended with exit status 0"),
    "speaks-after-its-answer": Expected("fail", "one line for each request, and nothing before"),
    "closes-stdin": Expected("fail", "the process closed its standard input and runs on"),
    "closes-stdout": Expected("crash", "parse_key: the process closed its standard output and runs on"),
    "closes-both": Expected("crash", "parse_key: the process closed its standard output and runs on"),
    "line-without-end": Expected("fail", "parse_key: more than 16777216 bytes without a line feed"),
    "lines-without-end": Expected("fail", "parse_key: id: expected 2, the id of the request, got 0"),
    "floods-stderr": Expected("hang", "parse_key: no answer within 1 s"),
    "grows": Expected("crash", "parse_key: the client used more than 209715200 bytes of memory", deadline=20.0),
    "grows-in-a-child": Expected("crash", "parse_key: the client used more than 209715200 bytes of memory", deadline=20.0),
    "fills-the-scratch": Expected("crash", "parse_key: the client used more than 209715200 bytes of memory", deadline=20.0),
    "file-of-holes": Expected("fail", "pack_layout: ok.bytes.length: expected at most 1073741824", PACK),
    "file-is-a-pipe": Expected("fail", 'ok.bytes.file: expected "pipe" to be a regular file', PACK),
    "file-is-a-link": Expected("fail", 'ok.bytes.file: expected a regular file "link"', PACK),
    "file-is-elsewhere": Expected("fail", "ok.bytes.file: expected the name of a file in the scratch directory", PACK),
    "file-is-short": Expected("fail", 'ok.bytes.length: expected the size of file "short", 2 bytes, got 3', PACK),
    "file-is-missing": Expected("fail", 'ok.bytes.file: expected a regular file "nowhere"', PACK),
    "removes-the-scratch": Expected("fail", 'ok.bytes.file: expected a regular file "nowhere"', PACK),
    "replaces-the-scratch": Expected("fail", 'ok.bytes.file: expected a regular file "nowhere"', PACK),
    "garbage": Expected("fail", "parse_key: the line: expected one JSON object"),
    "empty-line": Expected("fail", "parse_key: the line: expected one JSON object"),
    "not-utf-8": Expected("fail", "parse_key: the line: expected UTF-8"),
    "nul-bytes": Expected("fail", "parse_key: the line: expected one JSON object"),
    "nan": Expected("fail", "NaN is not JSON"),
    "deep-nesting": Expected("fail", "parse_key: the line: expected one JSON object"),
    "line-of-20-megabytes": Expected("fail", "parse_key: more than 16777216 bytes without a line feed"),
    "answers-twice": Expected("fail", "one line for each request"),
    "id-of-the-next": Expected("fail", "parse_key: id: expected 2, the id of the request, got 3"),
    "id-of-the-first": Expected("fail", "that request was answered before"),
    "answer-of-another-operation": Expected("fail", "parse_key: ok.key: expected this member, which is missing"),
    "unknown-class-of-error": Expected("fail", 'error.class: expected one of "refused"'),
    "nothing-but-null": Expected("fail", "exactly one of ok, miss, unsupported, error, found ok and error"),
}


def spec(kind):
    return f"stdio:{shlex.join([sys.executable, str(ADAPTER), kind])}"


def left_over():
    """Processes that this process holds and that still run."""
    return list(leash.marked(f"{os.getpid()}."))


def test_the_table_knows_every_adapter():
    assert EXPECTED.keys() == KINDS.keys()


@pytest.mark.parametrize("kind", EXPECTED)
def test_a_broken_adapter_costs_its_cases_and_nothing_else(judged, kind):
    expected = EXPECTED[kind]
    begin = time.monotonic()
    run = judged(spec(kind), *expected.cases, OTHERS, deadline=expected.deadline, client_memory=MEMORY)
    assert time.monotonic() - begin < BOUND
    assert run.code == 1
    assert run.results.incomplete is None
    assert run.results.footer.exit_code == 1
    broken = [case for case in run.cases if case.id in expected.cases]
    assert {str(case.verdict) for case in broken} == {expected.verdict}
    assert any(expected.words in case.why for case in broken), [case.why for case in broken]
    others = [case for case in run.cases if case.name == OTHERS]
    assert len(others) > 10
    assert {str(case.verdict) for case in others} == {"pass"}
    assert left_over() == []
