"""A worker that is not there yet can be ended at once: by the end of the nursery that would bring it up."""

from types import SimpleNamespace

import pytest

from harness.nursery import Child


@pytest.fixture
def killed():
    return []


@pytest.fixture
def child(killed, monkeypatch):
    one = Child(SimpleNamespace(kill=lambda: killed.append("nursery")), 1)
    monkeypatch.setattr(one, "leash", SimpleNamespace(kill=lambda: killed.append("worker"), hold=lambda *_, **__: None))
    return one


def test_one_that_is_not_there_ends_with_its_nursery(child, killed):
    child.kill()
    assert killed == ["nursery"]


def test_one_that_is_there_ends_alone(child, killed):
    child.born(1, 0.1)
    child.kill()
    assert killed == ["worker"]
