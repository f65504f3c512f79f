"""Plans say which exchanges meet which faults."""

from __future__ import annotations

import pytest

from mockserver.faults import (
    CloseAfter,
    Delay,
    FaultPlan,
    FaultRule,
    Match,
    PlanProgress,
    ReplaceField,
    Segments,
    Stall,
    TruncateBody,
)


def specs(progress, command="GET", connection=1, key="k"):
    return [action.spec() for action in progress.actions_for(command, connection, key)]


def test_an_empty_match_concerns_every_exchange():
    progress = PlanProgress(FaultPlan([FaultRule(action=Stall())]))
    assert specs(progress, "PUT", 3, "x") == ["stall"]


@pytest.mark.parametrize(
    ("match", "seen"),
    [(Match(command="PUT"), ("GET", 1, "k")), (Match(connection=2), ("GET", 1, "k")), (Match(key="other"), ("GET", 1, "k"))],
)
def test_each_criterion_excludes(match, seen):
    progress = PlanProgress(FaultPlan([FaultRule(match=match, action=Stall())]))
    assert specs(progress, *seen) == []


def test_nth_counts_only_exchanges_that_agree_with_the_rest():
    progress = PlanProgress(FaultPlan([FaultRule(match=Match(command="GET", nth=2), action=Stall())]))
    heard = [specs(progress, command) for command in ("GET", "PUT", "EXIST", "GET", "GET")]
    assert heard == [[], [], [], ["stall"], []]


def test_a_plan_can_be_run_again_from_the_start():
    plan = FaultPlan([FaultRule(match=Match(nth=1), action=Stall())])
    for _ in range(2):
        assert specs(PlanProgress(plan)) == ["stall"]


def test_rules_that_match_together_act_together_in_order():
    plan = FaultPlan([FaultRule(action=Delay(1)), FaultRule(action=(Stall(), Segments((1,))))])
    assert specs(PlanProgress(plan)) == ["delay:seconds=1", "stall", "segments:sizes=1"]


def test_the_first_of_two_rules_that_decide_on_one_thing_holds(start, dial):
    server = start(faults=FaultPlan([FaultRule(action=CloseAfter(3)), FaultRule(action=CloseAfter(9))]))
    client = dial(server)
    client.request("HEALTH")
    assert len(client.rest()[0]) == 3
    assert server.journal.last_exchange().faults == ("close-after:bytes=3",)


def test_a_rule_whose_actions_contradict_each_other_is_refused():
    with pytest.raises(ValueError, match=r"close-after.*truncate-body"):
        FaultRule(action=(CloseAfter(1), TruncateBody(1)))


def test_two_fields_may_be_replaced_and_one_field_only_once():
    FaultRule(action=(ReplaceField("code", 1), ReplaceField("length", 1)))
    with pytest.raises(ValueError, match="field code"):
        FaultRule(action=(ReplaceField("code", 1), ReplaceField("code", 2)))


def test_a_rule_needs_an_action():
    with pytest.raises(ValueError, match="needs an action"):
        FaultRule(action=())


@pytest.mark.parametrize("make", [lambda: Match(command="FETCH"), lambda: Match(nth=0), lambda: Match(connection=0)])
def test_impossible_matches_are_refused(make):
    with pytest.raises(ValueError, match=r"no command|counts from 1"):
        make()


@pytest.mark.parametrize(
    "make",
    [
        lambda: Segments(()),
        lambda: Segments((0,)),
        lambda: Segments((1,), pause=-1),
        lambda: Delay(float("inf")),
        lambda: Delay(-1),
        lambda: CloseAfter(-1),
        lambda: Stall(-1),
        lambda: TruncateBody(-1),
        lambda: ReplaceField("code", 2**31),
    ],
)
def test_impossible_parameters_are_refused(make):
    with pytest.raises(ValueError, match=r"."):
        make()


def test_plans_are_values():
    rules = [FaultRule(match=Match(nth=1), action=Stall())]
    plan = FaultPlan(rules)
    rules.clear()
    assert len(plan.rules) == 1
    assert plan == FaultPlan([FaultRule(match=Match(nth=1), action=Stall())])
    assert {plan: 1}[FaultPlan(plan.rules)] == 1
    assert plan
    assert not FaultPlan()
