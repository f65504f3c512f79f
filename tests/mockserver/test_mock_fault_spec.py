"""Faults as the command line spells them."""

from __future__ import annotations

import pytest

from mockserver.faults import (
    FAULTS,
    Anchor,
    CloseAfter,
    Delay,
    DropReply,
    FaultRule,
    FaultSpecError,
    FlipBit,
    HalfClose,
    Match,
    ReplaceField,
    Segments,
    Span,
    Stall,
    Stored,
    TruncateBody,
    describe,
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
        ("stall:bytes=body+3", FaultRule(action=Stall(Anchor("body", 3)))),
        ("close-after:bytes=field:length", FaultRule(action=CloseAfter(Anchor("field:length")))),
        ("flip-bit:at=end-1,bit=7", FaultRule(action=FlipBit(Anchor("end", -1), 7))),
        ("half-close", FaultRule(action=HalfClose(Anchor("end")))),
        ("segments:sizes=10+body+100", FaultRule(action=Segments((10, Anchor("body"), 100)))),
        ("replace-field:name=length,value=stored-1", FaultRule(action=ReplaceField("length", Stored("-", 1)))),
        ("replace-field:name=dtype,value=float32", FaultRule(action=ReplaceField("dtype", "float32"))),
        ("drop-reply:nth=2..5,connection=3..", FaultRule(match=Match(nth=Span(2, 5), connection=Span(3)), action=DropReply())),
        ("drop-reply:probability=0.1,seed=7", FaultRule(match=Match(probability=0.1, seed=7), action=DropReply())),
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
        ("stall:nth=٣", "a number from 1 or a span such as 2..5 or 3.., not '٣'$"),
        ("stall:nth=0b1", "a number from 1"),
        ("close-after:bytes=1_000", "a number of bytes or a place"),
        ("close-after:bytes=body+" + 5000 * "1", "a number of bytes or a place"),
        ("flip-bit:at=0,bit=" + 5000 * "1", "an integer"),
        ("delay:seconds=1_0", "seconds is a number, not '1_0'"),
        ("delay:seconds=inf", "seconds is a number"),
        ("replace-field:name=code,value=4_0", "code cannot be '4_0'"),
        ("replace-field:name=code,value=stored+" + 5000 * "1", "value is an integer"),
        ("stall:nth=0", "counts from 1"),
        ("stall:nth=0..", "counts from 1"),
        ("stall:nth=5..2", "a span rises"),
        ("stall:nth=2-5", "a number from 1 or a span such as 2..5"),
        ("stall:bytes=field:lenght", "did you mean field:length"),
        ("stall:bytes=length", "did you mean field:length"),
        ("stall:bytes=header", "no place in a reply is called 'header'"),
        ("stall:bytes=-3", "counts from 0"),
        ("stall:probability=2", "from 0 to 1"),
        ("stall:probability=nan", "probability is a number, not 'nan'"),
        ("stall:seed=2", "without probability"),
        ("flip-bit:at=0,bit=8", "bits 0 to 7"),
        ("replace-field:name=lenght,value=1", "did you mean length"),
        ("replace-field:name=dtype,value=flot32", "did you mean float32"),
        ("replace-field:name=length,value=stord", "did you mean stored"),
        ("replace-field:name=length,value=", "an integer, a name, or such as stored"),
        ("segments:sizes=body+2+x", "joined with"),
        ("extend-body:bytes=0", "from 1 to"),
        ("extend-body:bytes=1,fill=256", "from 0 to 255"),
        ("duplicate-reply:copies=1", "from 2 to"),
        ("unasked-reply:code=OK", "code cannot be 'OK'"),
        ("delay:seconds=1e9", "from 0 to 1000000"),
        ("refuse:nth=2", "only connection= can pick"),
        ("refuse:conection=2", "did you mean connection"),
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


@pytest.mark.parametrize("name", FAULTS)
def test_the_example_of_a_fault_is_one(name):
    assert isinstance(parse(FAULTS[name].example).action, FAULTS[name])
