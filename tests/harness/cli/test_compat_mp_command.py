"""``lmconform compat --protocol mp`` from the command line."""

import json

import jsonschema
import pytest

from reports.collisions.document import collisions_schema

MP = ("compat", "--protocol", "mp")


def pair(client, server):
    return (*MP, "--clients", client, "--servers", server)


def test_a_release_with_itself_ends_with_0(command):
    ended = command(*pair("0.5.6", "0.5.6"))
    assert ended.code == 0
    assert "1 client x 1 server" in ended.out


def test_a_collision_ends_with_1_and_is_told(command):
    ended = command(*pair("0.4.7", "0.5.1"))
    assert ended.code == 1
    assert "GET_CHUNK_SIZE: executes CLEAR" in ended.out


@pytest.mark.parametrize(("words", "code"), [("never", 0), ("kills", 0), ("destroys", 1)])
def test_what_fails_can_be_chosen(command, words, code):
    assert command(*pair("0.4.7", "0.5.1"), "--fail-on", words).code == code


@pytest.mark.parametrize("form", ["text", "md", "json", "html"])
def test_a_file_is_written_and_named(command, tmp_path, form):
    ended = command(*pair("0.4.7", "0.5.1"), "--format", form, "--out", "collisions")
    assert ended.out == "collisions: 1 client x 1 server, 2 generations, operation tables of 2 releases\n"
    assert "GET" in (tmp_path / "collisions").read_text()


def test_json_follows_its_schema(command):
    document = json.loads(command(*pair("0.4.7", "0.5.1"), "--format", "json").out)
    jsonschema.Draft202012Validator(collisions_schema()).validate(document)
    assert document["tables"] == {"0.4.7": "captured", "0.5.1": "captured"}


def test_a_target_plays_the_worst_and_the_document_tells_it(command):
    ended = command(*pair("0.4.7", "0.5.1"), "--target", "mock", "--format", "json")
    document = json.loads(ended.out)
    jsonschema.Draft202012Validator(collisions_schema()).validate(document)
    assert [one["shown"] for one in document["demonstrations"]] == [True, True, True]
    assert document["demonstrations"][0]["acts"][2]["sent"] == ["11"]
    assert "lmcache 0.5.1: 3 demonstrations against the mock" in ended.err


def test_a_real_server_that_does_not_start_ends_with_3_and_is_told(command, monkeypatch, tmp_path):
    monkeypatch.setenv("LMCONFORM_OFFLINE", "1")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "empty"))
    ended = command(*pair("0.5.6", "0.5.6"), "--target", "live", "--fail-on", "never")
    assert ended.code == 3
    assert "not shown:" in ended.out
    assert "LMCONFORM_OFFLINE" in ended.out


def test_all_leaves_releases_without_the_protocol_out(command):
    ended = command(*MP, "--servers", "0.5.6", "--fail-on", "never")
    assert ended.code == 0
    assert "24 clients x 1 server" in " ".join(ended.out.split())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--protocol", "http"), "unknown protocol 'http'; protocols of this command are lm, mp"),
        (
            (*MP[1:], "--clients", "0.3.1"),
            "lmcache 0.3.1 has no multiprocess server; its protocol begins with 0.3.9.post1",
        ),
        ((*MP[1:], "--jobs", "2"), "--jobs and --no-derive belong to --protocol lm"),
        ((*MP[1:], "--no-derive"), "--jobs and --no-derive belong to --protocol lm"),
        ((*MP[1:], "--fail-on", "wrong"), "with --protocol mp write one of any, plain and never, or some of destroys"),
        ((*MP[1:], "--target", "fixtures"), "unknown target 'fixtures'; targets of this command are live, mock"),
    ],
)
def test_bad_input_ends_with_2(command, words, message):
    ended = command("compat", *words)
    assert ended.code == 2
    assert message in " ".join(ended.err.split())
    assert ended.out == ""
