"""Who pays for what in runs that judge clients, servers, plugins and connectors."""

import pytest

from harness.case import TARGETS, case, cells, spec_of
from harness.failure import CaseFailure, LiveServerFailure, MockDriftFailure, PeerFailed, ServerUnavailable, TargetUnavailable
from harness.sides import FACTS, parse_side, require_runtime, require_targets, where_listed
from harness.usage import UsageError
from harness.verdicts import verdict_of
from reports.diagnosis import Diagnosis
from reports.side import SIDES
from reports.verdict import Verdict
from wire.release import Release

SHOULD = Diagnosis("slow", level="SHOULD")


@pytest.mark.parametrize(
    ("error", "client", "server"),
    [
        (MockDriftFailure(Diagnosis("other bytes")), Verdict.MOCK_DRIFT, Verdict.FAIL),
        (LiveServerFailure(Diagnosis("other bytes")), Verdict.ENVIRONMENT_ERROR, Verdict.FAIL),
        (PeerFailed("no reply"), Verdict.ENVIRONMENT_ERROR, Verdict.FAIL),
        (ServerUnavailable("wrote nothing"), Verdict.ENVIRONMENT_ERROR, Verdict.CRASH),
        (TargetUnavailable("no docker"), Verdict.ENVIRONMENT_ERROR, Verdict.ENVIRONMENT_ERROR),
        (CaseFailure(Diagnosis("other bytes")), Verdict.FAIL, Verdict.FAIL),
        (KeyError("a"), Verdict.HARNESS_ERROR, Verdict.HARNESS_ERROR),
    ],
)
def test_a_server_pays_for_itself_where_it_is_what_is_judged(error, client, server):
    assert verdict_of(error).verdict is client
    assert verdict_of(error, side="server").verdict is server


@pytest.mark.parametrize(
    ("level", "lenient", "verdict"),
    [
        ("SHOULD", True, Verdict.SHORTFALL),
        ("SHOULD", False, Verdict.FAIL),
        ("MUST", True, Verdict.FAIL),
        (None, True, Verdict.FAIL),
    ],
)
def test_only_a_should_can_be_fallen_short_of(level, lenient, verdict):
    error = CaseFailure(Diagnosis("slow", level=level))
    assert verdict_of(error, side="plugin", lenient=lenient).verdict is verdict


def test_what_a_hang_breaks_is_never_a_shortfall():
    from harness.client import ClientHang

    def explain(diagnosis):
        return SHOULD

    assert verdict_of(ClientHang("no answer"), explain, side="plugin", lenient=True).verdict is Verdict.HANG


@pytest.mark.parametrize("side", SIDES)
def test_a_side_takes_its_own_targets_and_no_others(side):
    require_targets(side, FACTS[side].targets)
    others = [target for target in TARGETS if target not in FACTS[side].targets]
    for target in others:
        with pytest.raises(UsageError, match=f"a {side} is not judged on {target}"):
            require_targets(side, [target])


def test_a_side_that_does_not_exist_is_refused():
    with pytest.raises(UsageError, match="unknown side 'servers'; write one of client, server, plugin, connector"):
        parse_side("servers")


@pytest.mark.parametrize(
    ("judges", "runs"), [("client", ("client",)), ("server", ("client",)), ("plugin", ("plugin",)), ("connector", ("connector",))]
)
def test_a_case_is_in_the_runs_of_its_side_unless_it_says_otherwise(judges, runs):
    @case("LM-PUT-001", judges=judges)
    def test_something():
        """It works."""

    assert spec_of(test_something).runs == runs


def test_a_case_may_name_the_runs_that_it_is_in():
    @case("LM-SRV-001", judges="server", runs=("client", "server"))
    def test_something():
        """It works."""

    assert spec_of(test_something).runs == ("client", "server")


def test_a_case_for_each_contract_runs_in_the_newest_release_of_each():
    @case("LM-PUT-001", judges="plugin", targets=("alone",), once_for="contract", releases="0.5.5 and later")
    def test_something():
        """It works."""

    releases = [Release.parse(text) for text in ("0.5.6", "0.5.5")]
    found = [cell.release for cell in cells(spec_of(test_something), releases, ["alone"])]
    assert found[0] == releases[0]
    assert len(found) == len(set(found))


@pytest.mark.parametrize("side", ["plugin", "connector"])
def test_what_the_harness_opens_is_not_judged_in_a_container(side):
    require_runtime(side, "venv")
    with pytest.raises(UsageError, match=rf"a {side} is judged in the venv runtime alone: .*; leave --runtime docker out"):
        require_runtime(side, "docker")


@pytest.mark.parametrize("side", ["client", "server"])
def test_servers_may_run_in_a_container(side):
    require_runtime(side, "docker")


def test_where_cases_are_listed_names_the_side():
    assert "'lmconform list --ids'" in where_listed("client")
    assert "'lmconform list --side plugin --ids'" in where_listed("plugin")
