"""Small matrices to report on."""

import pytest

from reports.compat.model import Cell, CompatResult, Evidence, Exchange, Finding
from reports.compat.outcome import Grade, Outcome

KEY = b"vllm@m@1@0@1a2b".ljust(150)


def exchange(**changes):
    values = {
        "by": "client", "request": "EXIST", "sent": bytes.fromhex("03000000 01000000") + KEY, "payload": 0,
        "wanted": 36, "got": bytes.fromhex("c8000000 00000000"), "received": 8, "ending": "silence",
    }  # fmt: skip
    return Exchange(**{**values, **changes})


def finding(outcome=Outcome.REFUSED, reason="the server closes the connection", *, plain=True, part="talk", **changes):
    values = {"struck": ("health",), "evidence": Evidence((exchange(),)), **changes}
    return Finding(part, Grade(outcome, plain), reason, **values)


def matrix(cells, **changes):
    """A result from ``{(client, server): findings, or a Cell}``."""
    made = {at: cell if isinstance(cell, Cell) else Cell(*at, tuple(cell), questions=3) for at, cell in cells.items()}
    values = {
        "tool_version": "0.1.0", "started": "2026-01-02T03:04:05Z", "seconds": 12.3, "target": "live", "runtime": "venv",
        "corpus": "0123456789abcdef", "clients": tuple(dict.fromkeys(at[0] for at in made)),
        "servers": tuple(dict.fromkeys(at[1] for at in made)), "cells": made,
    }  # fmt: skip
    return CompatResult(**{**values, **changes})


@pytest.fixture
def make():
    """``make(cells, **changes)``: a result; ``make.finding`` and ``make.exchange``: parts of it."""
    matrix.finding, matrix.exchange = finding, exchange
    return matrix


@pytest.fixture
def result():
    """Two generations of two releases, one cell of every kind of state."""
    refused = finding(struck=("health", "key plain"))
    misses = finding(Outcome.MISSES, "another key is asked for", part="share", struck=("tokens",))
    part = finding(Outcome.WRONG, "one key text, two meanings", plain=False, struck=("key a",))
    return matrix(
        {
            ("1.0", "1.0"): Cell("1.0", "1.0", (part,), derived_from=("1.1", "1.1")),
            ("1.0", "1.1"): Cell("1.0", "1.1", (part,), derived_from=("1.1", "1.1")),
            ("1.0", "2.0"): Cell("1.0", "2.0", (refused, misses), derived_from=("1.1", "2.0")),
            ("1.0", "3.0"): Cell("1.0", "3.0", problem="no wheel"),
            ("1.1", "1.0"): Cell("1.1", "1.0", (part,), derived_from=("1.1", "1.1")),
            ("1.1", "1.1"): [part],
            ("1.1", "2.0"): [refused, misses],
            ("1.1", "3.0"): Cell("1.1", "3.0", problem="no wheel"),
            ("2.0", "1.0"): Cell("2.0", "1.0", (), derived_from=("2.0", "1.1")),
            ("2.0", "1.1"): [],
            ("2.0", "2.0"): [],
            ("2.0", "3.0"): Cell("2.0", "3.0", problem="no wheel"),
        }
    )
