from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
import xmlschema
from junitparser import Error, Failure, JUnitXml

from reports.diagnosis import Diagnosis
from reports.formats.junit import junit_xml
from reports.record import RunFooter, RunHeader
from reports.results import Results
from reports.verdict import ExitCode, Verdict

SCHEMA = xmlschema.XMLSchema(Path(__file__).with_name("junit-10.xsd"))
COUNTED = (("tests", "testcase"), ("failures", "failure"), ("errors", "error"))


def check(data: bytes) -> ET.Element:
    """The document, which Jenkins's schema allows and whose counts are those of what is in it."""
    SCHEMA.validate(data.decode())
    root = ET.fromstring(data)
    for element in (root, *root.iter("testsuite")):
        for attribute, tag in COUNTED:
            assert element.get(attribute) == str(len(list(element.iter(tag))))
    for suite in root.iter("testsuite"):
        assert suite.get("skipped") == str(len(list(suite.iter("skipped"))))
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", suite.get("timestamp") or "")
    for element in (root, *root.iter("testsuite"), *root.iter("testcase")):
        assert re.fullmatch(r"\d+\.\d{3}", element.get("time") or "")
    return root


def report(header: RunHeader, *cases: Any, incomplete: str | None = None) -> ET.Element:
    footer = RunFooter({}, 2.0, ExitCode.CONFORMANT, "2026-01-02T03:05:05Z", complete=True)
    return check(junit_xml(Results(header, cases, footer, incomplete)))


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
    tags = [child.tag for child in case]
    assert tags == ([tag] if tag else [])
    if tag:
        assert "why" in (case[-1].get("message") or "")


def test_cases_are_named_and_described(header: RunHeader, make_case: Any) -> None:
    root = report(header, make_case(requirements=("LM-1", "LM-2"), variant="v"), make_case(release="0.5.5"))
    assert [suite.get("name") for suite in root] == ["lmcache 0.5.6 mock", "lmcache 0.5.5 mock"]
    case = next(root.iter("testcase"))
    assert (case.get("classname"), case.get("name")) == ("lm.get", "partial-header[0.5.6-mock-v]")
    assert [found.text for found in case.iter("system-out")] == ["requirements: LM-1, LM-2"]
    properties = {item.get("name"): item.get("value") for item in root[0].iter("property")}
    assert (properties["release"], properties["target"], properties["client-spec"]) == ("0.5.6", "mock", "stdio:./mine")


def test_servers_that_drop_the_suite_still_tell_releases_targets_and_variants_apart(header: RunHeader, make_case: Any) -> None:
    """As GitLab and the history of Jenkins do, which know a test by its class and its name alone."""
    columns = [(release, target) for release in ("0.5.5", "0.5.6") for target in ("fixtures", "mock")]
    cases = [make_case(release=release, target=target, variant=one) for release, target in columns for one in "ab"]
    read = JUnitXml.fromstring(junit_xml(Results(header, tuple(cases))))
    known = [f"{case.classname}.{case.name}" for suite in read for case in suite if case.classname != "lmconform"]
    assert known == [case.id for case in cases]
    assert known[0] == "lm.get.partial-header[0.5.5-fixtures-a]"


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


def test_the_document_is_utf8(header: RunHeader, make_case: Any) -> None:
    assert "Grüße" in junit_xml(Results(header, (make_case(verdict=Verdict.FAIL, summary="Grüße"),))).decode()


def test_a_program_that_reads_junit_counts_the_same_cases(header: RunHeader, make_case: Any) -> None:
    cases = (
        make_case(),
        make_case("lm.put.x", Verdict.FAIL, summary="wrong"),
        make_case("lm.get.y", Verdict.CRASH, release="0.5.5"),
    )
    read = JUnitXml.fromstring(junit_xml(Results(header, cases)))
    assert (read.tests, read.failures, read.errors) == (3, 1, 1)
    found = [type(one) for suite in read for case in suite for one in case.result]
    assert found == [Failure, Error]
