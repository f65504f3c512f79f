"""``lmconform releases``: what is captured, and which releases are the same on the wire."""

import json

import pytest
from generations import REPRESENTATIVES

from fixturegen.corpus import captured_releases
from harness.usage import parse_releases


def test_every_captured_release_is_listed_with_its_wires(command):
    listed = json.loads(command("releases", "--format", "json").out)["releases"]
    assert [one["release"] for one in listed] == [str(release) for release in captured_releases()]
    assert [one["release"] for one in listed if "mp" in one["generation"]] == [
        str(release) for release in captured_releases(protocol="mp")
    ]


def test_a_generation_is_named_after_its_newest_release(command):
    listed = {one["release"]: one["generation"] for one in json.loads(command("releases", "--format", "json").out)["releases"]}
    for generation in listed.values():
        for wire, newest in generation.items():
            assert listed[newest][wire] == newest


@pytest.mark.parametrize("wire", ["lm", "mp"])
def test_the_newest_of_each_generation_can_be_given_to_a_run(command, wire):
    ended = command("releases", "--newest", "--protocol", wire, "--format", "names")
    names = ended.out.strip()
    assert ended.code == 0
    assert ",".join(map(str, parse_releases(names))) == names
    assert len(names.split(",")) < len(captured_releases(protocol=wire))
    assert names.endswith("0.5.6")


def test_releases_whose_servers_talk_differently_are_of_different_generations(command):
    names = command("releases", "--newest", "--protocol", "lm", "--format", "names").out.strip().split(",")
    assert {str(release) for release in REPRESENTATIVES} <= set(names)


def test_people_see_a_table(command):
    ended = command("releases")
    assert "0.3.1         lm as 0.3.2              mp -" in ended.out.splitlines()
    assert "33 releases; generations: 16 of lm, 19 of mp" in ended.out


def test_an_unknown_wire_is_refused(command):
    ended = command("releases", "--protocol", "http")
    assert (ended.code, ended.err) == (2, "lmconform: unknown protocol 'http'; write one of lm, mp, or leave it out for all\n")


def test_an_empty_corpus_is_said_so(command, monkeypatch, tmp_path):
    monkeypatch.setenv("LMCONFORM_CORPUS", str(tmp_path))
    ended = command("releases")
    assert ended.code == 2
    assert "no release is captured" in ended.err
