"""JUnit XML, as CI servers read it: what ``junit-10.xsd`` of Jenkins allows, which is the strictest of the schemas in use.

One suite for each release and target; ``classname`` is the topic. Skipped verdicts become ``<skipped>``, wrong answers
``<failure>``; hangs, crashes and all that is not the client's fault become ``<error>``. That schema has no properties for a
single test: the requirements that a case cites stand in its ``<system-out>``.
"""

from __future__ import annotations

import shlex
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Sequence
from typing import Final

from reports.escape import escape, escape_lines
from reports.explain import explain_text
from reports.formats.context import Context
from reports.plain import clip
from reports.record import CaseRecord
from reports.results import Results
from reports.verdict import NOT_THE_CLIENT, SKIPPED, Verdict

ERRORS: Final = NOT_THE_CLIENT | {Verdict.HANG, Verdict.CRASH}


def junit_xml(results: Results, _context: Context | None = None) -> bytes:
    """The run as UTF-8 XML; an incomplete run gets one more suite with an error, so that no reader takes it for a pass."""
    root = ET.Element("testsuites", name="lmconform")
    columns: dict[tuple[str, str], list[CaseRecord]] = {}
    for case in results.cases:
        columns.setdefault((case.release, case.target), []).append(case)
    for (release, target), cases in columns.items():
        root.append(_suite(results, release, target, cases))
    if results.incomplete or (not results.cases and results.header.shard is None):
        root.append(_no_verdict(results))
    for name in ("tests", "failures", "errors"):
        root.set(name, str(sum(int(suite.get(name, "0")) for suite in root)))
    root.set("time", f"{results.seconds:.3f}")
    ET.indent(root)
    data: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return data


def _suite(results: Results, release: str, target: str, cases: Sequence[CaseRecord]) -> ET.Element:
    header = results.header
    properties = [
        ("release", release),
        ("target", target),
        ("client", header.client.called),
        ("client-spec", header.client.spec),
        ("seed", str(header.seed)),
        ("corpus", header.corpus),
        ("lmconform", header.tool_version),
        ("command-line", shlex.join(header.command_line)),
    ]
    if header.expectations is not None:
        properties.append(("expectations", f"{header.expectations.file} sha256 {header.expectations.sha256}"))
    suite = _new_suite(results, f"lmcache {release} {target}", properties)
    suite.extend(_case(case) for case in cases)
    _count(suite, sum(case.seconds for case in cases))
    return suite


def _no_verdict(results: Results) -> ET.Element:
    suite = _new_suite(results, "run", [])
    why = results.incomplete or "no case ran: the selection matched nothing"
    case = ET.SubElement(suite, "testcase", classname="lmconform", name="run-is-complete", time="0.000")
    ET.SubElement(case, "error", type="incomplete", message=escape(why))
    _count(suite, 0)
    return suite


def _new_suite(results: Results, name: str, properties: Iterable[tuple[str, str]]) -> ET.Element:
    # The usual schema for JUnit wants times without a zone.
    timestamp = results.header.started.split(".")[0].removesuffix("Z")
    suite = ET.Element("testsuite", name=escape(name), timestamp=timestamp)
    _properties(suite, properties)
    return suite


def _count(suite: ET.Element, seconds: float) -> None:
    suite.set("tests", str(len(suite.findall("testcase"))))
    for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(attribute, str(len(suite.findall(f"testcase/{tag}"))))
    suite.set("time", f"{seconds:.3f}")


def _case(case: CaseRecord) -> ET.Element:
    name = case.id.removeprefix(f"{case.topic}.")
    element = ET.Element("testcase", classname=escape(case.topic), name=escape(name), time=f"{case.seconds:.3f}")
    message = escape(clip(case.why or case.title, 500))
    if case.verdict in SKIPPED:
        if case.verdict is Verdict.UNSUPPORTED:
            ET.SubElement(element, "skipped", message=message)
        elif case.verdict is Verdict.SHORTFALL:
            ET.SubElement(element, "skipped", message=f"falls short of a SHOULD: {message}")
        else:
            error = f": {clip(case.diagnosis.summary, 500)}" if case.diagnosis else ""
            ET.SubElement(element, "skipped", message=f"known failure: {message}{escape(error)}")
    elif case.verdict is not Verdict.PASS:
        tag = "error" if case.verdict in ERRORS else "failure"
        outcome = ET.SubElement(element, tag, type=case.verdict.value, message=message)
        outcome.text = explain_text(case)
    if case.requirements:
        ET.SubElement(element, "system-out").text = f"requirements: {escape(', '.join(case.requirements))}"
    if case.verdict is not Verdict.PASS and case.verdict not in SKIPPED:
        _stderr(element, case)
    return element


def _stderr(element: ET.Element, case: CaseRecord) -> None:
    if case.diagnosis and case.diagnosis.client_stderr:
        ET.SubElement(element, "system-err").text = "\n".join(escape_lines(case.diagnosis.client_stderr))


def _properties(element: ET.Element, properties: Iterable[tuple[str, str]]) -> None:
    members = [ET.Element("property", name=name, value=escape(value)) for name, value in properties]
    if members:
        ET.SubElement(element, "properties").extend(members)
