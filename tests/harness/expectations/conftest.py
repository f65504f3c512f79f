"""Entries, records and lists to hold against each other."""

from datetime import date

import pytest

from harness.expectations.book import Book
from harness.expectations.entry import Entry
from harness.expectations.file import ExpectationsFile
from reports.diagnosis import Diagnosis
from reports.record import CaseRecord
from reports.verdict import Verdict

TODAY = date(2027, 3, 31)
LINUX = frozenset({"linux", "x86_64", "linux-x86_64"})


@pytest.fixture
def entry():
    """An entry; give what matters."""

    def make(*cases, **more):
        chosen = {
            "outcome": "fail",
            "reason": "it rounds down",
            "expires": TODAY,
            "number": 1,
            "errors": ("wrong length",),
            **more,
        }
        return Entry(cases=cases or ("lm.get.short",), **chosen)

    return make


@pytest.fixture
def book(tmp_path):
    """A list of entries on a Linux machine of one day."""

    def make(*entries, today=TODAY):
        return Book(ExpectationsFile(tmp_path / "known.toml", "0" * 64, entries), today=today, machine=LINUX)

    return make


@pytest.fixture
def record():
    """The record of an execution; give what matters."""

    def make(verdict="fail", summary=None, *, name="lm.get.short", release="0.5.6", target="mock", variant=None, **more):
        topic, _, case = name.rpartition(".")
        cell = "-".join(filter(None, (release, target, variant)))
        if summary is None and verdict not in {"pass", "unsupported"}:
            summary = "wrong length: 1"
        diagnosis = Diagnosis(summary) if summary is not None else None
        return CaseRecord(
            id=f"{name}[{cell}]", topic=topic, case=case, release=release, target=target, variant=variant, seconds=0.1,
            verdict=Verdict(verdict), title="A client reads.", diagnosis=diagnosis, **more,
        )  # fmt: skip

    return make
