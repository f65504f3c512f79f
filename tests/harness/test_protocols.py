"""Which wires a run has cases for: those that the client declares, or those that were asked for."""

import pytest

from harness.client import LM_OPERATIONS, MP_OPERATIONS, OPERATIONS
from harness.protocols import as_choice, declared, has_protocol, named, parse_protocol, protocol_of
from harness.runner import collect_cases
from harness.usage import UsageError
from wire.release import Release

LM_CASE, CONTROL = "keys.tokens.hashes", "mp.connection.close*"


@pytest.mark.parametrize(
    ("operations", "expected"),
    [
        (LM_OPERATIONS, ["lm"]),
        (MP_OPERATIONS, ["mp"]),
        (OPERATIONS, ["lm", "mp"]),
        (["format_key"], ["lm"]),
        (["mp_noop", "connect"], ["mp"]),
        (["connect", "close"], ["lm", "mp"]),
        ([], ["lm", "mp"]),
    ],
)
def test_a_client_declares_the_wires_of_its_operations(operations, expected):
    assert list(declared(operations)) == expected


@pytest.mark.parametrize("choice", ["lm", "mp", "both"])
def test_a_choice_names_its_wires(choice):
    assert as_choice(named(choice)) == choice


def test_an_unknown_choice_is_refused():
    with pytest.raises(UsageError, match="one of declared, lm, mp, both"):
        parse_protocol("http")


def test_the_first_part_of_a_topic_is_its_wire():
    assert [protocol_of(topic) for topic in ("mp.flow", "mp", "lm.get", "keys", "mpx.flow")] == ["mp", "mp", "lm", "lm", "lm"]


def test_releases_before_0_3_9_post1_have_no_multiprocess_wire():
    assert [has_protocol(Release.parse(text), "mp") for text in ("0.3.9", "0.3.9.post1")] == [False, True]


@pytest.mark.parametrize(("protocol", "expected"), [("both", {"lm", "mp"}), ("mp", {"mp"})])
def test_a_list_has_both_wires_or_the_one_that_was_asked_for(protocol, expected):
    found = collect_cases(lmcache="0.5.6", target="mock", only=(), protocol=protocol)
    assert {protocol_of(one.name) for one in found} == expected


@pytest.mark.parametrize(("client", "only"), [("reference", LM_CASE), ("reference-mp", CONTROL)])
def test_a_run_that_asked_for_nothing_of_the_other_wire_says_nothing_of_it(judged, capfd, client, only):
    run = judged(client, only)
    assert (run.code, run.results.header.left_out) == (0, ())
    assert "without" not in capfd.readouterr().out


def test_cases_of_the_other_wire_that_were_asked_for_are_named_as_left_out(judged, capfd):
    run = judged("reference", "*.connection.close*")
    assert run.results.header.left_out == ("mp",)
    assert {protocol_of(case.topic) for case in run.cases} == {"lm"}
    assert "without  cases of mp: the client declares none of their operations" in capfd.readouterr().out


def test_a_pattern_that_means_cases_of_the_other_wire_alone_is_refused_with_the_reason(judged):
    with pytest.raises(UsageError, match=r"cases of mp: the client declares none of their operations; --protocol both runs them"):
        judged("reference", "mp.connection.close*")


def test_cases_of_a_wire_that_was_asked_for_are_unsupported_where_nothing_of_it_is_declared(judged):
    run = judged("reference", CONTROL, protocol="both")
    assert run.cases
    assert {str(case.verdict) for case in run.cases} == {"unsupported"}
    assert run.code == 1


def test_one_server_of_the_user_needs_one_wire(command):
    ended = command("run", "--lmcache", "0.5.6", "--live", "127.0.0.1:1", "--protocol", "both")
    assert ended.code == 2
    assert "add --protocol lm or --protocol mp" in ended.err
