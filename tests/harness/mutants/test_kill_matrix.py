"""What the kill matrix makes of mutants and cases, with made-up ones."""

from dataclasses import replace

import pytest

from harness.case import CaseSpec
from harness.client import AdapterFault, ClientCrash, ClientHang
from harness.failure import CaseFailure, LiveServerFailure, MockDriftFailure, TargetUnavailable
from harness.killmatrix.excused import reason_for
from harness.killmatrix.kill import kills
from harness.killmatrix.run import missed
from harness.killmatrix.schedule import Candidate, Schedule, Task
from reports.diagnosis import Diagnosis
from reports.mutants.model import ExecutionColumn, KillMatrix, Meeting, Missed, MutantRow
from reports.mutants.text import text_lines
from reports.verdict import Verdict
from wire.release import ReleaseRange

DIAGNOSIS = Diagnosis(summary="wrong")
WAITS = CaseSpec(("LM-CONN-001",), ("mock",), (), ReleaseRange.parse("all"), None, "client")
OTHER = replace(WAITS, cites=("LM-GET-001",))
ROW = MutantRow("m", "client", "Does it wrong.", "Haste.", ("0.5.6",))


def column(name, variant=None, judges="client"):
    identity = f"{name}[0.5.6-mock]" if variant is None else f"{name}[0.5.6-mock-{variant}]"
    return ExecutionColumn(identity, name, "It works.", "0.5.6", "mock", judges, variant)


ONLY = (column("lm.a"),)


def matrix(*meetings, executions=ONLY, **changes):
    made = KillMatrix("0", "covering", ("0.5.6",), ("mock",), (ROW,), tuple(executions), tuple(meetings), 1.0, 2)
    return replace(made, **changes)


def meeting(execution="lm.a[0.5.6-mock]", verdict=Verdict.FAIL, *, killed=True, mutant="m"):
    return Meeting(mutant, execution, verdict, killed, 0.1, "because")


@pytest.mark.parametrize(
    ("error", "spec", "side", "expected"),
    [
        (None, OTHER, "client", False),
        (CaseFailure(DIAGNOSIS), OTHER, "client", True),
        (ClientHang("silent"), WAITS, "client", True),
        (ClientHang("silent"), replace(WAITS, cites=("MP-CONN-001",)), "client", True),
        (ClientHang("silent"), OTHER, "client", False),
        (ClientCrash("gone"), WAITS, "client", False),
        (AdapterFault("no JSON"), OTHER, "client", False),
        (MockDriftFailure(DIAGNOSIS), OTHER, "client", False),
        (MockDriftFailure(DIAGNOSIS), OTHER, "server", True),
        (LiveServerFailure(DIAGNOSIS), OTHER, "server", True),
        (CaseFailure(DIAGNOSIS), OTHER, "server", False),
        (TargetUnavailable("none here"), OTHER, "server", False),
        (ZeroDivisionError("of the harness"), OTHER, "client", False),
        (ExceptionGroup("flaky", [ZeroDivisionError(), CaseFailure(DIAGNOSIS)]), OTHER, "client", True),
    ],
)
def test_a_kill_is_an_assertion_of_a_case_and_nothing_else(error, spec, side, expected):
    assert kills(error, spec, side) is expected


def test_a_matrix_in_which_all_die_and_all_find_is_shown():
    assert matrix(meeting()).shown


def test_a_mutant_that_passes_everything_survives():
    found = matrix(meeting(verdict=Verdict.PASS, killed=False))
    assert [(survivor.mutant, survivor.release, survivor.met) for survivor in found.survivors] == [("m", "0.5.6", 1)]
    assert not found.shown


def test_a_mutant_that_only_crashes_the_harness_survives_and_its_noise_is_told():
    found = matrix(meeting(verdict=Verdict.HARNESS_ERROR, killed=False))
    assert [noise.verdict for noise in found.survivors[0].noises] == [Verdict.HARNESS_ERROR]


def test_mutants_of_adapters_are_needed_for_cases_about_adapters_alone():
    assert reason_for("l2.adapter-contract.status", None, "plugin") is None
    assert "native_plugin" in reason_for("l2.semantics.sizes", "1", "plugin")
    assert reason_for("l2.semantics.sizes", "1", "native_plugin") is None
    assert reason_for("l2.semantics.sizes", "1") is None


def test_an_execution_that_finds_nothing_is_idle():
    found = matrix(meeting(), executions=[column("lm.a"), column("lm.b")])
    assert [(idle.case, idle.executions, idle.wholly) for idle in found.idle] == [("lm.b", ("lm.b[0.5.6-mock]",), True)]
    assert not found.shown


def test_one_idle_vector_of_a_case_that_finds_something_is_idle_as_well():
    found = matrix(meeting("lm.a[0.5.6-mock-x]"), executions=[column("lm.a", "x"), column("lm.a", "y")])
    assert [(idle.executions, idle.of, idle.wholly) for idle in found.idle] == [(("lm.a[0.5.6-mock-y]",), 2, False)]


def test_an_excused_execution_is_not_idle():
    found = matrix(meeting(), executions=[column("lm.a"), column("lm.b")], excused={"lm.b[0.5.6-mock]": "It cannot be helped."})
    assert found.shown
    assert found.needless_excuses == []


def test_an_excuse_that_is_not_needed_is_told():
    assert matrix(meeting(), excused={"lm.a[0.5.6-mock]": "It cannot be helped."}).needless_excuses == ["lm.a[0.5.6-mock]"]


def test_idle_cases_are_not_looked_for_among_some_mutants():
    assert matrix(meeting(), executions=[column("lm.a"), column("lm.b")], all_mutants=False).shown


def test_survivors_are_not_looked_for_among_some_cases_unless_they_are_named():
    passed = meeting(verdict=Verdict.PASS, killed=False)
    assert not matrix(passed, all_cases=False).survivors
    assert matrix(passed, all_cases=False, all_mutants=False).survivors


def schedule(*candidates, executions, **changes):
    made = {
        "mode": "covering",
        "excused": {},
        **changes,
    }
    return Schedule(candidates, executions, [0.1] * len(executions), **made)


CASES = (column("lm.a", "x"), column("lm.a", "y"), column("lm.b"), column("servers.c", judges="server"))
FIRST = Candidate("first", "client", "0.5.6", ("lm.a",))
SECOND = Candidate("second", "client", "0.5.6", ("lm.a",))


def played(plan, killing):
    """Tasks as they come, each of which kills what ``killing`` says of its mutant."""
    tasks = []
    while (task := plan.next()) is not None:
        tasks.append(task)
        for number in task.first:
            plan.learn(task, number, killed=number in killing[task.candidate.name], seconds=0.1)
        if not set(task.first) & killing[task.candidate.name]:
            for number in task.then:
                plan.learn(task, number, killed=number in killing[task.candidate.name], seconds=0.1)
                if number in killing[task.candidate.name]:
                    break
        plan.end(task)
    return tasks


def test_a_mutant_meets_first_all_executions_that_are_about_it():
    task = schedule(FIRST, executions=CASES).next()
    assert (task.first, task.then) == ((0, 1), (2,))


def test_a_mutant_of_the_server_meets_cases_of_servers_alone():
    task = schedule(Candidate("s", "server", "0.5.6"), executions=CASES).next()
    assert (task.first, task.then) == ((), (3,))


def test_what_has_found_something_is_met_again_only_until_the_mutant_dies():
    plan = schedule(FIRST, SECOND, executions=CASES)
    first, second, *_ = played(plan, {"first": {0, 1}, "second": {1}})
    assert first.first == (0, 1)
    assert second.first == ()
    assert second.then[:2] == (0, 1)


def test_what_is_idle_then_meets_the_mutants_that_have_not_met_it_until_one_is_found():
    third = Candidate("third", "client", "0.5.6", ("lm.a",))
    killing = {"first": {0, 1}, "second": {1}, "third": {0, 2}}
    tasks = played(schedule(FIRST, SECOND, third, executions=CASES), killing)
    later = [(task.candidate.name, task.first) for task in tasks[3:]]
    assert later[-1] == ("third", (2,))
    assert {names for _, names in later} == {(2,)}


def test_a_complete_run_lets_every_mutant_meet_everything_of_its_side():
    tasks = played(schedule(FIRST, SECOND, executions=CASES, mode="complete"), {"first": {0}, "second": set()})
    assert [task.first for task in tasks] == [(0, 1, 2), (0, 1, 2)]
    assert all(task.limit is None for task in tasks)


def test_an_execution_that_takes_for_ever_is_left_alone():
    plan = schedule(FIRST, executions=CASES)
    task = plan.next()
    plan.learn(task, 0, killed=False, seconds=1000.0)
    plan.end(Task(FIRST, task.first))
    later = plan.next()
    assert later is None or 0 not in later.first


def test_a_mutant_that_shows_in_no_release_of_the_run_leaves_the_matrix_not_shown():
    elsewhere = MutantRow("late", "client", "Does it wrong.", "Haste.", (), "0.4.5")
    found = matrix(meeting(), mutants=(ROW, elsewhere))
    assert found.unmet == (elsewhere,)
    assert not found.shown


def test_what_is_idle_in_a_release_that_was_added_for_a_few_mutants_is_no_fault():
    other = ExecutionColumn("lm.b[0.4.5-mock]", "lm.b", "It works.", "0.4.5", "mock", "client")
    assert matrix(meeting(), executions=[*ONLY, other], extra_releases=("0.4.5",)).shown
    assert not matrix(meeting(), executions=[*ONLY, other]).shown


def test_what_was_not_executed_when_a_worker_was_lost_is_handed_out_again():
    plan = schedule(FIRST, executions=CASES)
    task = plan.next()
    plan.give_up(task, task.first[0])
    again = plan.next()
    assert (task.first, again.first) == ((0, 1), (1,))


def test_a_mutant_that_was_found_before_its_worker_was_lost_is_left_to_the_idle_executions():
    plan = schedule(FIRST, executions=CASES)
    task = plan.next()
    plan.learn(task, 0, killed=True, seconds=0.1)
    plan.give_up(task, 1)
    assert plan.next().first == (2,)


def test_a_case_that_is_said_to_find_a_mutant_and_lets_it_pass_is_told():
    claims = Candidate("m", "client", "0.5.6", ("lm.a", "lm.b"))
    passed, died = meeting("lm.a[0.5.6-mock-x]", killed=False), meeting("lm.b[0.5.6-mock]")
    assert list(missed([claims], CASES, [passed, died])) == []
    also = meeting("lm.a[0.5.6-mock-y]", killed=False)
    assert list(missed([claims], CASES, [passed, also, died])) == [Missed("m", "0.5.6", "lm.a", 2)]


def test_the_report_names_what_was_not_met_what_was_missed_and_which_releases_were_added():
    elsewhere = MutantRow("late", "client", "Does it wrong.", "Haste.", (), "0.4.5, 0.4.6")
    found = matrix(
        meeting(),
        mutants=(ROW, elsewhere),
        releases=("0.3.5", "0.5.6"),
        extra_releases=("0.3.5",),
        missed=(Missed("m", "0.5.6", "lm.b", 2),),
    )
    text = " ".join(" ".join(line.plain for line in text_lines(found)).split())
    assert "in 0.3.5 only the mutants that show in no other of these releases met cases" in text
    assert "late shows in lmcache 0.4.5, 0.4.6" in text
    assert "m lmcache 0.5.6: lm.b, 2 executions" in text
    assert "NOT SHOWN" in text
