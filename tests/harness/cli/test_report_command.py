"""``lmconform report`` and ``--report``: other formats of a run, from its results and right after it."""

import json
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from reports.diagnosis import Diagnosis
from reports.formats.table import FORMATS
from reports.parts import Selection, Shard, ids_digest
from reports.record import CaseRecord, ClientInfo, RunHeader
from reports.results import ResultsWriter
from reports.verdict import Verdict

QUICK = ("run", "--lmcache", "0.5.6", "--only", "keys.tokens.*", "--jobs", "1")
HEADER = RunHeader(
    "0.1.0", "2026-01-02T03:04:05Z", ClientInfo("stdio:./mine", "mine", "1", "Rust"), ("0.5.6",), ("mock",),
    ("lmconform", "run"), 0, "CPython 3.11", "Linux", "4ac22d56",
)  # fmt: skip
WRONG = CaseRecord(
    "lm.get.a[0.5.6-mock]", "lm.get", "a", "0.5.6", "mock", Verdict.FAIL, 0.1, "A client waits.",
    diagnosis=Diagnosis("wrong", requirement="LM-GET-004", level="MUST", why_it_matters="it is lost"),
)  # fmt: skip
BEGINNINGS = {
    "html": "<!doctype html>",
    "markdown": "## NOT CONFORMANT",
    "text": "client ",
    "junit": "<?xml",
    "ctrf": "{",
    "sarif": "{",
    "badge-json": "{",
    "badge-svg": "<svg",
}


def write(path, case, **about):
    with ResultsWriter(path / "results.jsonl", replace(HEADER, **about)) as writer:
        writer.add(case)


@pytest.fixture
def failed(tmp_path):
    """The results of a case that failed, in ``lmconform-results``."""
    write(tmp_path / "lmconform-results", WRONG)


def test_a_run_writes_what_is_asked_for_beside_the_usual_files(command, tmp_path):
    ended = command(*QUICK, *("--report", "ctrf", "--report", "badge-svg", "--report", "sarif=found.sarif", "--summary", "s.md"))
    assert (ended.code, ended.err) == (0, "")
    names = sorted(path.name for path in (tmp_path / "lmconform-results").iterdir())
    assert names == ["badge.svg", "ctrf.json", "junit.xml", "report.html", "results.jsonl"]
    assert json.loads((tmp_path / "found.sarif").read_text())["version"] == "2.1.0"
    assert (tmp_path / "s.md").read_text().startswith("## CONFORMANT")
    for name, file in (("junit", "junit.xml"), ("html", "report.html"), ("ctrf", "ctrf.json")):
        made = command("report", "lmconform-results", "--format", name).out
        assert made == (tmp_path / "lmconform-results" / file).read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--report", "pdf"), "--report pdf: there is no such format; formats are html, markdown, text, junit, ctrf"),
        (("--report", "ctrf="), "--report ctrf=: no file is named"),
        (("--report", "ctrf=a", "--report", "sarif=a"), "ctrf and sarif would both be written to a; name two files"),
        (("--report", "markdown=a", "--summary", "a"), "markdown and markdown would both be written to a"),
        (("--report", "ctrf=lmconform-results/results.jsonl"), "results are kept under that name"),
        (("--report", "ctrf=lmconform-results/junit.xml"), "results are kept under that name"),
        (("--report", "ctrf=no/where"), "there is no folder no"),
        (("--report", "ctrf=/proc/x"), "cannot write the report in ctrf /proc/x"),
    ],
)
def test_what_cannot_be_written_is_told_before_the_run(command, tmp_path, words, said):
    ended = command(*QUICK, *words)
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err
    assert not (tmp_path / "lmconform-results" / "results.jsonl").exists()


def test_a_merge_writes_what_is_asked_for(command, tmp_path):
    selection = Selection(2, ids_digest(["lm.get.a[0.5.6-mock]", "lm.get.b[0.5.6-mock]"]), None, 15.0, 30.0, "venv")
    for place, name in enumerate("ab"):
        case = replace(WRONG, id=f"lm.get.{name}[0.5.6-mock]", case=name, verdict=Verdict.PASS, diagnosis=None, place=place)
        write(tmp_path / "shards" / name, case, selection=selection, shard=Shard(place + 1, 2))
    assert command("merge", "shards", "--out", "whole", "--report", "badge-json").code == 0
    assert json.loads((tmp_path / "whole" / "badge.json").read_text())["message"] == "conformant with 0.5.6"


def test_every_format_is_made_from_results_alone(command, failed, tmp_path):
    assert set(BEGINNINGS) == set(FORMATS)
    for name, beginning in BEGINNINGS.items():
        printed = command("report", "lmconform-results", "--format", name)
        assert (printed.code, printed.err) == (0, "")
        assert printed.out.startswith(beginning)
        ended = command("report", "lmconform-results/results.jsonl", "--format", name, "--out", "made")
        assert (ended.code, ended.out) == (0, "")
        assert (tmp_path / "made").read_text().startswith(beginning)


def test_text_is_the_summary_of_the_run(command, failed):
    assert command("report", "lmconform-results").out.endswith("0 passed, 1 failed, 0 skipped\n")
    assert "Why it matters" not in command("report", "lmconform-results", "--failures", "0").out


def test_findings_stand_where_the_user_says_and_lead_to_the_specification(command, failed):
    words = ("--sarif-location", "src/my adapter.py:12", "--spec-url", "https://example.org/spec/")
    (run,) = json.loads(command("report", "lmconform-results", "--format", "sarif", *words).out)["runs"]
    place = run["results"][0]["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == ("src/my%20adapter.py", 12)
    assert run["tool"]["driver"]["rules"][0]["helpUri"].startswith("https://example.org/spec/lm.md#lm-get-004")


def test_findings_stand_in_the_results_else(command, failed):
    (run,) = json.loads(command("report", "lmconform-results", "--format", "sarif").out)["runs"]
    place = run["results"][0]["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == ("lmconform-results/results.jsonl", 2)


def test_a_badge_has_the_label_that_is_given(command, failed):
    picture = ET.fromstring(command("report", "lmconform-results", "--format", "badge-svg", "--label", "<mine>").out)
    assert picture.get("aria-label") == "<mine>: 1 of 1 case failed"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--format", "pdf"), "--format pdf: there is no such format"),
        (("--sarif-location", "a"), "--sarif-location is for --format sarif, not for text"),
        (("--format", "ctrf", "--label", "x"), "--label is for --format badge-json and badge-svg, not for ctrf"),
        (("--format", "sarif", "--sarif-location", "/etc/x"), "with the file as seen from the root of the repository"),
        (("--format", "sarif", "--sarif-location", "../x"), "with the file as seen from the root of the repository"),
        (("--format", "sarif", "--sarif-location", "x:0"), "write FILE or FILE:LINE"),
        (("--format", "sarif", "--spec-url", "javascript:1"), "--spec-url javascript:1: write an address"),
        (("--format", "sarif", "--spec-url", "https://"), "--spec-url https://: write an address"),
        (("--format", "sarif", "--spec-url", "https://example.org/'x"), "write an address"),
        (("--format", "ctrf", "--out", "lmconform-results/results.jsonl"), "holds the results that were asked for"),
    ],
)
def test_bad_input_is_one_line_and_ends_with_2(command, failed, words, said):
    ended = command("report", "lmconform-results", *words)
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err
    assert ended.err.count("\n") == 1


def test_results_that_did_not_end_can_be_written_and_say_so(command, failed, tmp_path):
    path = tmp_path / "lmconform-results" / "results.jsonl"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))
    ended = command("report", "lmconform-results", "--format", "badge-json")
    assert ended.code == 0
    assert json.loads(ended.out)["message"] == "incomplete"


@pytest.mark.usefixtures("failed")
def test_a_bench_is_for_the_page_and_must_be_one(command, tmp_path):
    (tmp_path / "bench.json").write_text("{}")
    wrong = command("report", "lmconform-results", "--format", "html", "--bench", "bench.json", "--out", "page.html")
    assert (wrong.code, wrong.out) == (2, "")
    assert "bench.json: is no bench.json of version 1" in wrong.err
    other = command("report", "lmconform-results", "--format", "junit", "--bench", "bench.json")
    assert other.code == 2
    assert "--bench is for --format html, not for junit" in other.err
