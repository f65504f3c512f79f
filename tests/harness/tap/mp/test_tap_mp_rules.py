"""The table of rules."""

from harness.requirements import load_requirements
from harness.tap.mp.rules import RULES


def test_each_rule_cites_a_requirement_that_there_is():
    known = load_requirements()
    assert [rule.name for rule in RULES.values() if rule.requirement is not None and rule.requirement not in known] == []


def test_names_of_rules_tell_the_wire():
    assert [name for name in RULES if not name.startswith("mp.")] == []
