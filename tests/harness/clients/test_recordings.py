"""The recorded conversations are what an adapter says today, and fit the schemas in both directions."""

import json
from functools import cache

import pytest
from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from harness.client import ERROR_CLASSES, IN_FLIGHT, MP_CONNECTED, MP_PURE, PURE
from harness.clients.recordings import CONVERSATIONS, EXAMPLES, record
from harness.clients.schema_files import DIRECTORY

SCHEMAS = {path.name: json.loads(path.read_text()) for path in DIRECTORY.glob("*.schema.json")}
NAMES = [conversation.name for conversation in CONVERSATIONS]


@cache
def validator(file, part):
    """As an author would make one from the files: by their names, with nothing of ours."""
    registry = Registry().with_resources((name, Resource.from_contents(schema)) for name, schema in SCHEMAS.items())
    return Draft202012Validator({"$ref": f"{file}{part}"}, registry=registry)


def recorded(name):
    about, *lines = map(json.loads, (EXAMPLES / f"{name}.jsonl").read_text().splitlines())
    assert about["conversation"] == name
    return [(line["from"], line["line"]) for line in lines]


def exchanges(name):
    """Operation, arguments and answer, in the order of the answers."""
    asked = {}
    for who, line in recorded(name):
        if who == "harness":
            asked[line["id"]] = line
        else:
            request = asked.pop(line["id"])
            yield request["op"], request["args"], {kind: value for kind, value in line.items() if kind != "id"}


def test_every_file_is_one_of_the_conversations():
    assert sorted(path.name for path in EXAMPLES.iterdir()) == sorted(f"{name}.jsonl" for name in NAMES)


@pytest.mark.parametrize("conversation", CONVERSATIONS, ids=NAMES)
def test_recorded_again_a_conversation_is_the_same(conversation):
    assert record(conversation) == (EXAMPLES / f"{conversation.name}.jsonl").read_text()


@pytest.mark.parametrize("name", NAMES)
def test_every_line_fits_the_schemas(name):
    asked = {}
    for who, line in recorded(name):
        if who == "harness":
            asked[line["id"]] = line["op"]
            validator("request.schema.json", "").validate(line)
        else:
            validator("answer.schema.json", "").validate(line)
        file = f"{asked[line['id']]}.schema.json"
        if file in SCHEMAS:
            validator(file, "#/$defs/request" if who == "harness" else "#/$defs/answer").validate(line)
            validator(file, "").validate(line)


@pytest.mark.parametrize("name", NAMES)
def test_each_request_has_one_answer_and_ids_rise(name):
    ids = [line["id"] for who, line in recorded(name) if who == "harness"]
    assert ids == list(range(1, len(ids) + 1))
    assert sorted(line["id"] for who, line in recorded(name) if who == "client") == ids
    operations = [line["op"] for who, line in recorded(name) if who == "harness"]
    assert (operations[0], operations[-1]) == ("hello", "bye")


def test_the_conversations_show_what_they_are_there_for():
    assert {op for op, _, answer in exchanges("pure-operations") if "ok" in answer} == {*PURE, "hello", "bye"}
    connected = [(op, next(iter(answer))) for op, _, answer in exchanges("connected")]
    for expected in [("put", "ok"), ("get", "ok"), ("get", "miss"), ("exist", "ok"), ("close", "ok"), ("health", "ok")]:
        assert expected in connected
    assert {answer["exists"] for op, _, line in exchanges("connected") if op == "exist" for answer in line.values()} == {
        True,
        False,
    }
    assert [line["error"]["class"] for _, _, line in exchanges("errors") if "error" in line] == list(ERROR_CLASSES)
    assert sum("unsupported" in line for _, _, line in exchanges("unsupported")) == 2


def test_what_was_stored_came_back():
    lines = list(exchanges("connected"))
    (put,) = (args["payload"] for op, args, _ in lines if op == "put")
    (got,) = (line["ok"]["payload"] for op, _, line in lines if op == "get" and "ok" in line)
    assert put == got


def test_large_bytes_travel_in_files_both_ways():
    for op, args, line in exchanges("files"):
        if op in {"pack_layout", "unpack_layout"}:
            values = [value for value in (*args.values(), *line["ok"].values()) if isinstance(value, dict)]
            assert [sorted(value) for value in values] == [["file", "length"]] * 2


def test_several_requests_are_answered_out_of_order():
    order = [(who, line["id"]) for who, line in recorded("concurrent") if line["id"] in {2, 3, 4}]
    assert order == [*(("harness", number) for number in (2, 3, 4)), *(("client", number) for number in (4, 3, 2))]
    (hello,) = (line["ok"] for op, _, line in exchanges("concurrent") if op == "hello")
    assert hello["concurrent"] is True
    assert IN_FLIGHT > 3


def test_the_conversations_of_the_multiprocess_wire_show_what_they_are_there_for():
    assert {op for op, _, answer in exchanges("mp-pure") if "ok" in answer} == {*MP_PURE, "hello", "bye"}
    connected = [(op, next(iter(answer))) for op, _, answer in exchanges("mp-connected")]
    assert {op for op, kind in connected if kind == "ok"} >= {*MP_CONNECTED, "connect", "close"}
    assert ("mp_retrieve", "miss") in connected
    errors = [line["error"]["class"] for _, _, line in exchanges("mp-connected") if "error" in line]
    assert errors == ["refused", "connection", "timeout"]


def test_chunks_that_were_stored_came_back():
    lines = list(exchanges("mp-connected"))
    (stored,) = (args["chunks"] for op, args, line in lines if op == "mp_store" and "ok" in line)
    (loaded,) = (line["ok"]["chunks"] for op, _, line in lines if op == "mp_retrieve" and "ok" in line)
    assert stored == loaded


def test_a_client_may_say_how_long_it_took_beside_each_result():
    results = [(op, line) for op, _, line in exchanges("timed") if "ok" in line and op not in {"hello", "bye"}]
    assert [op for op, _ in results] == ["connect", "put", "exist", "get", "close"]
    assert all(type(line["took_ns"]) is int for _, line in results)
    for name in set(NAMES) - {"timed"}:
        assert not any("took_ns" in line for _, line in recorded(name)), f"{name} needs no times"
