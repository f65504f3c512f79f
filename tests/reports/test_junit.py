from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from reports.diagnosis import Diagnosis
from reports.junit import junit_xml, write_junit
from reports.record import RunFooter, RunHeader
from reports.results import Results
from reports.verdict import ExitCode, Verdict

CHILDREN = {
    "testsuites": ["testsuite*"],
    "testsuite": ["properties?", "testcase*"],
    "testcase": ["properties?", "(skipped|error|failure)?", "system-err?"],
    "properties": ["property*"],
    "property": [],
    "skipped": [],
    "failure": [],
    "error": [],
    "system-err": [],
}
ATTRIBUTES = {
    "testsuites": {"name", "tests", "failures", "errors", "skipped", "time"},
    "testsuite": {"name", "timestamp", "tests", "failures", "errors", "skipped", "time"},
    "testcase": {"classname", "name", "time"},
    "property": {"name", "value"},
    "skipped": {"message"},
    "failure": {"type", "message"},
    "error": {"type", "message"},
}
NUMBERS = {"tests", "failures", "errors", "skipped"}


def check_structure(element: ET.Element) -> None:
    """What an XSD for JUnit would check: order of children, attributes and the form of their values, sums."""
    children = "".join(f"<{child.tag}>" for child in element)
    pattern = "".join(re.sub(r"([a-z-]+)", r"<\1>", part).replace("(", "(?:") for part in CHILDREN[element.tag])
    pattern = re.sub(r"(<[a-z-]+>)([*?])", r"(?:\1)\2", pattern)
    assert re.fullmatch(pattern, children), f"{element.tag} holds {children}"
    assert set(element.attrib) == ATTRIBUTES.get(element.tag, set())
    for name, value in element.attrib.items():
        assert value.isdigit() if name in NUMBERS else True
        assert re.fullmatch(r"\d+\.\d{3}", value) if name == "time" else True
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", value) if name == "timestamp" else True
    if element.tag in {"testsuites", "testsuite"}:
        for attribute, tag in (("tests", "testcase"), ("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            assert element.get(attribute) == str(len(list(element.iter(tag))))
    for child in element:
        check_structure(child)


def report(header: RunHeader, *cases: Any, incomplete: str | None = None) -> ET.Element:
    footer = RunFooter({}, 2.0, ExitCode.CONFORMANT, "2026-01-02T03:05:05Z", complete=True)
    root = ET.fromstring(junit_xml(Results(header, cases, footer, incomplete)))
    check_structure(root)
    return root


@pytest.mark.parametrize(
    ("verdict", "tag"),
    [
        (Verdict.PASS, None),
        (Verdict.FAIL, "failure"),
        (Verdict.UNEXPECTED_PASS, "failure"),
        (Verdict.UNSUPPORTED, "skipped"),
        (Verdict.KNOWN_FAILURE, "skipped"),
        (Verdict.HANG, "error"),
        (Verdict.CRASH, "error"),
        (Verdict.MOCK_DRIFT, "error"),
        (Verdict.HARNESS_ERROR, "error"),
        (Verdict.ENVIRONMENT_ERROR, "error"),
    ],
)
def test_every_verdict_has_its_element(header: RunHeader, make_case: Any, verdict: Verdict, tag: str | None) -> None:
    (case,) = report(header, make_case(verdict=verdict, reason="why")).iter("testcase")
    tags = [child.tag for child in case if child.tag != "properties"]
    assert tags == ([tag] if tag else [])
    if tag:
        assert "why" in (case[-1].get("message") or "")


def test_cases_are_named_and_described(header: RunHeader, make_case: Any) -> None:
    root = report(header, make_case(requirements=("LM-1", "LM-2"), variant="v"), make_case(release="0.5.5"))
    assert [suite.get("name") for suite in root] == ["lmcache 0.5.6 mock", "lmcache 0.5.5 mock"]
    case = next(root.iter("testcase"))
    assert (case.get("classname"), case.get("name")) == ("lm.get", "partial-header[0.5.6-mock-v]")
    described = [(item.get("name"), item.get("value")) for item in case.iter("property")]
    assert described == [
        ("release", "0.5.6"),
        ("target", "mock"),
        ("verdict", "pass"),
        ("variant", "v"),
        ("requirement", "LM-1"),
        ("requirement", "LM-2"),
    ]


def test_failures_carry_the_whole_explanation(header: RunHeader, make_case: Any) -> None:
    diagnosis = Diagnosis("wrong", rerun="lmconform run", client_stderr="panic")
    root = report(header, make_case(verdict=Verdict.FAIL, diagnosis=diagnosis))
    (failure,) = root.iter("failure")
    assert failure.get("type") == "fail"
    assert "lmconform run" in (failure.text or "")
    assert [item.text for item in root.iter("system-err")] == ["panic"]


def test_an_incomplete_run_is_an_error(header: RunHeader, make_case: Any) -> None:
    root = report(header, make_case(), incomplete="there is no footer")
    assert root.get("errors") == "1"
    assert [error.get("message") for error in root.iter("error")] == ["there is no footer"]


def test_an_empty_run_is_an_error(header: RunHeader) -> None:
    assert report(header).get("errors") == "1"


def test_a_client_cannot_break_the_xml(header: RunHeader, make_case: Any) -> None:
    wild = "\x00\x1b]]><script>&amp;\ud800\ufffe\x85\u2028\r\n\"'"
    diagnosis = Diagnosis(wild, client_answered=wild, client_stderr=wild)
    root = report(header, make_case(verdict=Verdict.FAIL, diagnosis=diagnosis, variant=wild, requirements=(wild,)))
    (failure,) = root.iter("failure")
    assert failure.get("message") == r"\x00\x1b]]><script>&amp;\ud800\ufffe\x85\u2028\r\n" + "\"'"
    assert not list(root.iter("script"))


def test_the_file_is_utf8(header: RunHeader, make_case: Any, tmp_path: Path) -> None:
    path = tmp_path / "new" / "junit.xml"
    write_junit(Results(header, (make_case(verdict=Verdict.FAIL, summary="Grüße"),)), path)
    assert "Grüße" in path.read_text("utf-8")
