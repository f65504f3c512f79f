"""How properties are tried: seeds, numbers of examples, and the end of the search for a smaller one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from harness.client import ClientHang
from harness.examples import Examples
from harness.failure import CaseFailure
from reports.diagnosis import Diagnosis

NUMBERS = st.integers(0, 10**9)


def drawn(examples):
    seen = []

    @examples
    @given(NUMBERS)
    def check(number):
        seen.append(number)

    check()
    return seen


def test_a_seed_gives_the_same_examples_again():
    assert drawn(Examples(20, 5, "a")) == drawn(Examples(20, 5, "a"))


@pytest.mark.parametrize("other", [Examples(20, 6, "a"), Examples(20, 5, "b")])
def test_another_seed_or_cell_gives_others(other):
    assert drawn(Examples(20, 5, "a")) != drawn(other)


def test_there_are_as_many_examples_as_were_asked_for():
    assert len(drawn(Examples(20, 5, "a"))) == 20


def test_a_costly_property_makes_do_with_fewer_where_nobody_asked():
    assert len(drawn(Examples(20, 0, "a").costly(3))) == 3
    assert len(drawn(Examples(20, 0, "a", asked=True).costly(3))) == 20


def test_a_failure_is_told_for_the_smallest_example():
    @Examples(200, 1, "a")
    @given(NUMBERS)
    def check(number):
        if number >= 1000:
            raise CaseFailure(Diagnosis(f"{number} is too large"))

    with pytest.raises(CaseFailure, match="1000 is too large"):
        check()


def test_a_failure_that_does_not_come_back_still_counts():
    seen = []

    @Examples(50, 1, "a")
    @given(NUMBERS)
    def check(number):
        seen.append(number)
        if len(seen) == 10:
            raise CaseFailure(Diagnosis("once"))

    with pytest.raises(CaseFailure, match="once"):
        check()


def test_a_client_that_hangs_is_not_asked_again():
    seen = []

    @Examples(50, 1, "a")
    @given(NUMBERS)
    def check(number):
        seen.append(number)
        raise ClientHang("no answer")

    with pytest.raises(ClientHang):
        check()
    assert len(seen) == 1


def test_making_an_example_smaller_ends_after_a_while(monkeypatch):
    monkeypatch.setattr("harness.examples.SHRINKING", 0.0)
    seen = []

    @Examples(50, 1, "a")
    @given(NUMBERS)
    def check(number):
        seen.append(number)
        raise CaseFailure(Diagnosis("always"))

    with pytest.raises(CaseFailure):
        check()
    assert len(seen) == 1


def test_a_machine_is_drawn_from_the_seed_too():
    def steps(examples):
        seen = []

        class Machine(RuleBasedStateMachine):
            @rule(number=NUMBERS)
            def step(self, number):
                seen.append(number)

        examples.run_machine(Machine, steps=4)
        return seen

    assert len(steps(Examples(5, 1, "a"))) == 20
    assert steps(Examples(5, 1, "a")) == steps(Examples(5, 1, "a"))
    assert steps(Examples(5, 1, "a")) != steps(Examples(5, 2, "a"))


def test_a_machine_that_fails_tells_so():
    class Machine(RuleBasedStateMachine):
        @rule()
        def step(self):
            raise CaseFailure(Diagnosis("wrong"))

    with pytest.raises(CaseFailure, match="wrong"):
        Examples(5, 1, "a").run_machine(Machine, steps=3)
