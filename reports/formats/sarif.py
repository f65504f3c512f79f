"""SARIF 2.1.0: what a run found, for code scanning.

A rule is a requirement, or a kind of failure that breaks none in particular; a result is an execution of a case that did not
keep it. Known failures are results with a suppression. What is the fault of harness, mock or environment accuses nobody: it is
told as a notification of the run, as is a run that did not end.

Nothing in a tree is the place of such a finding, yet code scanning wants a file and a line. Unless the user names one, it is the
record of the case in the results file. The fingerprint comes from rule and case alone, so that alerts stay the same ones.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final
from urllib.parse import quote

from reports.diagnosis import Level
from reports.explain import explain_text
from reports.formats.context import Context, Place
from reports.formats.strings import document, one_line
from reports.plain import JsonObject, clip
from reports.record import CaseRecord
from reports.results import Results
from reports.verdict import NOT_CONFORMANT, NOT_THE_CLIENT, Verdict
from reports.words import count

SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
ROOT: Final = "%SRCROOT%"
MOST: Final = 5_000
"""Results of a file; code scanning shows no more, and refuses a file with 25,000."""
LEVELS: Final = {"MUST": "error", "SHOULD": "warning", "MAY": "note"}
SEVERITIES: Final = {"error": "error", "warning": "warning", "note": "recommendation"}
OWN_RULES: Final = {
    Verdict.FAIL: "A case failed that cites no requirement.",
    Verdict.HANG: "What is judged gave no answer in time.",
    Verdict.CRASH: "What is judged ended or broke the contract with the harness.",
    Verdict.UNEXPECTED_PASS: "The list of known failures is out of date: a listed case does not fail as it says.",
    Verdict.SHORTFALL: "A recommendation was not kept.",
    Verdict.KNOWN_FAILURE: "A case fails as the list of known failures says.",
}
"""What failures are called that name no requirement."""

_FINDINGS: Final = NOT_CONFORMANT | {Verdict.SHORTFALL, Verdict.KNOWN_FAILURE}
_GRAVITY: Final = {Verdict.SHORTFALL: 1, Verdict.KNOWN_FAILURE: 2}
_LINK: Final = re.compile(r"\](?=\()")
_NOT_IN_IDS: Final = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True)
class Rule:
    """What a finding is about."""

    id: str
    level: str
    """MUST, SHOULD or MAY."""
    statement: str
    why: str
    url: str | None = None


def sarif(results: Results, context: Context | None = None) -> bytes:
    """The findings of a run as a SARIF log."""
    about = context or Context()
    numbered = [(number, case) for number, case in enumerate(results.cases, start=2) if case.verdict in _FINDINGS]
    found = sorted(numbered, key=lambda pair: _GRAVITY.get(pair[1].verdict, 0))
    rules = {rule.id: rule for rule in (_rule(case, about) for _, case in found[:MOST])}
    places = {name: place for place, name in enumerate(rules)}
    header = results.header
    return document(
        {
            "$schema": SCHEMA,
            "version": "2.1.0",
            "runs": [
                {
                    "tool": {
                        "driver": {
                            "name": "lmconform",
                            "version": one_line(header.tool_version),
                            "rules": [_descriptor(rule) for rule in rules.values()],
                        }
                    },
                    "automationDetails": {"id": f"lmconform/{header.side}/{_as_id(header.client.name)}/"},
                    "originalUriBaseIds": {ROOT: {"description": {"text": "The root of the tree that the run was about."}}},
                    "invocations": [_invocation(results, len(found))],
                    "columnKind": "unicodeCodePoints",
                    "results": [_result(number, case, about, places) for number, case in found[:MOST]],
                }
            ],
        }
    )


def _rule(case: CaseRecord, about: Context) -> Rule:
    diagnosis = case.diagnosis
    cited = diagnosis.requirement if diagnosis is not None and diagnosis.requirement else next(iter(case.requirements), None)
    if case.verdict is Verdict.UNEXPECTED_PASS or cited is None:
        level = "SHOULD" if case.verdict in _GRAVITY or case.verdict is Verdict.UNEXPECTED_PASS else "MUST"
        return Rule(f"lmconform/{case.verdict.value}", level, OWN_RULES[case.verdict], "")
    known = about.requirements.get(cited)
    if known is not None:
        return Rule(cited, known.level, known.statement, known.why, known.url)
    if diagnosis is not None and diagnosis.requirement == cited:
        return Rule(cited, diagnosis.level or "MUST", diagnosis.statement or case.title, diagnosis.why_it_matters or "")
    return Rule(cited, "MUST", case.title, "")


def _descriptor(rule: Rule) -> JsonObject:
    level = LEVELS.get(rule.level, "error")
    said = f"{rule.statement} Why: {rule.why}" if rule.why else rule.statement
    told: dict[str, Any] = {
        "id": one_line(rule.id),
        "shortDescription": {"text": _message(clip(rule.statement, 500))},
        "fullDescription": {"text": _message(clip(said, 900))},
        "help": {"text": _message(clip(f"{rule.id} ({rule.level}): {said}", 4000))},
        "defaultConfiguration": {"level": level},
        "properties": {"tags": ["conformance", "lmcache", rule.level], "problem.severity": SEVERITIES[level]},
    }
    if rule.url is not None:
        told["helpUri"] = rule.url
    return told


def _result(number: int, case: CaseRecord, about: Context, places: dict[str, int]) -> JsonObject:
    rule = _rule(case, about)
    level = _level(case, rule)
    place = about.place or Place(about.records, number)
    told: dict[str, Any] = {
        "ruleId": one_line(rule.id),
        "ruleIndex": places[rule.id],
        "level": level,
        "message": {"text": _message(f"{case.id}: {case.why or case.title}") or "-"},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": _uri(place.file), "uriBaseId": ROOT},
                    "region": {"startLine": place.line},
                },
                "logicalLocations": [{"name": one_line(case.name), "fullyQualifiedName": one_line(case.id)}],
            }
        ],
        "partialFingerprints": _fingerprints(rule, case),
        "properties": dict(_properties(case)),
    }
    if case.verdict is Verdict.KNOWN_FAILURE:
        listed = {"justification": one_line(case.reason)} if case.reason else {}
        told["suppressions"] = [{"kind": "external", "status": "accepted", **listed}]
    return told


def _level(case: CaseRecord, rule: Rule) -> str:
    if case.verdict is Verdict.KNOWN_FAILURE:
        return "note"
    level: Level | str | None = case.diagnosis.level if case.diagnosis is not None else None
    return LEVELS.get(level or rule.level, "error")


def _fingerprints(rule: Rule, case: CaseRecord) -> dict[str, str]:
    digest = hashlib.sha256("\n".join((rule.id, case.id)).encode(errors="backslashreplace")).hexdigest()
    # Code scanning looks at the first of them alone, and would make it from the line of the file if it were not there.
    return {"primaryLocationLineHash": f"{digest[:16]}:1", "lmconformCase/v1": digest}


def _properties(case: CaseRecord) -> Iterator[tuple[str, Any]]:
    yield "verdict", case.verdict.value
    yield "release", one_line(case.release)
    yield "target", one_line(case.target)
    yield "requirements", [one_line(requirement) for requirement in case.requirements]
    yield "details", explain_text(case)
    if case.diagnosis is not None and case.diagnosis.rerun:
        yield "rerun", one_line(case.diagnosis.rerun, 4000)


def _invocation(results: Results, found: int) -> JsonObject:
    notes = list(islice(_notes(results, found), 1000))
    return {
        "executionSuccessful": not any(level == "error" for level, _ in notes),
        "exitCode": int(results.exit_code),
        "startTimeUtc": results.header.started,
        **({"endTimeUtc": results.footer.ended} if results.footer else {}),
        "toolExecutionNotifications": [{"level": level, "message": {"text": _message(text)}} for level, text in notes],
    }


def _notes(results: Results, found: int) -> Iterator[tuple[str, str]]:
    if results.incomplete is not None:
        yield "error", f"{results.incomplete}. Nothing is claimed about the {results.header.side}."
    elif not results.cases and results.header.shard is None:
        yield "error", "no case ran: the selection matched nothing"
    if found > MOST:
        yield "warning", f"{count(found - MOST, 'result')} more left out: code scanning shows {MOST}"
    for case in results.cases:
        if case.verdict in NOT_THE_CLIENT:
            yield "error", f"{case.verdict.value}: {case.id}: {case.why or case.title}"


def _message(text: str) -> str:
    """Plain text in which a reader of SARIF finds no link."""
    return _LINK.sub("] ", one_line(text))


def _uri(file: str) -> str:
    return quote(file, safe="/-._~", errors="replace") or "-"


def _as_id(name: str) -> str:
    return _NOT_IN_IDS.sub("-", clip(name, 60)).strip("-") or "unnamed"
