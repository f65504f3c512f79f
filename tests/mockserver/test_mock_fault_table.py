"""The table of faults, its reference page and its tests agree."""

from __future__ import annotations

import contextlib
import re
import threading
from pathlib import Path

import pytest
from test_mock_lifecycle import KEY, mock_threads, open_descriptors

from mockserver.faults import FAULTS, PICKING, FaultPlan, FaultRule, parse
from mockserver.faults.page import sections
from mockserver.lm import LmServer

HERE = Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "docs" / "reference" / "faults.md"
SHOWS = re.compile(r'^@pytest\.mark\.shows\("(.+?)"\)$', re.MULTILINE)


def test_every_fault_has_a_test_that_it_does_what_it_says():
    assert {name for path in HERE.glob("test_*.py") for name in SHOWS.findall(path.read_text())} == set(FAULTS)


def test_the_reference_page_ends_with_the_faults_of_the_table():
    page = PAGE.read_text(encoding="utf-8")
    assert page.endswith(sections()), "python -m mockserver.faults.page prints what the page must end with"
    assert PICKING in page


def test_the_examples_of_the_reference_page_are_faults():
    found = re.findall(r"--fault ([a-z]\S+)", PAGE.read_text(encoding="utf-8"))
    assert len(found) >= 4
    for text in found:
        parse(text)


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_leaves_nothing_behind(dial, name):
    descriptors, threads = open_descriptors(), threading.active_count()
    plan = FaultPlan([FaultRule(action=parse(FAULTS[name].example).action)])
    with LmServer("0.5.6", faults=plan) as server:
        with contextlib.suppress(OSError):
            talk(server, dial)
        server.set_faults(FaultPlan())
        talk(server, dial)
    assert mock_threads() == []
    assert threading.active_count() == threads
    assert len(open_descriptors()) == len(descriptors)


def talk(server, dial):
    """Some requests on two connections, whatever comes of them."""
    for _ in range(2):
        client = dial(server, timeout=0.2)
        with contextlib.suppress(OSError):
            client.put(b"0123456789", KEY)
            for command in ("EXIST", "GET"):
                client.request(command, KEY)
                client.socket.recv(1000)
        client.close()
