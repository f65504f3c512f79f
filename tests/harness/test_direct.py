"""Cases that a worker calls directly: they end as under pytest, in every way in which a case can end."""

import types
from collections import Counter
from pathlib import Path

import pytest

from harness import direct
from harness.bare_pytest import bare_pytest

SUBJECTS = Path(__file__).parent / "subjects"
ONLY = (
    "keys.parse.*",
    "lm.request.encode*",
    "keys.format.*",
    "lm.request.long-key-is-not-sent*",
    "lm.segments.split-header*",
    "lm.roundtrip.*",
)
"""Of both targets, about answers and about what crossed the wire; none whose threads or examples differ from time to time."""


class Directly:
    """Takes the place of pytest's loop over all cases."""

    def __init__(self):
        self.records, self.left = [], []

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session):
        runs = direct.Direct()
        for item in session.items:
            record = runs.execute(item)
            if record is None:
                self.left.append(item.nodeid)
            else:
                self.records.append(record)
        return True


class ByPytest:
    """Notes the records that come with the reports of pytest."""

    def __init__(self):
        self.records = []

    def pytest_runtest_logreport(self, report):
        if getattr(report, "lmconform", None) is not None:
            self.records.append(report.lmconform)


def records(plugin, client, *only):
    words = ["--lmcache", "0.5.6", "--client", client, *(word for pattern in only for word in ("--only", pattern))]
    bare_pytest(words, plugin)
    return [{**record, "seconds": 0.0} for record in plugin.records]


@pytest.mark.parametrize(
    ("client", "verdicts"),
    [
        ("reference", {"pass"}),
        ("python:broken_clients:WrongByte", {"pass", "fail"}),
        ("python:broken_clients:FormatsKeysOnly", {"pass", "unsupported"}),
        ("mutant:frame-big-endian", {"pass", "fail"}),
    ],
)
def test_a_case_ends_as_under_pytest(client, verdicts, monkeypatch):
    monkeypatch.syspath_prepend(str(SUBJECTS))
    # What a mutant breaks on the wire is told with times and names that differ from run to run.
    only = ONLY if not client.startswith("mutant:") else ONLY[:4]
    directly = records(Directly(), client, *only)
    assert directly == records(ByPytest(), client, *only)
    assert set(Counter(record["verdict"] for record in directly)) >= verdicts


def test_all_cases_but_those_with_a_fixture_of_pytest_are_called_directly():
    left = []

    class Planned:
        @pytest.hookimpl(tryfirst=True)
        def pytest_runtestloop(self, session):
            left.extend(item.function.__name__ for item in session.items if not direct.planned(item))
            return True

    bare_pytest(["--lmcache", "0.5.6", "--client", "reference", "--protocol", "both"], Planned())
    assert set(left) == {"test_malicious_pickle"}


@pytest.mark.parametrize("mark", ["usefixtures", "skip", "skipif", "xfail", "filterwarnings"])
def test_what_only_pytest_can_do_is_left_to_it(mark):
    def item(*marks):
        return types.SimpleNamespace(
            cls=None,
            callspec=types.SimpleNamespace(params={"cell": None}),
            iter_markers=lambda: [types.SimpleNamespace(name=name) for name in ("parametrize", *marks)],
            fixturenames=["cell"],
            _fixtureinfo=types.SimpleNamespace(name2fixturedefs={}),
        )

    assert direct.planned(item()) == ()
    assert direct.planned(item(mark)) is None


def test_a_function_that_is_no_case_is_left_to_pytest():
    assert direct.planned(types.SimpleNamespace(cls=None, iter_markers=list)) is None
