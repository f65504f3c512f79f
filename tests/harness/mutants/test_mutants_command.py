"""``lmconform mutants``, from its options to its exit code."""

import json

import jsonschema
import pytest

from fixturegen.corpus import captured_releases
from harness.mutants import mutant as tables
from reports.schema import schema_file

ONE = ("mutants", "--lmcache", "0.5.6", "--jobs", "1", "--only-mutant")


def test_a_mutant_that_a_case_finds_is_shown_dead(command):
    ended = command(*ONE, "key-hash-decimal", "--only", "keys.format.format")
    assert ended.code == 0, ended.out + ended.err
    assert "key-hash-decimal" in ended.out
    assert "SHOWN" in ended.out
    assert "killed by" in ended.out


def test_a_mutant_that_a_case_cannot_find_survives(command):
    ended = command(*ONE, "key-hash-decimal", "--only", "lm.reply.decode")
    assert ended.code == 1
    assert "SURVIVES" in ended.out


def test_a_case_that_finds_nothing_is_idle(command, monkeypatch):
    kept = [tables.load_mutants()["key-hash-decimal"]]
    monkeypatch.setattr("harness.killmatrix.run.load_all_mutants", lambda: kept)
    ended = command("mutants", "--lmcache", "0.5.6", "--jobs", "1", "--only", "keys.format.*")
    assert ended.code == 1
    assert "keys.format.unreadable" in ended.out
    assert "no execution finds anything" in ended.out


def test_mutants_that_some_cases_alone_do_not_find_are_counted_and_not_said_to_survive(command, monkeypatch):
    kept = [tables.load_mutants()[name] for name in ("key-hash-decimal", "chain-without-fold")]
    monkeypatch.setattr("harness.killmatrix.run.load_all_mutants", lambda: kept)
    ended = command("mutants", "--lmcache", "0.5.6", "--jobs", "1", "--only", "keys.format.format")
    assert "killed by" in ended.out
    assert "SURVIVES" not in ended.out
    assert "1 other mutant was not found by these cases; other cases may find it" in ended.out


def test_a_mutant_of_the_server_stands_where_a_live_server_would(command):
    ended = command(*ONE, "server-big-endian", "--only", "servers.agreement.mock-equals-live")
    assert ended.code == 0, ended.out + ended.err
    assert "servers.agreement.mock-equals-live[0.5.6-live]" in " ".join(ended.out.split())


def test_the_file_holds_every_meeting_and_fits_its_schema(command, tmp_path):
    command(*ONE, "key-hash-decimal", "--only", "keys.format.format", "--complete", "--out", "kill.json")
    document = json.loads((tmp_path / "kill.json").read_text())
    jsonschema.validate(document, schema_file("mutants", 1))
    assert document["mode"] == "complete"
    assert {found["execution"] for found in document["meetings"]} == {found["id"] for found in document["executions"]}
    assert document["shown"] is True


def test_the_list_tells_what_each_mutant_stands_for(command):
    ended = command("mutants", "--list")
    assert ended.code == 0
    assert "LMCache #3565" in " ".join(ended.out.split())
    assert "server-big-endian" in ended.out


def test_a_pattern_that_names_no_mutant_is_a_usage_error(command):
    ended = command("mutants", "--only-mutant", "no-such-*")
    assert ended.code == 2
    assert "names no mutant" in ended.err


def test_a_pattern_that_matches_no_case_is_a_usage_error(command):
    ended = command(*ONE, "key-hash-decimal", "--only", "no.such.case")
    assert ended.code == 2


def test_a_named_mutant_that_shows_elsewhere_is_a_usage_error(command):
    ended = command("mutants", "--only-mutant", "chain-without-fold", "--lmcache", "0.3.1")
    assert ended.code == 2
    assert "chain-without-fold shows in 0.4.6" in ended.err


def test_a_mutant_of_the_multiprocess_wire_meets_the_cases_of_that_wire(command):
    ended = command("mutants", "--protocol", "mp", *ONE[1:], "mp-tokens-little-endian", "--only", "mp.keys.objects")
    assert ended.code == 0, ended.out + ended.err
    assert "mp.keys.objects" in ended.out


def test_a_mutant_of_the_other_wire_is_not_named_by_mistake(command):
    ended = command("mutants", "--only-mutant", "mp-*")
    assert ended.code == 2
    assert "names no mutant of --protocol lm" in ended.err


def test_an_unknown_wire_is_a_usage_error(command):
    ended = command("mutants", "--protocol", "both")
    assert ended.code == 2
    assert "write one of lm, mp" in ended.err


def test_every_mutant_of_the_multiprocess_wire_dies_and_every_execution_finds_one(command, tmp_path):
    """What the project promises of the cases about that wire; slow, for each hang and each timeout takes its time."""
    ended = command("mutants", "--protocol", "mp", "--jobs", "4", "--out", "kill.json")
    document = json.loads((tmp_path / "kill.json").read_text())
    assert document["survivors"] == []
    assert document["unmet"] == []
    assert document["idle"] == []
    assert [missed for missed in document["missed"] if missed["release"] == str(captured_releases(protocol="mp")[-1])] == []
    assert ended.code == 0


def test_every_mutant_dies_and_every_execution_finds_one(command, tmp_path):
    """What the project promises of its cases about the wire of lm; the other slow test here."""
    ended = command("mutants", "--jobs", "2", "--out", "kill.json")
    document = json.loads((tmp_path / "kill.json").read_text())
    assert document["survivors"] == []
    assert document["unmet"] == []
    assert document["idle"] == []
    assert [missed for missed in document["missed"] if missed["release"] == str(captured_releases()[-1])] == []
    assert ended.code == 0
    assert {found["mutant"] for found in document["meetings"] if found["killed"]} == {
        found["name"] for found in document["mutants"]
    }


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--type", "plugin"], "mutants of a client have none"),
        (["--side", "server", "--type", "plugin"], "mutants of a server have none"),
        (["--protocol", "l2", "--type", "foo"], "unknown type of plugin 'foo'"),
        (["--side", "plugin"], "or --protocol l2"),
    ],
)
def test_options_that_make_no_sense_together_are_explained(words, said, command):
    ended = command("mutants", *words)
    assert ended.code == 2
    assert said in " ".join(ended.err.split())
