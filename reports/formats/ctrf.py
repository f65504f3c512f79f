"""CTRF, the Common Test Report Format (ctrf.io), version 0.0: one JSON document.

A test is an execution of a case, its suite the release, the target and the topic. A case that could not be judged counts as
failed, and so does a run that did not end: no reader that looks at ``failed`` alone takes for a pass what was not judged.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

from reports.explain import explain_text
from reports.formats.context import Context
from reports.formats.strings import document, lines, one_line
from reports.plain import JsonObject
from reports.record import CaseRecord
from reports.results import Results
from reports.verdict import NOT_THE_CLIENT, OUTCOMES, Outcome, Verdict

SPEC_VERSION: Final = "0.0.0"
STATUSES: Final = {
    Outcome.PASSED: "passed",
    Outcome.FAILED: "failed",
    Outcome.ERROR: "failed",
    Outcome.SKIPPED: "skipped",
}


def ctrf(results: Results, _context: Context | None = None) -> bytes:
    """The run as a CTRF document."""
    tests = [_test(case) for case in results.cases]
    if results.incomplete or (not results.cases and results.header.shard is None):
        tests.append(_no_verdict(results))
    header = results.header
    start = _milliseconds(header.started)
    stop = _milliseconds(results.footer.ended) if results.footer else start + round(results.seconds * 1000)
    counts = Counter(test["status"] for test in tests)
    return document(
        {
            "reportFormat": "CTRF",
            "specVersion": SPEC_VERSION,
            **({"timestamp": header.started} if start else {}),
            "generatedBy": "lmconform",
            "results": {
                "tool": {"name": "lmconform", "version": one_line(header.tool_version)},
                "summary": {
                    "tests": len(tests),
                    **{status: counts[status] for status in ("passed", "failed", "skipped", "pending", "other")},
                    "suites": len({tuple(test["suite"]) for test in tests}),
                    "start": start,
                    "stop": max(start, stop),
                    "duration": round(results.seconds * 1000),
                    "extra": {"exitCode": int(results.exit_code), "complete": results.incomplete is None},
                },
                "tests": tests,
                "environment": _environment(results),
            },
        }
    )


def _test(case: CaseRecord) -> JsonObject:
    test: dict[str, Any] = {
        "name": one_line(case.id) or "-",
        "status": STATUSES[OUTCOMES[case.verdict]],
        "duration": round(case.seconds * 1000),
        "suite": [one_line(f"lmcache {case.release}"), one_line(case.target), one_line(case.topic)],
        "rawStatus": case.verdict.value,
        "type": "conformance",
    }
    if case.requirements:
        test["tags"] = [one_line(requirement) for requirement in case.requirements]
    if case.verdict is not Verdict.PASS:
        told = case.why or case.title
        test["message"] = one_line(f"not the {case.judges}'s fault: {told}" if case.verdict in NOT_THE_CLIENT else told)
    if OUTCOMES[case.verdict] in {Outcome.FAILED, Outcome.ERROR}:
        test["trace"] = explain_text(case)
        if case.diagnosis and case.diagnosis.client_stderr:
            test["stderr"] = lines(case.diagnosis.client_stderr)
    test["extra"] = dict(_extra(case))
    return test


def _extra(case: CaseRecord) -> Iterator[tuple[str, Any]]:
    yield "title", one_line(case.title)
    yield "judges", case.judges
    if case.variant is not None:
        yield "variant", one_line(case.variant)
    if case.diagnosis is not None and case.diagnosis.requirement is not None:
        yield "requirement", one_line(case.diagnosis.requirement)
        yield "level", case.diagnosis.level
    if case.diagnosis is not None and case.diagnosis.rerun is not None:
        yield "rerun", one_line(case.diagnosis.rerun, 4000)


def _no_verdict(results: Results) -> JsonObject:
    why = results.incomplete or "no case ran: the selection matched nothing"
    return {
        "name": "lmconform.run-is-complete",
        "status": "failed",
        "duration": 0,
        "suite": ["run"],
        "rawStatus": "incomplete",
        "message": one_line(why),
    }


def _environment(results: Results) -> JsonObject:
    header = results.header
    environment: dict[str, Any] = {
        "appName": one_line(header.client.name),
        "appVersion": one_line(header.client.version),
        "osPlatform": one_line(header.platform),
        "testEnvironment": one_line(f"lmcache {', '.join(header.releases)} on {', '.join(header.targets)}"),
        "healthy": results.incomplete is None and not any(results.counts[verdict] for verdict in NOT_THE_CLIENT),
        "extra": {
            "side": header.side,
            "spec": one_line(header.client.spec),
            "seed": header.seed,
            "corpus": one_line(header.corpus),
            "python": one_line(header.python),
            "commandLine": one_line(shlex.join(header.command_line), 4000),
        },
    }
    if header.shard is not None:
        environment["shardId"] = str(header.shard)
    return environment


def _milliseconds(moment: str) -> int:
    """Since 1970; 0 for what is no moment."""
    try:
        return round(datetime.fromisoformat(moment).timestamp() * 1000)
    except (ValueError, OverflowError):
        return 0
