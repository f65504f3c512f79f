from __future__ import annotations

import pytest

from reports.verdict import NOT_CONFORMANT, NOT_THE_CLIENT, OUTCOMES, SKIPPED, ExitCode, Verdict, count_outcomes, exit_code

V = Verdict


def test_verdicts_are_spelled_as_documented() -> None:
    assert [verdict.value for verdict in Verdict] == [
        "pass",
        "fail",
        "unsupported",
        "shortfall",
        "known-failure",
        "unexpected-pass",
        "hang",
        "crash",
        "mock-drift",
        "harness-error",
        "environment-error",
    ]


def test_every_verdict_has_one_outcome() -> None:
    assert set(OUTCOMES) == set(Verdict)
    assert {V.PASS} | NOT_CONFORMANT | NOT_THE_CLIENT | SKIPPED == set(Verdict)


@pytest.mark.parametrize(
    ("verdicts", "code"),
    [
        ({V.PASS}, 0),
        ({V.PASS, V.UNSUPPORTED, V.KNOWN_FAILURE}, 0),
        ({V.PASS, V.FAIL}, 1),
        ({V.PASS, V.HANG}, 1),
        ({V.PASS, V.CRASH}, 1),
        ({V.PASS, V.UNEXPECTED_PASS}, 1),
        ({V.FAIL}, 1),
        ({V.UNSUPPORTED}, 1),
        ({V.KNOWN_FAILURE}, 0),
        ({V.UNSUPPORTED, V.KNOWN_FAILURE}, 0),
        (set(), 2),
        ({V.PASS, V.MOCK_DRIFT}, 3),
        ({V.PASS, V.HARNESS_ERROR}, 3),
        ({V.PASS, V.ENVIRONMENT_ERROR}, 3),
        ({V.PASS, V.FAIL, V.HARNESS_ERROR}, 3),
        ({V.UNSUPPORTED, V.ENVIRONMENT_ERROR}, 3),
    ],
)
def test_exit_code_table(verdicts: set[Verdict], code: int) -> None:
    counts = {verdict: int(verdict in verdicts) for verdict in Verdict}
    assert exit_code(counts) == code
    assert exit_code(dict.fromkeys(verdicts, 5)) == code


@pytest.mark.parametrize("verdict", list(Verdict))
def test_an_incomplete_run_is_never_decided(verdict: Verdict) -> None:
    assert exit_code({verdict: 3}, complete=False) is ExitCode.UNDECIDED


def test_alone_only_a_pass_or_a_known_failure_can_give_zero() -> None:
    zero = [verdict for verdict in Verdict if exit_code({verdict: 1}) is ExitCode.CONFORMANT]
    assert zero == [V.PASS, V.KNOWN_FAILURE]


def test_outcomes_add_up_to_all_cases() -> None:
    assert sum(count_outcomes(dict.fromkeys(Verdict, 2)).values()) == 2 * len(Verdict)


@pytest.mark.parametrize(
    ("verdicts", "code"),
    [
        (set(), 0),
        ({V.UNSUPPORTED}, 0),
        ({V.PASS}, 0),
        ({V.KNOWN_FAILURE}, 0),
        ({V.FAIL}, 1),
        ({V.UNEXPECTED_PASS}, 1),
        ({V.UNSUPPORTED, V.HANG}, 1),
        ({V.MOCK_DRIFT}, 3),
    ],
)
def test_a_part_of_a_run_may_be_empty_or_show_nothing(verdicts: set[Verdict], code: int) -> None:
    assert exit_code(dict.fromkeys(verdicts, 1), part=True, shown=False) == code


def test_a_part_that_is_incomplete_is_undecided() -> None:
    assert exit_code({V.PASS: 1}, part=True, complete=False) is ExitCode.UNDECIDED
