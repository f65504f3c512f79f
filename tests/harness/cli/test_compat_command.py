"""``lmconform compat`` from the command line: formats, files, exit codes and bad input."""

import json
import re
import signal

import jsonschema
import pytest

from reports.compat.document import compat_schema

MOCK = ("compat", "--target", "mock")


def pair(client, server):
    return (*MOCK, "--clients", client, "--servers", server)


def test_a_green_matrix_ends_with_0(command):
    ended = command(*pair("0.5.5,0.5.6", "0.5.6"))
    assert ended.code == 0
    assert "2 clients x 1 server, mock servers: 1 cell played, 1 derived" in ended.out


def test_a_matrix_that_is_not_green_ends_with_1(command):
    assert command(*pair("0.5.6", "0.5.0")).code == 1


@pytest.mark.parametrize(
    ("words", "code"), [("never", 0), ("plain", 0), ("wrong,hangs", 0), ("refused", 1), ("any", 1), ("hangs,refused", 1)]
)
def test_what_fails_can_be_chosen(command, words, code):
    assert command(*pair("0.5.6", "0.5.0"), "--fail-on", words).code == code


@pytest.mark.parametrize("form", ["text", "md", "json", "html"])
def test_a_file_is_written_and_named(command, tmp_path, form):
    ended = command(*pair("0.5.5,0.5.6", "0.5.6"), "--format", form, "--out", "matrix")
    assert ended.code == 0
    assert ended.out.startswith("matrix: 2 clients x 1 server,")
    assert "0.5.5" in (tmp_path / "matrix").read_text()


def test_json_follows_its_schema(command):
    document = json.loads(command(*pair("0.3.12,0.5.5,0.5.6", "0.4.3,0.5.6"), "--format", "json").out)
    jsonschema.Draft202012Validator(compat_schema()).validate(document)
    assert document["counts"] == {"run": 4, "derived": 2, "not-run": 0}


def test_no_derive_plays_everything(command):
    document = json.loads(command(*pair("0.5.5,0.5.6", "0.5.6"), "--format", "json", "--no-derive").out)
    assert {cell["state"] for cell in document["cells"]} == {"run"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--clients", "0.9"), "lmcache 0.9 is not in the corpus"),
        (("--servers", " , "), "--servers names no release"),
        (("--clients", "newest"), "'newest' is not a version of lmcache"),
        (("--target", "fixtures"), "unknown target 'fixtures'; targets of this command are live, mock"),
        (("--runtime", "podman"), "unknown runtime 'podman'"),
        (("--format", "pdf"), "unknown format 'pdf'; formats are text, md, json, html"),
        (("--fail-on", "any,wrong"), "--fail-on 'any,wrong': write one of any, plain and never, or some of wrong, hangs"),
        (("--out", "nowhere/matrix.md"), "there is no folder nowhere"),
    ],
)
def test_bad_input_ends_with_2_before_anything_is_played(command, words, message):
    ended = command(*MOCK, *words)
    assert ended.code == 2
    assert message in ended.err
    assert ended.out == ""


def test_a_server_that_does_not_start_ends_with_3_and_is_shown(command, monkeypatch, tmp_path):
    monkeypatch.setenv("LMCONFORM_OFFLINE", "1")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "empty"))
    ended = command("compat", "--clients", "0.5.6", "--servers", "0.5.6", "--fail-on", "never")
    assert ended.code == 3
    assert "not run" in ended.out
    assert "LMCONFORM_OFFLINE" in ended.out


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_matrix_ends_with_3(start, number):
    process = start(*MOCK, "--jobs", "1")
    assert re.match(r"1 of \d+: server of lmcache", process.stderr.readline())
    process.send_signal(number)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (3, "")
    assert err.endswith("lmconform: interrupted\n")
