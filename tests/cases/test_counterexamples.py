"""The examples that are kept: their form, and that the outcome written down is the one that the case decides."""

import json
from collections import Counter

import pytest
from jsonschema import Draft202012Validator

from cases.lm.counterexamples import FILES, SCHEMA, counterexamples, kept
from cases.lm.replies import Spoken, due
from wire.lm.profile import lm_profile
from wire.lm.shapes import payload_size
from wire.release import KNOWN_RELEASES, Release, ReleaseRange

REPLIES = counterexamples("reply")
ALL = [example for kind in FILES for example in counterexamples(kind)]


@pytest.mark.parametrize("example", ALL, ids=lambda example: example["id"])
def test_an_example_has_the_published_form(example):
    Draft202012Validator(json.loads(SCHEMA.read_text())).validate(example)


def test_no_two_examples_share_an_id():
    assert [name for name, count in Counter(example["id"] for example in ALL).items() if count > 1] == []


def test_each_kind_stands_in_its_own_file():
    assert {kind: {kind in example for example in counterexamples(kind)} for kind in FILES} == {
        "reply": {True},
        "program": {True},
    }


@pytest.mark.parametrize("example", REPLIES, ids=lambda example: example["id"])
def test_the_bytes_of_a_reply_allow_what_was_written_down(example):
    spoken = Spoken.from_json(example["reply"])
    size = payload_size(**_named(spoken.expect)) if spoken.expect else 0
    for release in map(Release.parse, KNOWN_RELEASES):
        if release in ReleaseRange.parse(example["releases"]):
            assert due(lm_profile(release), spoken, size).outcomes(spoken.op) == example["outcome"], release


def test_an_example_is_replayed_on_its_releases_only():
    names = {release: {variant.id for variant in kept("reply")(Release.parse(release))} for release in ("0.3.2", "0.3.3")}
    assert "exist-code-456-32" in names["0.3.2"]
    assert "exist-code-456-36" not in names["0.3.2"]
    assert "exist-code-456-36" in names["0.3.3"]


def _named(expect):
    return {"format_name": expect["format"], "dtype": expect["dtype"], "shape": expect["shape"]}
