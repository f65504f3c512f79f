"""What hypothesis draws from is looked up before there are workers; where it cannot be, only time is lost."""

import sys
import types

from hypothesis.internal.conjecture import providers

from harness import drawn_constants

DRAWING = types.SimpleNamespace(fixturenames=["examples"])


def test_constants_are_looked_up_for_cases_that_draw(monkeypatch):
    calls = []
    monkeypatch.setattr(providers, "_get_local_constants", lambda: calls.append("looked up"))
    drawn_constants.prepare([types.SimpleNamespace(fixturenames=["client"])])
    assert calls == []
    drawn_constants.prepare([DRAWING])
    assert calls == ["looked up"]


def test_a_hypothesis_that_has_them_elsewhere_is_no_error(monkeypatch):
    monkeypatch.setitem(sys.modules, "hypothesis.internal.conjecture.providers", None)
    drawn_constants.prepare([DRAWING])


def test_a_hypothesis_that_asks_for_more_is_no_error(monkeypatch):
    monkeypatch.setattr(providers, "_get_local_constants", lambda of_what: of_what)
    drawn_constants.prepare([DRAWING])
