"""What a server, plugin or connector SHOULD do and does not: told apart in every report, and no failure."""

import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from reports.diagnosis import Diagnosis
from reports.formats.junit import junit_xml
from reports.formats.table import FORMATS
from reports.headline import headline
from reports.outputs import Wanted, write_reports
from reports.results import ResultsWriter, read_results
from reports.terminal import summary_lines
from reports.verdict import ExitCode, Verdict


@pytest.fixture
def results(header, make_case, tmp_path):
    """A run of a server with a pass and three shortfalls of two requirements."""
    said = Diagnosis("a cut value was stored", requirement="SRV-LM-040", level="SHOULD")
    cut = [
        make_case("servers.hostile.refused", Verdict.SHORTFALL, judges="server", variant=variant, diagnosis=said)
        for variant in ("half", "none")
    ]
    listing = replace(said, requirement="SRV-LM-042", summary="LIST is not answered")
    unanswered = make_case("servers.better.list", Verdict.SHORTFALL, judges="server", diagnosis=listing)
    path = tmp_path / "results.jsonl"
    with ResultsWriter(path, replace(header, side="server")) as writer:
        for case in (make_case("servers.wire.programs", judges="server"), *cut, unanswered):
            writer.add(case)
    return read_results(path)


def test_they_do_not_fail_a_run(results):
    assert results.exit_code is ExitCode.CONFORMANT


def test_the_headline_says_that_every_must_was_kept(results):
    found = headline(results)
    assert found.word == "CONFORMANT"
    assert "3 shortfall. Nothing that it MUST do was missed" in found.because


def test_the_terminal_groups_them_by_requirement(results):
    text = "\n".join(line.plain for line in summary_lines(results, width=120))
    assert "server   mine 1.2 (Rust)" in text
    assert "Short of a SHOULD:" in text
    assert "SRV-LM-040 servers.hostile.refused  2 cases: a cut value was stored" in text
    assert "SRV-LM-042 servers.better.list" in text
    assert "1 passed, 0 failed, 3 skipped" in text


def test_a_run_that_judges_a_server_does_not_say_that_no_client_takes_part(results):
    assert "no client takes part" not in "\n".join(line.plain for line in summary_lines(results))


def test_junit_has_them_as_skipped_with_the_reason(results):
    messages = [element.get("message") for element in ET.fromstring(junit_xml(results)).iter("skipped")]
    assert messages == ["falls short of a SHOULD: a cut value was stored"] * 2 + ["falls short of a SHOULD: LIST is not answered"]


def test_both_pages_have_them(results, tmp_path):
    write_reports(results, tmp_path, [Wanted(FORMATS["markdown"], tmp_path / "summary.md")])
    for name in ("report.html", "summary.md"):
        page = (tmp_path / name).read_text()
        assert "Short of a SHOULD" in page
        assert "SRV-LM-040 servers.hostile.refused" in page.replace("`", "")


def test_a_run_of_nothing_but_shortfalls_shows_nothing(header, make_case, tmp_path):
    path = tmp_path / "results.jsonl"
    with ResultsWriter(path, replace(header, side="server")) as writer:
        writer.add(make_case("servers.better.list", Verdict.SHORTFALL, judges="server", summary="LIST is not answered"))
    assert read_results(path).exit_code is ExitCode.NOT_CONFORMANT


def test_the_cases_of_another_side_do_not_show_that_a_server_is_conformant(header, make_case, tmp_path):
    path = tmp_path / "results.jsonl"
    with ResultsWriter(path, replace(header, side="server")) as writer:
        writer.add(make_case("lm.get.partial-header"))
        writer.add(make_case("servers.better.list", Verdict.UNSUPPORTED, judges="server"))
    assert read_results(path).exit_code is ExitCode.NOT_CONFORMANT


@pytest.mark.parametrize(
    ("side", "suspects"),
    [
        ("client", "Repair harness, mock or environment first"),
        ("server", "Repair harness, mock or environment first"),
        ("plugin", "Repair harness or environment first"),
        ("connector", "Repair harness or environment first"),
    ],
)
def test_an_undecided_run_sends_nobody_to_a_mock_that_was_not_there(results, make_case, side, suspects):
    undecided = replace(
        results,
        header=replace(results.header, side=side),
        cases=(make_case(verdict=Verdict.HARNESS_ERROR),),
        footer=None if results.footer is None else replace(results.footer, exit_code=ExitCode.UNDECIDED),
    )
    assert suspects in headline(undecided).because
