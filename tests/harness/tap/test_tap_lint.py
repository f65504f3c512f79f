"""What the linter finds: each rule where it applies, nothing in good conversations, and the same however bytes arrive."""

import itertools
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tapped import KEY, NEW, OLD, captured, hear, hit, put, reply, request, talk

from fixturegen.corpus import captured_releases
from harness.requirements import load_requirements
from harness.tap.event import GAP, Event
from harness.tap.lm.listener import LmListener
from harness.tap.lm.rules import LM_RULES
from harness.tap.pseudonyms import Pseudonyms

OTHER = "m@2@0@7f@half"
HUNG_UP = ("server", "half-close")
GONE = (("client", "half-close"), ("server", "close"))
VALUE = b"v" * 64

GOOD = ("put-get", "get-miss", "overwrite", "empty-value", "two-connections", "pipelined", "byte-by-byte-put")
SHOWN = {
    "unknown-command": [("client", request(6)), HUNG_UP],
    "unknown-format": [("client", request(2, fmt=9)), HUNG_UP],
    "unknown-dtype": [("client", request(2, dtype=9)), HUNG_UP],
    "unknown-location": [("client", request(2, location=3)), HUNG_UP],
    "half-dtype": [("client", put(VALUE, dtype=1))],
    "negative-length": [("client", request(1, length=-1))],
    "negative-dimension": [("client", put(VALUE, shape=(64, -1, 0, 0)))],
    "shape-length": [("client", put(VALUE, fmt=1, dtype=4, shape=(2, 1, 1, 32)))],
    "describes-nothing": [("client", request(2, length=5)), ("server", reply(400))],
    "key-encoding": [("client", request(2, b"\xff@1@0@7f@half")), HUNG_UP],
    "key-padding": [("client", request(2, KEY.encode() + bytes(10))), HUNG_UP],
    "key-full": [("client", request(2, "m" * 138 + "@1@0@7f@half")), ("server", reply(400))],
    "key-grammar": [("client", request(2, "m@1@0@0x7F@half")), ("server", reply(400))],
    "request-lost-step": [("client", put(VALUE) + b"surplus!" + request(5))],
    "request-back-in-step": [("client", put(VALUE) + b"surplus!" + request(5))],
    "cut-request": [("client", request(5)[:90]), *GONE],
    "unfinished-put": [("client", put(VALUE)[:-1]), *GONE],
    "reply-code": [("client", request(3)), ("server", reply(500))],
    "reply-location": [("client", request(3)), ("server", reply(400, location=1))],
    "reply-describes": [("client", request(3)), ("server", reply(400, length=4))],
    "reply-description": [("client", put(VALUE) + request(2)), ("server", hit(VALUE)[:8] + b"\5" + hit(VALUE)[9:])],
    "reply-length": [("client", request(2)), ("server", reply(length=8, fmt=1, dtype=4, shape=(2, 1, 1, 32)) + bytes(8))],
    "reply-unasked": [("client", put(VALUE)), ("server", reply(200))],
    "reply-lost-step": [("client", request(3)), ("server", b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")],
    "reply-back-in-step": [
        ("client", request(3) + request(3)), ("server", reply(400)), ("server", b"12345678"), ("server", reply(400)),
    ],
    "reply-split": [("client", request(3)), ("server", reply(400)[:20]), ("server", reply(400)[20:])],
    "cut-reply": [("client", request(2)), ("server", hit(VALUE)[:-1]), HUNG_UP],
    "value-differs": [("client", put(VALUE) + request(2)), ("server", hit(b"w" * 64))],
    "value-lost": [("client", put(VALUE) + request(2)), ("server", reply(400))],
    "unanswered": [("client", request(3))],
    "list-unanswered": [("client", request(4))],
    "refused": [("client", request(2, dtype=9)), HUNG_UP],
    "reset": [("client", request(3)), ("server", "reset")],
    "other-spelling": [("client", put(VALUE, OTHER) + request(2)), ("server", reply(400))],
    "other-worker": [("client", put(VALUE, "m@1@1@7f@half") + request(2)), ("server", reply(400))],
    "never-found": [("client", put(VALUE, "m@1@0@abcdef12@half") + 3 * request(3)), ("server", 3 * reply(400))],
    "sides-differ": [("client", request(3, "vllm@m@1@0@7f", old=True)), *GONE],
}  # fmt: skip
WITH_PROFILE = {
    "request-generation": [("client", request(3, "vllm@m@1@0@7f", old=True))],
    "reply-generation": [("client", request(3)), ("server", reply(400, old=True)), *GONE],
    "not-the-profile": [("client", request(3, "vllm@m@1@0@7f"))],
}
TROUBLE = {
    "unreachable": [Event(1.0, 1, "client", "open"), Event(1.0, 1, "server", "error", text="Connection refused")],
    "not-recorded": [*talk(("client", request(3))), Event(2.0, 1, "client", "error", text=GAP)],
}


def late(said):
    """The same conversation with two seconds before its last two events."""
    events = talk(*said)
    return [*events[:-2], *(Event(event.at + 2, 1, event.side, event.do, event.data) for event in events[-2:])]


@pytest.mark.parametrize("rule", SHOWN)
def test_a_rule_applies(rule):
    assert rule in hear(late(SHOWN[rule]) if rule == "sides-differ" else talk(*SHOWN[rule])).rules


@pytest.mark.parametrize("rule", WITH_PROFILE)
def test_a_rule_about_the_profile_applies(rule):
    assert rule in hear(talk(*WITH_PROFILE[rule]), NEW).rules
    assert rule not in hear(talk(*WITH_PROFILE[rule])).rules


@pytest.mark.parametrize("rule", TROUBLE)
def test_a_rule_about_the_tap_applies(rule):
    assert rule in hear(TROUBLE[rule]).rules


@pytest.mark.parametrize("text", ["", " "])
def test_an_error_of_a_recording_that_gives_no_reason_is_told_as_such(text):
    (found,) = hear([Event(1.0, 1, "server", "error", text=text)]).findings
    assert found.summary == "an error without a reason"


def test_every_rule_is_shown():
    assert {*SHOWN, *WITH_PROFILE, *TROUBLE} == set(LM_RULES)


@pytest.mark.parametrize("rule", LM_RULES.values(), ids=lambda rule: rule.name)
def test_a_rule_cites_a_requirement_that_exists(rule):
    assert rule.requirement is None or rule.requirement in load_requirements()


@pytest.mark.parametrize("release", captured_releases()[::6], ids=str)
@pytest.mark.parametrize("name", GOOD)
def test_nothing_is_found_in_a_good_conversation(release, name):
    assert hear(captured(release, name)).rules == []
    assert hear(captured(release, name), release).rules == []


def test_the_first_wrong_byte_is_named():
    found = hear(talk(("client", put(VALUE) + request(3, fmt=9)), HUNG_UP)).of("unknown-format")
    assert (found.offset, found.field, found.expected) == (len(put(VALUE)) + 8, "format", "format 0 to 8")
    assert found.got.startswith("9")
    assert found.frame.data[found.frame.marks[0][0]] == 9


def test_surplus_bytes_are_counted():
    found = hear(talk(("client", put(VALUE) + b"surplus!" + request(5))))
    assert found.of("request-lost-step").offset == len(put(VALUE))
    assert "surp" in found.of("request-lost-step").got
    assert "8 bytes too many" in found.of("request-back-in-step").summary


def test_a_header_that_was_swallowed_as_payload_is_found():
    missing = hear(talk(("client", put(VALUE)[:-10] + request(5)), ("client", put(VALUE)), ("server", reply(200))))
    assert "it began 10 bytes too early" in missing.of("request-back-in-step").summary


def test_a_header_in_a_payload_that_never_ends_is_told():
    short = request(1, length=500, fmt=4, dtype=6, shape=(500, 0, 0, 0)) + VALUE + request(3)
    found = hear(talk(("client", short), *GONE)).of("unfinished-put")
    assert f"begins at byte {186 + 64}, inside the payload" in found.summary


def test_network_byte_order_is_recognised():
    found = hear(talk(("client", bytes((0, 0, 0, 2)) + request(2)[4:]), HUNG_UP))
    assert "GET with its bytes the other way round" in found.of("unknown-command").got


def test_a_server_that_ends_a_connection_is_explained():
    found = hear(talk(("client", request(2, "m@1@0@7f@torch.half")), HUNG_UP))
    assert "no dtype is called 'torch.half'" in found.of("refused").summary


def test_the_spelling_that_was_stored_is_told():
    found = hear(talk(*SHOWN["other-spelling"])).of("other-spelling")
    assert (found.expected, found.got) == ("world size '2'", "world size '1'")
    assert found.offset == len(put(VALUE, OTHER)) + 36 + 2


def test_a_hash_in_another_base_is_the_same_hash():
    stored, asked = f"m@1@0@{0x1234567890ABCDEF:x}@half", f"m@1@0@{0x1234567890ABCDEF}@half"
    found = hear(talk(("client", put(VALUE, stored) + request(2, asked)), ("server", reply(400))))
    assert found.of("other-spelling").expected == "hash '1234567890abcdef'"


def test_a_value_is_not_compared_while_another_put_is_under_way():
    events = talk(("client", put(VALUE)))
    events += talk(("client", put(b"w" * 64)[:200]), connection=2, at=2.0)
    events += talk(("client", request(2)), ("server", hit(b"w" * 64)), connection=3, at=3.0)
    assert "value-differs" not in hear(events).rules


def test_equal_payloads_that_were_left_out_are_equal_and_others_are_not():
    header, answer = put(bytes(9000))[:186], hit(bytes(9000))[:36]
    for stored, came, rules in (("a" * 64, "a" * 64, []), ("a" * 64, "b" * 64, ["value-differs"])):
        events = talk(("client", header))
        events.append(Event(2.0, 1, "client", "data", length=9000, sha256=stored))
        events += [Event(3.0, 1, "client", "data", request(2)), Event(3.1, 1, "server", "data", answer)]
        events.append(Event(3.2, 1, "server", "data", length=9000, sha256=came))
        assert hear(events).rules == rules


SAID = st.sampled_from(sorted(SHOWN)).map(lambda rule: SHOWN[rule])


@settings(max_examples=60, deadline=None)
@given(SAID, st.data())
def test_findings_do_not_depend_on_segments(said, data):
    cut = []
    for side, what in said:
        if not isinstance(what, bytes):
            cut.append((side, what))
            continue
        places = sorted(data.draw(st.sets(st.integers(1, max(1, len(what) - 1)), max_size=4)))
        edges = [0, *places, len(what)]
        cut += [(side, what[begin:end]) for begin, end in itertools.pairwise(edges) if begin < end]

    def told(events):
        heard = hear(events)
        found = [one for one in heard.findings if not one.rule.by_segments]
        return (
            [(one.rule.name, one.offset, one.expected, one.got) for one in found],
            heard.client.candidates,
            heard.server.candidates,
        )

    whole = [(side, what) for side, what in said]
    same_at = [Event(1.0, one.connection, one.side, one.do, one.data) for one in talk(*whole)]
    cut_at = [Event(1.0, one.connection, one.side, one.do, one.data) for one in talk(*cut)]
    assert told(cut_at) == told(same_at)


FRAMES = [
    request(1),
    request(2),
    put(VALUE),
    reply(),
    reply(400),
    hit(VALUE),
    request(3, old=True),
    b"\xc8\0\0\0",
    bytes(40),
    b"GET / HTTP/1.1\r\n",
]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(["client", "server"]), st.one_of(st.binary(max_size=300), st.sampled_from(FRAMES))), max_size=12
    )
)
def test_garbage_is_never_an_exception(said):
    events = talk(*said)
    hear(events)
    hear(events, NEW)
    hear(events, OLD)


def test_a_flood_of_almost_headers_ends():
    flood = random.Random(1).choices([reply()[:33], b"\xc8\0\0\0", request(2)[:40], b"\1\0\0\0", bytes(7)], k=6000)
    hear(talk(("client", b"".join(flood)), ("server", b"".join(flood))))


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=200))
def test_a_redacted_header_is_as_long_as_it_was(data):
    assert len(LmListener().redact(data, Pseudonyms(b"s"))) == len(data)


@pytest.mark.parametrize("cuts", [[], [32], [34], [4, 32]])
def test_what_is_wrong_with_a_header_is_told_once_however_it_comes(cuts):
    asked, (_, answer) = SHOWN["reply-location"]
    pieces = [answer[begin:end] for begin, end in itertools.pairwise([0, *cuts, len(answer)])]
    heard = hear(talk(asked, *(("server", piece) for piece in pieces)))
    assert [one.rule.name for one in heard.findings].count("reply-location") == 1


def test_nobody_is_judged_by_a_release_that_is_not_known():
    heard = hear(captured(NEW, "put-get"), type(NEW).parse("99.0"))
    assert "not-the-profile" not in heard.rules
    assert heard.client.seen
