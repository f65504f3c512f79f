"""Generations rest on captures that are equal byte for byte."""

import json

import pytest

from fixturegen.corpus import captured_releases, corpus_root
from harness.compat.generations import OF_CLIENTS, OF_SERVERS, client_seal, generations, server_seal
from wire.release import Release

RELEASES = captured_releases()


def lines(release, names):
    """Captured lines without what names the release's own modules and the seal over it."""
    found = []
    for name in names:
        path = corpus_root() / str(release) / f"{name}.jsonl"
        for line in path.read_text().splitlines() if path.exists() else ():
            entry = json.loads(line)
            found.append({member: value for member, value in entry.items() if member not in {"source", "hash"}})
    return found


@pytest.mark.parametrize(
    ("seal", "names"),
    [(client_seal, OF_CLIENTS), (server_seal, (*OF_CLIENTS, *OF_SERVERS, "transcripts"))],
    ids=["clients", "servers"],
)
def test_releases_are_together_exactly_if_their_captures_are_equal(seal, names):
    captured = {release: lines(release, names) for release in RELEASES}
    for release in RELEASES:
        same = [other for other in RELEASES if captured[other] == captured[release]]
        assert next(group for group in generations(RELEASES, seal) if release in group) == same


def test_every_release_is_in_one_generation():
    assert sorted(release for group in generations(RELEASES, server_seal) for release in group) == RELEASES


def test_generations_are_ordered_by_age_whatever_the_selection():
    chosen = [Release.parse(text) for text in ("0.5.6", "0.3.2", "0.5.5", "0.3.1")]
    assert [[str(release) for release in group] for group in generations(chosen, client_seal)] == [
        ["0.3.1", "0.3.2"],
        ["0.5.5", "0.5.6"],
    ]
