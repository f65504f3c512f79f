"""Client specifications: what is wrong is told in one sentence."""

import sys
from pathlib import Path

import pytest

from fixturegen.errors import EnvironmentUnavailable
from harness.client import Budget, ClientUnavailable
from harness.clients.dispatch import load_factory
from harness.clients.spec import open_client, parse_command

SUBJECTS = Path(__file__).parents[1] / "subjects"


def sentence(spec):
    with pytest.raises(ClientUnavailable) as caught:
        open_client(spec)
    message = str(caught.value)
    assert "\n" not in message
    return message


@pytest.mark.parametrize("spec", ["", "refrence", "./mine", "reference:x", "http://x", "python3 adapter.py"])
def test_anything_else_is_answered_with_the_forms_there_are(spec):
    assert "write one of: reference, reference-mp, python:package.module:Class, stdio:COMMAND ..." in sentence(spec)


def test_a_command_without_form_gets_a_suggestion():
    assert "stdio:python3 adapter.py" in sentence("python3 adapter.py")


def test_a_class_without_form_gets_a_suggestion():
    assert "python:mine:Client" in sentence("mine:Client")


@pytest.mark.parametrize(
    ("spec", "fragment"),
    [
        ("stdio:", "needs a command"),
        ("stdio:'open", "cannot split"),
        ("stdio:no-such-command-anywhere", "no command 'no-such-command-anywhere'"),
        ("stdio:./no-such-file", "there is no file "),
        ("lmcache:", "needs a release, such as lmcache:0.5.6"),
        ("lmcache:newest", "lmcache:newest: "),
        ("lmcache-mp:", "needs a release, such as lmcache-mp:0.5.6"),
        ("lmcache-mp:0.3.7", "lmcache-mp:0.3.7: this release is not in the corpus (captured: 0.3.9.post1, "),
        ("lmcache:0.3.8", "lmcache:0.3.8: this release is not in the corpus (captured: 0.3.1, "),
        ("python:", "names no class"),
        ("python:json", "names no class"),
        ("python:json:NoSuchClass", "has no 'NoSuchClass'"),
        ("python:no_such_module:Client", "cannot import no_such_module: ModuleNotFoundError"),
        ("python:json:__doc__", "is a str; a class is needed"),
    ],
)
def test_what_cannot_be_started_is_told_in_one_sentence(spec, fragment):
    assert fragment in sentence(spec)


def test_a_program_is_found_from_the_current_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    program = tmp_path / "mine"
    program.write_text("#!/bin/sh\n")
    assert "not executable; try: chmod +x ./mine" in sentence("stdio:./mine")
    assert "write stdio:./mine" in sentence("stdio:mine")
    program.chmod(0o755)
    assert parse_command("./mine --flag 'two words'") == [str(program), "--flag", "two words"]
    assert "is not a file" in sentence("stdio:./")


def test_a_file_that_is_no_program_is_told_in_one_sentence(tmp_path):
    program = tmp_path / "mine"
    program.write_text("no interpreter line")
    program.chmod(0o755)
    assert sentence(f"stdio:{program}") == f"cannot start {program}: Exec format error"


def test_a_module_that_fails_to_import_is_told_in_one_sentence(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "exits_on_import.py").write_text("raise SystemExit(4)")
    assert sentence("python:exits_on_import:Client") == "cannot import exits_on_import: SystemExit: 4"


def test_where_a_module_was_looked_for_is_told_if_it_is_not_there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lacks_a_package.py").write_text("import no_such_package")
    assert f"looked for in {tmp_path}, in PYTHONPATH and " in sentence("python:not_here_at_all.client:Client")
    assert sentence("python:lacks_a_package:Client").endswith("No module named 'no_such_package'")


def test_a_class_of_the_current_directory_can_be_loaded(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "my_client_here.py").write_text("class Outer:\n    class Client: pass\n")
    assert load_factory("my_client_here:Outer.Client").__name__ == "Client"


def test_the_reference_client_opens():
    session = open_client("reference", budget=Budget())
    assert session.description.name == "lmconform reference client"
    session.stop()


def test_a_mutant_is_a_client_by_its_name():
    session = open_client("mutant:key-cut-to-the-field")
    try:
        assert session.description.name == "lmconform reference client"
    finally:
        session.stop()


def test_a_mutant_that_does_not_exist_is_named_with_the_nearest_one():
    with pytest.raises(ClientUnavailable, match="did you mean key-cut-to-the-field"):
        open_client("mutant:key-cut-to-a-field")


@pytest.mark.parametrize("spec", ["reference", "python:broken_clients:OldestOnly", "mutant:key-cut-to-the-field"])
def test_a_class_is_the_same_client_in_a_process_of_its_own(spec, monkeypatch):
    monkeypatch.syspath_prepend(str(SUBJECTS))
    inside, outside = open_client(spec), open_client(spec, apart=True)
    try:
        assert outside.has_process
        assert not inside.has_process
        assert outside.description == inside.description
    finally:
        outside.stop()
        inside.stop()


def test_a_mutant_has_its_defect_in_a_process_of_its_own():
    client = open_client("mutant:keys-in-reverse", apart=True)
    try:
        asked = {"release": "0.5.6", "tokens": [1, 2], "chunk_size": 1, "algorithm": "builtin", "none_hash": {"int": "0"}}
        about = {"model": "m", "world_size": 1, "worker_id": 0, "dtype": "float16", "fmt": None, "tags": []}
        answer = client.call("chunk_keys", {**asked, **about, "skip": 0, "save_unfull_chunk": False}, deadline=20)
    finally:
        client.stop()
    first, second = (chunk["key"] for chunk in answer.values["chunks"])
    alone = load_factory("reference")().chunk_keys(**{**asked, "tokens": [1]}, **about, skip=0, save_unfull_chunk=False)
    assert second == alone["chunks"][0]["key"] != first


def test_an_environment_that_cannot_be_made_is_no_mistake_in_the_specification(tmp_path, monkeypatch):
    monkeypatch.setenv("LMCONFORM_CACHE", str(tmp_path))
    monkeypatch.setenv("LMCONFORM_OFFLINE", "1")
    with pytest.raises(EnvironmentUnavailable, match="LMCONFORM_OFFLINE"):
        open_client("lmcache:0.3.2")
