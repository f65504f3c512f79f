"""The functions of the multiprocess wire give what the real lmcache gave, for every captured release."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from fixturegen.corpus import captured_releases, load_corpus
from fixturegen.vector import Vector
from wire.errors import WireError
from wire.mp.frames import decode_reply, decode_request, encode_reply, encode_request
from wire.mp.objects import object_key_text, server_object_keys
from wire.mp.operations import operation_table
from wire.mp.records import RECORDS
from wire.mp.registration import encode_registration
from wire.mp.values import from_json, to_json
from wire.release import Release

RELEASES = captured_releases(protocol="mp")
UNOPENED = ("tensor-extension-empty", "tensor-extension-empty-map", "tensor-extension-pickled-none")
"""Vectors whose refusal comes from opening a wrapper, which nothing but the real class does."""


def as_frames(frames: list[bytes]) -> dict[str, Any]:
    return {"frames": [{"hex": frame.hex()} for frame in frames]}


def as_bytes(frames: Any) -> list[bytes]:
    return [bytes.fromhex(frame["hex"]) for frame in frames]


def asked_request(release: Release, args: Any) -> Any:
    return as_frames(encode_request(operation_table(release), args["operation"], from_json(args["payloads"])))


def read_request(release: Release, args: Any) -> Any:
    request = decode_request(operation_table(release), as_bytes(args["frames"]))
    return {"operation": request.operation.name, "payloads": to_json(list(request.payloads))}


def made_reply(release: Release, args: Any) -> Any:
    return as_frames(encode_reply(operation_table(release), args["operation"], from_json(args["result"])))


def read_reply(release: Release, args: Any) -> Any:
    return {"result": to_json(decode_reply(operation_table(release), args["operation"], as_bytes(args["frames"])))}


def objects(release: Release, args: Any) -> Any:
    keys = server_object_keys(release, from_json(args["key"]), args["chunk_size"], lookup=args["lookup"], group=args["group"])
    return {"keys": [to_json(vars(key)) for key in keys], "names": [object_key_text(release, key) for key in keys]}


def blob(release: Release, args: Any) -> Any:
    return {"bytes": {"hex": encode_registration(release, args["wrapper"], args["fields"], size=args.get("size")).hex()}}


ASKED: Mapping[str, Callable[[Release, Any], Any]] = {
    "mp_encode_request": asked_request,
    "mp_decode_request": read_request,
    "mp_encode_reply": made_reply,
    "mp_decode_reply": read_reply,
    "mp_object_keys": objects,
    "mp_encode_registration": blob,
}


def plain(value: Any) -> Any:
    """A captured value with its ranges written out."""
    return to_json(from_json(value))


def agrees(release: Release, vector: Vector) -> bool:
    try:
        got = ASKED[vector.op](release, vector.args)
    except WireError:
        return vector.ok is None
    if vector.ok is None:
        return vector.id.rpartition(".")[2] in UNOPENED
    expected = vector.ok if vector.op in {"mp_encode_request", "mp_encode_reply"} else plain(dict(vector.ok))
    if vector.op == "mp_object_keys":
        # What object keys of the release do not have is not in the capture.
        pairs = zip(got["keys"], expected["keys"], strict=True)
        got = {**got, "keys": [{name: one[name] for name in other} for one, other in pairs]}
        expected = {"names": got["names"], **expected}
    return bool(got == expected)


@pytest.mark.parametrize("release", RELEASES, ids=str)
@pytest.mark.parametrize("op", ASKED)
def test_every_vector_comes_out_as_it_was_captured(release: Release, op: str) -> None:
    vectors = load_corpus(release, protocol="mp").vectors.get(op, ())
    assert vectors or op == "mp_object_keys"
    assert [vector.id for vector in vectors if not agrees(release, vector)] == []


@pytest.mark.parametrize("release", RELEASES, ids=str)
def test_operations_have_the_numbers_payloads_and_results_of_the_release(release: Release) -> None:
    (captured,) = load_corpus(release, protocol="mp").vectors["mp_operations"]
    real: Any = captured.answer["operations"]
    ours = {
        one.name: (one.number, list(map(str, one.payloads)), None if one.result is None else str(one.result))
        for one in operation_table(release).operations
    }
    assert ours == {each["name"]: (each["wire"], each["payloads"], each["response"]) for each in real}


@pytest.mark.parametrize("release", RELEASES, ids=str)
def test_records_have_the_fields_and_defaults_of_the_release(release: Release) -> None:
    (captured,) = load_corpus(release, protocol="mp").vectors["mp_records"]
    real: Any = captured.answer["records"]
    for name, fields in real.items():
        ours = [(field.name, str(field.type), field.required or field.default) for field in RECORDS[name][release]]
        assert ours == [(each["field"], each["type"], each.get("required") or from_json(each["default"])) for each in fields]
