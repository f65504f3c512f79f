"""Records to report on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from reports.diagnosis import Diagnosis
from reports.record import CaseRecord, ClientInfo, RunHeader
from reports.verdict import Verdict

CaseMaker = Callable[..., CaseRecord]


@pytest.fixture
def header() -> RunHeader:
    client = ClientInfo("stdio:./mine", "mine", "1.2", "Rust", ("get", "put"), ("0.5.5", "0.5.6"), "https://example.org/issues")
    return RunHeader(
        tool_version="0.1.0",
        started="2026-01-02T03:04:05Z",
        client=client,
        releases=("0.5.5", "0.5.6"),
        targets=("mock",),
        command_line=("lmconform", "run", "--client", "stdio:./mine"),
        seed=7,
        python="CPython 3.11.7",
        platform="Linux-x86_64",
        corpus="sha256:0123456789abcdef",
    )


@pytest.fixture
def make_case() -> CaseMaker:
    def make(name: str = "lm.get.partial-header", verdict: Verdict = Verdict.PASS, **more: Any) -> CaseRecord:
        topic, _, case = name.rpartition(".")
        values = {"release": "0.5.6", "target": "mock", "variant": None, "seconds": 0.25, "title": "A client waits.", **more}
        tail = "-".join(filter(None, (values["release"], values["target"], values["variant"])))
        summary = values.pop("summary", None)
        if summary is not None:
            values["diagnosis"] = Diagnosis(summary)
        return CaseRecord(id=f"{name}[{tail}]", topic=topic, case=case, verdict=verdict, **values)

    return make
