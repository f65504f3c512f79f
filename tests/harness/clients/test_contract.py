"""The schemas agree with the contract page, and violations are told in words."""

import json
import re
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from harness.client import ALWAYS, MP_PURE, OPERATIONS, PURE
from harness.clients.contract import ContractViolation, check_line, check_member, check_python, shorten
from harness.clients.samples import sample_key
from harness.clients.schema_files import DIRECTORY, bytes_list_members, bytes_members, member_schema

CORPUS = Path(__file__).parents[3] / "cases" / "corpus"
PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "client-protocol.md").read_text()
ROWS = dict(re.findall(r"^\| `(\w+)` \| (.+)\|$", PAGE, re.MULTILINE))
SIDES = [(op, side) for op in (*ALWAYS, *OPERATIONS) for side in ("args", "ok")]


@pytest.mark.parametrize("path", sorted(DIRECTORY.glob("*.schema.json")), ids=lambda path: path.name)
def test_each_file_is_a_schema(path):
    Draft202012Validator.check_schema(json.loads(path.read_text()))


@pytest.mark.parametrize(("op", "side"), SIDES)
def test_each_operation_has_both_schemas_without_references(op, side):
    schema = member_schema(op, side)
    Draft202012Validator.check_schema(schema)
    assert "$ref" not in json.dumps(schema)


def test_the_examples_of_the_page_fit():
    op = None
    examples = re.findall(r"^ +(->|<-) (\{.*\})$", PAGE, re.MULTILINE)
    assert examples
    for direction, text in examples:
        line = json.loads(text)
        if direction == "->":
            op = line["op"]
            check_line("request", line)
            check_member(op, "args", line["args"])
        else:
            check_line("answer", line)
            check_member(op, "ok", line["ok"])


@pytest.mark.parametrize("op", [*ALWAYS, *OPERATIONS])
def test_the_row_of_the_page_names_what_the_schemas_name(op):
    args, ok = ROWS[op].rsplit("|", 1) if ROWS[op].count("|") == 1 else ROWS[op].split(" | ")
    for cell, side in ((args, "args"), (ok, "ok")):
        if "members above" in cell:
            continue
        named = set(re.findall(r"\w+", " ".join(re.findall(r"`([^`]*)`", cell))))
        missing = set(member_schema(op, side).get("properties", {})) - named - {"release"}
        assert not missing, f"{op}: the page does not name {missing} in {cell!r}"


def test_bytes_stand_where_the_page_puts_them():
    assert {(op, side): set(bytes_members(op, side)) for op, side in SIDES if bytes_members(op, side)} == {
        ("encode_request", "ok"): {"bytes"},
        ("decode_request", "args"): {"bytes"},
        ("encode_reply", "ok"): {"bytes"},
        ("decode_reply", "args"): {"bytes"},
        ("encode_metadata", "ok"): {"bytes"},
        ("decode_metadata", "args"): {"bytes"},
        ("pack_layout", "args"): {"paged"},
        ("pack_layout", "ok"): {"bytes"},
        ("unpack_layout", "args"): {"bytes"},
        ("unpack_layout", "ok"): {"paged"},
        ("put", "args"): {"payload"},
        ("get", "ok"): {"payload"},
        ("mp_encode_registration", "ok"): {"bytes"},
    }
    assert {(op, side): set(bytes_list_members(op, side)) for op, side in SIDES if bytes_list_members(op, side)} == {
        ("mp_store", "args"): {"chunks"},
        ("mp_retrieve", "ok"): {"chunks"},
    }


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"world_size": "1"}, 'ok.key.world_size: expected an integer, got "1"'),
        ({"world_size": True}, "ok.key.world_size: expected an integer, got true"),
        ({"dtype": "half"}, 'ok.key.dtype: expected one of "float16", '),
        ({"tags": [["a"]]}, 'ok.key.tags[0]: expected a [name, value] pair of strings, got ["a"]'),
        ({"chunk_hash": 7}, 'ok.key.chunk_hash: expected a hash, one of {"int": "-6699"}'),
        ({"chunk_hash": {"int": "7", "text": "7"}}, "ok.key.chunk_hash: expected a hash"),
        ({"chunk_hash": {"int": "7\n"}}, "ok.key.chunk_hash.int: expected a signed decimal integer as text"),
        ({"chunk_hash": {"bytes": "AB"}}, "ok.key.chunk_hash.bytes: expected lower-case hexadecimal"),
    ],
)
def test_a_violation_names_the_member_and_what_was_expected(change, message):
    with pytest.raises(ContractViolation) as caught:
        check_member("parse_key", "ok", {"key": {**sample_key("0.5.6"), **change}})
    assert str(caught.value).startswith(message)


def test_values_outside_the_tables_may_be_asked_and_not_answered():
    odd = {"length": 2**40, "format": "KV_NEW", "dtype": "int8", "shape": [1] * 5, "location": "Moon"}
    check_member("encode_reply", "args", {"release": "0.5.6", "code": "MAYBE", **odd})
    with pytest.raises(ContractViolation):
        check_member("decode_reply", "ok", {"code": "MAYBE", **odd})


@pytest.mark.parametrize(
    "path",
    sorted([*CORPUS.glob("*/*.jsonl"), *CORPUS.glob("*/mp/*.jsonl")]),
    ids=lambda path: "-".join(path.relative_to(CORPUS).with_suffix("").parts),
)
def test_the_vectors_of_the_corpus_fit(path):
    for line in path.read_text().splitlines():
        vector = json.loads(line)
        if vector.get("op") not in {*PURE, *MP_PURE}:
            return
        check_member(vector["op"], "args", {"release": path.relative_to(CORPUS).parts[0], **vector["args"]})
        # What a capture cannot reproduce is masked there, and a masked part has no type.
        if "ok" in vector and '"masked"' not in line:
            check_member(vector["op"], "ok", vector["ok"])


def test_unknown_members_are_ignored():
    check_member("exist", "ok", {"exists": True, "since": "yesterday"})
    check_line("answer", {"id": 1, "miss": True, "note": None})


@pytest.mark.parametrize("value", ["0", "0g", "00\n", "é0"])
def test_bytes_are_pairs_of_hexadecimal_digits(value):
    with pytest.raises(ContractViolation, match=r"ok\.bytes\.hex"):
        check_member("encode_reply", "ok", {"bytes": {"hex": value}})


def test_bytes_of_more_than_64_kib_do_not_travel_in_a_line():
    check_member("encode_reply", "ok", {"bytes": {"hex": "00" * 65536}})
    with pytest.raises(ContractViolation, match="at most 65536 bytes"):
        check_member("encode_reply", "ok", {"bytes": {"hex": "00" * 65537}})


@pytest.mark.parametrize("name", ["..", ".", "", "a/b", "/etc/passwd", "a\\b", "a\0b"])
def test_files_are_names_without_a_path(name):
    with pytest.raises(ContractViolation, match=r"ok\.bytes\.file: expected the name of a file"):
        check_member("encode_reply", "ok", {"bytes": {"file": name, "length": 1}})


def test_a_long_array_with_one_wrong_element_is_found():
    with pytest.raises(ContractViolation, match=r"args\.tokens\[5000\]: expected an integer, got 1.5"):
        check_member("token_hashes", "args", {"release": "0.5.6", "chunk_size": 1, "tokens": [*range(5000), 1.5]})


def test_the_python_form_holds_bytes_as_bytes_and_tuples_as_lists():
    assert check_python("pack_layout", "ok", {"bytes": bytearray(b"ab"), "shape": (2,)}) == {"bytes": b"ab", "shape": [2]}
    with pytest.raises(ContractViolation, match=r"ok\.bytes: expected bytes, got {\"hex\": \"00\"}"):
        check_python("pack_layout", "ok", {"bytes": {"hex": "00"}, "shape": [1]})
    with pytest.raises(ContractViolation, match=r"ok: expected a mapping"):
        check_python("pack_layout", "ok", [])


def test_operations_that_the_contract_lacks_have_no_schema():
    check_member("no_such_operation", "ok", {"anything": 1})
    check_member("values", "ok", {})


def test_long_values_are_shortened():
    assert len(shorten({"a": "x" * 10_000})) < 400
    assert len(shorten(b"\xff" * 10_000)) < 400
    assert len(shorten({"payload": bytes(10_000_000)})) < 400
