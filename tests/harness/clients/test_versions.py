"""What version 1 of the contract promises, on record: it may grow in the directions that the page allows, and in no other."""

import json
import re
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from harness.client import ALWAYS, ERROR_CLASSES, IN_FLIGHT, MAY_MISS, OPERATIONS, PROTOCOL_VERSION
from harness.clients.contract import LINE_LIMIT, check_line, check_member
from harness.clients.payloads import HEX_LIMIT
from harness.clients.recordings import CONVERSATIONS, EXAMPLES
from harness.clients.schema_files import DIRECTORY, line_schema, member_schema
from harness.clients.scratch import FILE_LIMIT

RECORD = json.loads(Path(__file__).with_name("version-1.json").read_text())
PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "client-protocol.md").read_text()
FILES = sorted(DIRECTORY.glob("*.schema.json"))
LATER = {"lmconform_later": [None, {"of": 1}]}


def schemas(node):
    """Every schema inside a schema."""
    if isinstance(node, dict):
        yield node
        for value in node.values():
            yield from schemas(value)
    elif isinstance(node, list):
        for value in node:
            yield from schemas(value)


def names(schema, side):
    """Where an object needs which members, and where a name must be in a table: paths with what is on record there."""
    found = {}

    def look(node, path):
        if "required" in node:
            found[f"{path} required"] = sorted(node["required"])
        if "enum" in node:
            found[f"{path} names"] = sorted(map(str, node["enum"]))
        for name, member in node.get("properties", {}).items():
            look(member, f"{path}.{name}")
        if isinstance(node.get("items"), dict):
            look(node["items"], f"{path}[]")

    look(schema, side)
    return found


def now():
    return {
        op: {**names(member_schema(op, "args"), "args"), **names(member_schema(op, "ok"), "ok")} for op in (*ALWAYS, *OPERATIONS)
    }


def test_what_version_1_sends_demands_and_accepts_only_grows_in_the_allowed_directions():
    assert PROTOCOL_VERSION == 1
    current = now()
    assert set(RECORD["operations"]) <= set(current), "an operation of version 1 is gone"
    for op, places in RECORD["operations"].items():
        for place, before in places.items():
            after = set(current[op].get(place, ()))
            if place.startswith("ok") and place.endswith("required"):
                assert after <= set(before), f"{op}: an answer needs {after - set(before)} now ({place})"
            else:
                assert after >= set(before), f"{op}: {set(before) - after} is gone ({place})"
        for place in current[op].keys() - places.keys():
            inside_a_new_member = any(place.startswith((f"{new} ", f"{new}.")) for new in _new_members(op))
            assert place.startswith("args") or inside_a_new_member, f"{op}: {place} was free in version 1"


def _new_members(op):
    properties = set(member_schema(op, "ok").get("properties", {}))
    return {f"ok.{name}" for name in properties - set(RECORD["members"][op])}


def test_kinds_of_answers_classes_of_errors_and_limits_are_those_of_version_1():
    answer = line_schema("answer")
    assert sorted(option["required"][0] for option in answer["oneOf"]) == RECORD["kinds"]
    assert list(ERROR_CLASSES) == RECORD["errors"] == answer["properties"]["error"]["properties"]["class"]["enum"]
    assert line_schema("request")["required"] == RECORD["request"]
    assert RECORD["limits"] == {"line": LINE_LIMIT, "hex": HEX_LIMIT, "file": FILE_LIMIT, "in_flight": IN_FLIGHT}


def test_the_limits_are_on_the_page():
    for text in ("at most 16 MiB", "up to 64 KiB of bytes", "at most 1 GiB", "up to 64 requests"):
        assert text in PAGE
    assert RECORD["limits"] == {"line": 16 << 20, "hex": 64 << 10, "file": 1 << 30, "in_flight": 64}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_objects_stay_open(path):
    for schema in schemas(json.loads(path.read_text())):
        assert not schema.keys() & {"additionalProperties", "unevaluatedProperties", "propertyNames", "maxProperties"}


@pytest.mark.parametrize("name", [conversation.name for conversation in CONVERSATIONS])
def test_unknown_members_are_ignored_wherever_an_object_is(name):
    asked = {}
    for entry in map(json.loads, (EXAMPLES / f"{name}.jsonl").read_text().splitlines()[1:]):
        line = {**opened(entry["line"]), "id": entry["line"]["id"]}
        if entry["from"] == "harness":
            asked[line["id"]] = line["op"]
            check_line("request", line)
            check_member(line["op"], "args", line["args"])
        else:
            check_line("answer", line)
            if "ok" in line:
                check_member(asked[line["id"]], "ok", line["ok"])


def opened(value):
    """The value with a member more in each of its objects."""
    if isinstance(value, dict):
        return {**{name: opened(member) for name, member in value.items()}, **LATER}
    return [opened(member) for member in value] if isinstance(value, list) else value


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_each_file_is_known_by_its_name_and_says_what_it_is(path):
    schema = json.loads(path.read_text())
    Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["$id"] == path.name
    assert schema["title"]
    assert schema["description"].endswith(".")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_member_is_described_where_it_is_or_where_it_refers_to(path):
    for schema in schemas(json.loads(path.read_text())):
        for name, member in schema.get("properties", {}).items():
            described = member is False or "$ref" in member or "const" in member or member.get("description")
            assert described, f"{path.name}: {name} has no description"


def test_there_is_a_file_for_each_operation_and_no_other():
    expected = {*ALWAYS, *OPERATIONS, "request", "answer", "values"}
    assert {path.name.removesuffix(".schema.json") for path in FILES} == expected


@pytest.mark.parametrize("op", [*ALWAYS, *OPERATIONS])
def test_each_operation_has_a_row_on_the_page(op):
    assert len(re.findall(rf"^\| `{op}` \|", PAGE, re.MULTILINE)) == 1


def test_only_loading_operations_may_miss():
    allowed = {
        path.name
        for path in FILES
        if json.loads(path.read_text()).get("$defs", {}).get("answer", {}).get("properties", {}).get("miss") is not False
    }
    assert allowed & {f"{op}.schema.json" for op in (*ALWAYS, *OPERATIONS)} == {f"{op}.schema.json" for op in MAY_MISS}


def test_the_lines_on_the_page_were_recorded():
    recorded = [
        json.loads(line)["line"] for name in ("connected",) for line in (EXAMPLES / f"{name}.jsonl").read_text().splitlines()[1:]
    ]
    shown = [
        json.loads(text)
        for text in re.findall(r"^ +(?:->|<-) (\{.*\})$", PAGE.partition("## Recorded conversations")[2], re.MULTILINE)
    ]
    assert len(shown) == 4
    assert all(line in recorded for line in shown)


def test_the_page_names_every_recorded_conversation():
    assert set(re.findall(r"client-v1/examples/([\w-]+)\.jsonl\)", PAGE)) == {conversation.name for conversation in CONVERSATIONS}


def test_the_program_on_the_page_checks_an_answer(monkeypatch, tmp_path):
    (tmp_path / "schemas").mkdir()
    (tmp_path / "schemas" / "client-v1").symlink_to(DIRECTORY)
    monkeypatch.chdir(tmp_path)
    (program,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    exec(program, {})
    with pytest.raises(Exception, match="'yes' is not of type 'boolean'"):
        exec(program.replace('"exists": True', '"exists": "yes"'), {})
