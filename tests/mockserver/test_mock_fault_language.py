"""The language of faults as a whole: what is written is read back, and every text is a fault or an error of one kind."""

from __future__ import annotations

import dataclasses
import typing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockserver.faults import FAULTS, Anchor, FaultRule, FaultSpecError, Match, Span, Stored, format_rule, parse
from mockserver.faults.number import Number
from mockserver.faults.place import FIELDS, Place
from wire.lm.enums import DTYPES

WORDS = ["body", "end", *(f"field:{name}" for name in FIELDS)]
VALUES = {
    int: st.integers(-3, 300),
    float: st.floats(0, 10**6),
    bool: st.booleans(),
    str: st.sampled_from(FIELDS),
    Place: st.integers(0, 2**40) | st.builds(Anchor, st.sampled_from(WORDS), st.integers(-(10**6), 10**6)),
    tuple[Place, ...]: st.lists(st.integers(1, 10**6) | st.builds(Anchor, st.sampled_from(WORDS)), min_size=1, max_size=5).map(
        tuple
    ),
    Number: st.integers(-(2**31), 2**31 - 1)
    | st.builds(Stored, st.sampled_from("+-*"), st.integers(0, 2**33))
    | st.sampled_from([name or "none" for name in DTYPES]),
}
"""Values for the parameters of each type."""
ORDINALS = st.integers(1, 99) | st.builds(
    lambda first, more: Span(first, first + more if more else None), st.integers(1, 9), st.integers(0, 9)
)
MATCHES = {
    "command": st.sampled_from(["PUT", "GET", "EXIST", "LIST", "HEALTH"]),
    "nth": ORDINALS,
    "connection": ORDINALS,
    "probability": st.floats(0, 1),
    "seed": st.integers(-(2**70), 2**70),
    "key": st.text("ab@%,=:+1 ", min_size=1),
}


def made(kind, values, criteria):
    """A rule, or None where the fault refuses what was drawn."""
    try:
        return FaultRule(match=Match(**criteria), action=kind(**values))
    except ValueError:
        return None


@st.composite
def rules(draw):
    kind = draw(st.sampled_from(list(FAULTS.values())))
    hints = typing.get_type_hints(kind)
    values = st.fixed_dictionaries({field.name: VALUES[hints[field.name]] for field in dataclasses.fields(kind)})
    criteria = st.fixed_dictionaries({}, optional=MATCHES)
    return draw(st.builds(made, st.just(kind), values, criteria).filter(bool))


@given(rules())
def test_what_is_written_is_read_back(rule):
    text = format_rule(rule)
    assert parse(text) == rule
    assert format_rule(parse(text)) == text


KEYS = ["bytes", "sizes", "at", "nth", "connection", "probability", "seed", "key", "name", "value", "command", "reset"]
VALUE_PIECES = ["GET", "body", "end", "field:length", "stored", "true", "0x10", "1", "2", "nan", "inf", "1e400", "\u0663"]
PIECES = st.sampled_from([*FAULTS, *KEYS, *VALUE_PIECES, *":,=+-* ", ".."])


@given(st.lists(PIECES, max_size=14).map("".join) | st.text())
def test_any_text_is_a_fault_or_a_fault_spec_error(text):
    try:
        rule = parse(text)
    except FaultSpecError:
        return
    assert parse(format_rule(rule)) == rule


@given(rules())
def test_the_keys_of_a_fault_may_come_in_any_order(rule):
    name, _, keys = format_rule(rule).partition(":")
    if rule.match.key is None and keys:
        assert parse(f"{name}:{','.join(reversed(keys.split(',')))}") == rule


@pytest.mark.parametrize("text", ["stall:bytes=0x10", "stall:bytes=16", "stall: bytes = 16 ", " stall:bytes=16"])
def test_one_fault_may_be_spelled_in_several_ways(text):
    assert format_rule(parse(text)) == "stall:bytes=16"
