"""How many processors a process may use, in a container and outside."""

import os

import pytest

from harness import machine


@pytest.mark.parametrize(
    ("text", "processors"),
    [("100000 100000\n", 1), ("150000 100000\n", 2), ("25000 100000\n", 1), ("400000 100000\n", 4)],
)
def test_a_quota_of_a_container_is_so_many_processors(monkeypatch, tmp_path, text, processors):
    (tmp_path / "cpu.max").write_text(text)
    monkeypatch.setattr(machine, "_CGROUP", tmp_path / "cpu.max")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(64)))
    assert machine.processors() == processors


@pytest.mark.parametrize("text", ["max 100000\n", "", "nonsense\n", "1 0\n", None])
def test_without_a_quota_all_processors_count_on_which_it_may_run(monkeypatch, tmp_path, text):
    if text is not None:
        (tmp_path / "cpu.max").write_text(text)
    monkeypatch.setattr(machine, "_CGROUP", tmp_path / "cpu.max")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(64)))
    assert machine.processors() == 64
