"""How verdicts look: a class of the theme for each. The word stands beside it, so that nobody has to see the colour."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from reports.verdict import Outcome, Verdict

TONES: Final[Mapping[Verdict, str]] = MappingProxyType(
    {
        Verdict.PASS: "good",
        Verdict.FAIL: "bad",
        Verdict.HANG: "bad",
        Verdict.CRASH: "bad",
        Verdict.UNEXPECTED_PASS: "bad",
        Verdict.UNSUPPORTED: "none",
        Verdict.SHORTFALL: "warn",
        Verdict.KNOWN_FAILURE: "warn",
        Verdict.MOCK_DRIFT: "odd",
        Verdict.HARNESS_ERROR: "odd",
        Verdict.ENVIRONMENT_ERROR: "odd",
    }
)

OUTCOME_TONES: Final[Mapping[Outcome, str]] = MappingProxyType(
    {Outcome.PASSED: "good", Outcome.FAILED: "bad", Outcome.ERROR: "odd", Outcome.SKIPPED: "none"}
)
