"""Faults as the command line spells them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockserver.faults import (
    FAULTS,
    CloseAfter,
    Delay,
    FaultRule,
    FaultSpecError,
    Match,
    ReplaceField,
    Segments,
    Stall,
    TruncateBody,
    describe,
    format_rule,
    parse,
    parse_plan,
)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("stall", FaultRule(action=Stall())),
        ("stall:bytes=36", FaultRule(action=Stall(36))),
        ("close-after:bytes=10,reset=true", FaultRule(action=CloseAfter(10, reset=True))),
        ("segments:sizes=10+26", FaultRule(action=Segments((10, 26)))),
        ("segments:sizes=1,pause=0.5", FaultRule(action=Segments((1,), pause=0.5))),
        ("delay:seconds=0.5,command=GET,nth=2", FaultRule(match=Match(command="GET", nth=2), action=Delay(0.5))),
        ("replace-field:name=length,value=-1", FaultRule(action=ReplaceField("length", -1))),
        ("replace-field:name=code,value=0x190", FaultRule(action=ReplaceField("code", 400))),
        ("truncate-body:bytes=0,connection=3", FaultRule(match=Match(connection=3), action=TruncateBody(0))),
        ("stall:key=a,b@1@0@ab@half@t%x=y", FaultRule(match=Match(key="a,b@1@0@ab@half@t%x=y"), action=Stall())),
    ],
)
def test_a_fault_is_read(text, rule):
    assert parse(text) == rule


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("", "there are segments"),
        ("close-aftr:bytes=1", "did you mean close-after"),
        ("close-after:byte=1", "did you mean bytes"),
        ("close-after", "needs bytes, for example close-after:bytes=10"),
        ("close-after:bytes=ten", "bytes is a number of bytes or a place .* \\(did you mean end"),
        ("close-after:bytes=-1", "counts from 0"),
        ("close-after:bytes=1,reset=maybe", "true or false"),
        ("close-after:bytes=1,bytes=2", "given twice"),
        ("close-after:bytes", "no key=value"),
        ("close-after:bytes,reset=true", "'bytes' is no key=value"),
        ("segments:sizes=10,26", "'26' is no key=value"),
        ("segments:sizes=10+x", "joined with \\+"),
        ("segments:sizes=0", "at least 1 byte"),
        ("replace-field:name=code,value=4294967296", "int32"),
        ("delay:seconds=soon", "seconds is a number"),
        ("stall:command=FETCH", "no command is called 'FETCH'"),
        ("stall:nth=0", "counts from 1"),
    ],
)
def test_what_is_not_understood_is_explained(text, hint):
    with pytest.raises(FaultSpecError, match=hint):
        parse(text)


def test_several_faults_make_a_plan_in_their_order():
    assert [rule.action for rule in parse_plan(["stall", "delay:seconds=1"]).rules] == [Stall(), Delay(1)]


@pytest.mark.parametrize("name", FAULTS)
def test_every_fault_names_the_event_it_stands_for(name):
    assert FAULTS[name].fault == name
    assert len(describe(name)) > 100


COUNTS = st.integers(0, 2**40)
ACTIONS = st.one_of(
    st.builds(Segments, st.lists(st.integers(1, 10**6), min_size=1, max_size=5).map(tuple), pause=st.floats(0, 10)),
    st.builds(Delay, st.floats(0, 1000)),
    st.builds(Stall, COUNTS),
    st.builds(CloseAfter, COUNTS, reset=st.booleans()),
    st.builds(TruncateBody, COUNTS),
    st.builds(ReplaceField, st.sampled_from(["code", "length", "shape3"]), st.integers(-(2**31), 2**31 - 1)),
)
MATCHES = st.builds(
    Match,
    command=st.none() | st.sampled_from(["PUT", "GET"]),
    nth=st.none() | st.integers(1, 99),
    connection=st.none() | st.integers(1, 99),
    key=st.none() | st.text("ab@%,=:+1", min_size=1),
)


@given(ACTIONS, MATCHES)
def test_what_is_written_is_read_back(action, match):
    rule = FaultRule(match=match, action=action)
    assert parse(format_rule(rule)) == rule
