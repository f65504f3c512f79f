"""Adapters that serve several requests at once and get it wrong are found by the cases about that."""

import shlex
import sys
from pathlib import Path

from reports.verdict import Verdict

SUBJECTS = Path(__file__).parent / "subjects"


def test_answers_with_the_ids_of_other_requests_are_found(judged):
    adapter = f"stdio:{shlex.join([sys.executable, str(SUBJECTS / 'swapping_adapter.py')])}"
    run = judged(adapter, "lm.concurrency.requests-on-one-connection", "lm.roundtrip.formats", target="mock")
    verdicts = {case.name: case.verdict for case in run.cases}
    assert verdicts == {"lm.concurrency.requests-on-one-connection": Verdict.FAIL, "lm.roundtrip.formats": Verdict.PASS}


def test_a_client_that_does_not_declare_concurrent_is_not_judged_for_it(judged):
    run = judged("python:broken_clients:OneAtATime", "lm.concurrency.*", target="mock")
    verdicts = {case.name: case.verdict for case in run.cases}
    assert {name for name, verdict in verdicts.items() if verdict is Verdict.PASS} == {
        "lm.concurrency.overwritten-meanwhile",
        "lm.concurrency.crowd",
        "lm.concurrency.churn",
    }
    assert set(verdicts.values()) == {Verdict.PASS, Verdict.UNSUPPORTED}
    assert {case.operation for case in run.cases if case.verdict is Verdict.UNSUPPORTED} == {"concurrent"}
    assert run.code == 0
