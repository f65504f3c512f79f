"""Clients that do it in another way than the reference client, within the contract, are conformant."""

import pytest

TOPICS = ("lm.connection.*", "lm.concurrency.*", "lm.misbehaviour.*", "lm.state.*", "lm.request.*-on-the-wire")


@pytest.mark.parametrize("name", ["ReadsAhead", "KeepsAPool", "OneSocketForEachRequest"])
def test_a_client_that_is_right_in_its_own_way_is_conformant(judged, name):
    run = judged(f"python:right_clients:{name}", *TOPICS, target="mock")
    wrong = {case.id: case.why for case in run.cases if str(case.verdict) not in {"pass", "unsupported"}}
    assert wrong == {}
    assert {case.operation for case in run.with_verdict("unsupported")} <= {"concurrent"}
    assert run.code == 0
