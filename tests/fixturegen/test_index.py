"""The list of releases: asked of the package index, kept with the corpus."""

import json
import shlex
import sys

import pytest

from fixturegen import index
from fixturegen.errors import CorpusError, EnvironmentUnavailable
from wire.release import Release

LISTED = "lmcache (0.5.6)\nAvailable versions: 0.5.6, 0.5.5, 0.3.9.post1, 0.3.1, 0.3.0\n"


@pytest.fixture
def pip(monkeypatch, tmp_path):
    """What ``python -m pip`` prints, and how it ends."""

    def set_pip(output, status=0, errors=""):
        fake = tmp_path / "python"
        lines = [
            "#!/bin/sh",
            f"printf %s {shlex.quote(output)}",
            f"printf %s {shlex.quote(errors)} >&2",
            f'echo "$@" > {shlex.quote(str(tmp_path / "asked"))}',
            f"exit {status}",
        ]
        fake.write_text("\n".join(lines) + "\n")
        fake.chmod(0o755)
        monkeypatch.setattr(sys, "executable", str(fake))
        return tmp_path / "asked"

    monkeypatch.delenv("LMCONFORM_OFFLINE", raising=False)
    monkeypatch.delenv("LMCONFORM_PIP_ARGS", raising=False)
    return set_pip


def releases(*texts):
    return [Release.parse(text) for text in texts]


def test_offered_releases_are_those_with_a_known_wire_oldest_first(pip):
    pip(LISTED)
    assert index.offered_releases() == releases("0.3.1", "0.3.9.post1", "0.5.5", "0.5.6")


def test_the_index_is_asked_for_wheels_of_cpython_3_11(pip):
    asked = pip(LISTED)
    index.offered_releases()
    assert "index versions lmcache --only-binary :all: --python-version 3.11" in asked.read_text()


@pytest.mark.parametrize(
    ("output", "status", "errors", "says"),
    [
        ("", 1, "ERROR: No matching distribution found", "No matching distribution found"),
        ("nothing", 0, "", "it printed no list"),
    ],
)
def test_an_index_that_does_not_answer_is_unavailable(pip, output, status, errors, says):
    pip(output, status, errors)
    with pytest.raises(EnvironmentUnavailable, match=f"cannot list the releases of lmcache: .*{says}; name them instead"):
        index.offered_releases()


def test_offline_the_index_is_not_asked(pip, monkeypatch):
    asked = pip(LISTED)
    monkeypatch.setenv("LMCONFORM_OFFLINE", "1")
    with pytest.raises(EnvironmentUnavailable, match="LMCONFORM_OFFLINE forbids asking"):
        index.offered_releases()
    assert not asked.exists()


def test_the_list_is_kept_with_the_corpus(tmp_path):
    index.write_index(releases("0.3.1", "0.5.6"), tmp_path)
    assert index.read_index(tmp_path) == releases("0.3.1", "0.5.6")


def test_a_damaged_list_is_named(tmp_path):
    (tmp_path / "index.json").write_text(json.dumps({"releases": 5}))
    with pytest.raises(CorpusError, match=r"index\.json: no list of releases"):
        index.read_index(tmp_path)


def test_missing_releases_are_those_that_the_corpus_lacks(pip, monkeypatch, tmp_path):
    pip(LISTED)
    monkeypatch.setattr(index, "captured_releases", lambda _: releases("0.3.1", "0.5.6"))
    assert index.missing_releases(tmp_path) == releases("0.3.9.post1", "0.5.5")
