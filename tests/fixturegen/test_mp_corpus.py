"""What the captures of the multiprocess protocol hold: the facts that everything else leans on."""

import msgspec
import pytest

from fixturegen.corpus import captured_releases, load_corpus
from fixturegen.manifest import Manifest
from wire.release import Release

CAPTURED = captured_releases(protocol="mp")
every_release = pytest.mark.parametrize("release", CAPTURED, ids=str)

NUMBERS = {
    "0.3.9.post1": {"STORE": 3, "RETRIEVE": 4, "LOOKUP": 5, "NOOP": 6},
    "0.3.10": {"LOOKUP": 5, "CLEAR": 6, "GET_CHUNK_SIZE": 7, "NOOP": 8},
    "0.3.14": {"END_SESSION": 6, "CLEAR": 7, "GET_CHUNK_SIZE": 8, "NOOP": 9},
    "0.4.1": {"QUERY_PREFETCH_STATUS": 6, "FREE_LOOKUP_LOCKS": 7, "END_SESSION": 8, "CLEAR": 9, "NOOP": 11},
    "0.4.2": {"CLEAR": 9, "GET_CHUNK_SIZE": 10, "PING": 11, "NOOP": 12},
    "0.4.3": {"QUERY_PREFETCH_LOOKUP_HITS": 7, "END_SESSION": 9, "CLEAR": 10, "PING": 12, "NOOP": 14},
    "0.4.6": {"PREPARE_STORE": 11, "COMMIT_RETRIEVE": 14, "CLEAR": 15, "GET_CHUNK_SIZE": 16, "NOOP": 19},
    "0.4.7": {"PREPARE_STORE": 12, "COMMIT_RETRIEVE": 15, "CLEAR": 16, "GET_CHUNK_SIZE": 17, "NOOP": 20},
    "0.5.0": {"WAIT_PREFETCH_STATUS": 7, "PREPARE_STORE": 13, "CLEAR": 17, "GET_CHUNK_SIZE": 18, "NOOP": 21},
    "0.5.3": {"STORE": 6, "LOOKUP": 8, "PREPARE_STORE": 16, "CLEAR": 20, "GET_CHUNK_SIZE": 21, "NOOP": 24},
    "0.5.6": {"STORE": 6, "LOOKUP": 8, "PREPARE_STORE": 16, "CLEAR": 20, "GET_CHUNK_SIZE": 21, "NOOP": 24},
}
"""Numbers at the releases that renumbered, read off lmcache's sources by hand."""


def operations_of(release):
    (vector,) = load_corpus(release, protocol="mp").vectors["mp_operations"]
    return {row["name"]: row for row in vector.answer["operations"]}


def test_every_release_since_the_first_with_the_protocol_is_captured():
    assert [release for release in captured_releases() if release >= Release.parse("0.3.9.post1")] == CAPTURED


@every_release
def test_the_manifest_is_written_as_it_was_read(release):
    corpus = load_corpus(release, protocol="mp", every_line=True)
    text = (corpus.directory / "manifest.json").read_text()
    assert Manifest.from_text(text, "manifest.json").to_text() == text
    assert corpus.manifest.protocol == "mp"


@every_release
def test_it_comes_from_the_same_wheel_as_the_other_wire(release):
    assert load_corpus(release, protocol="mp").manifest.wheel_sha256 == load_corpus(release).manifest.wheel_sha256


@pytest.mark.parametrize("text", NUMBERS)
def test_operations_have_the_numbers_of_the_sources(text):
    rows = operations_of(Release.parse(text))
    assert {name: rows[name]["wire"] for name in NUMBERS[text]} == NUMBERS[text]


@every_release
def test_a_request_begins_with_the_number_of_its_operation_and_has_a_frame_for_each_payload(release):
    rows = operations_of(release)
    for vector in load_corpus(release, protocol="mp").vectors["mp_encode_request"]:
        if vector.ok is None:
            continue
        operation, *payloads = (bytes.fromhex(frame["hex"]) for frame in vector.answer["frames"])
        row = rows[vector.args["operation"]]
        assert msgspec.msgpack.decode(operation) == row["wire"], vector.id
        assert len(payloads) == len(row["payloads"]) == len(vector.args["payloads"]), vector.id


@every_release
def test_records_are_maps_with_every_field_of_the_captured_record_in_its_order(release):
    corpus = load_corpus(release, protocol="mp")
    (records,) = corpus.vectors["mp_records"]
    (name,) = [name for name in records.answer["records"] if name.startswith("IPCCache")]
    fields = [field["field"] for field in records.answer["records"][name]]
    payload = msgspec.msgpack.decode(bytes.fromhex(corpus.vector("mp.request.encode.lookup.plain").answer["frames"][1]["hex"]))
    assert list(payload[0] if isinstance(payload, list) else payload) == fields


@every_release
def test_a_reply_without_a_result_has_no_result_frame(release):
    for vector in load_corpus(release, protocol="mp").vectors["mp_encode_reply"]:
        assert len(vector.answer["frames"]) == (1 if vector.args["result"] is None else 2), vector.id


@every_release
def test_every_refused_request_says_what_becomes_of_the_message_thread(release):
    refusals = [v for v in load_corpus(release, protocol="mp").vectors["mp_decode_request"] if v.ok is None]
    assert len(refusals) > 20
    assert {vector.outcome["error"]["effect"] for vector in refusals} <= {"dropped", "ignored", "the message thread dies"}


@every_release
def test_a_message_of_one_frame_kills_the_message_thread(release):
    assert effect(release, "no-frames") == "the message thread dies"


@every_release
def test_an_unknown_operation_kills_the_message_thread_until_the_release_that_drops_it(release):
    kills = release < Release.parse("0.5.6")
    assert effect(release, "operation-unknown") == ("the message thread dies" if kills else "dropped")


def effect(release, name):
    return load_corpus(release, protocol="mp").vector(f"mp.request.decode.noop.{name}").outcome["error"]["effect"]


@every_release
def test_members_that_are_unknown_are_ignored_and_arrays_in_place_of_records_are_refused(release):
    corpus = load_corpus(release, protocol="mp")
    plain = corpus.vector("mp.request.decode.lookup.plain").answer
    assert corpus.vector("mp.request.decode.lookup.record-unknown-field").answer == plain
    assert corpus.vector("mp.request.decode.lookup.record-unknown-first").answer == plain
    assert corpus.vector("mp.request.decode.lookup.record-array").ok is None


@every_release
def test_a_missing_member_is_refused_exactly_where_it_has_no_default(release):
    corpus = load_corpus(release, protocol="mp")
    (records,) = corpus.vectors["mp_records"]
    (name,) = [name for name in records.answer["records"] if name.startswith("IPCCache")]
    for field in records.answer["records"][name]:
        vector = corpus.vector(f"mp.request.decode.lookup.record-without-{field['field'].replace('_', '-')}")
        assert (vector.ok is None) == field.get("required", False), vector.id


@every_release
def test_a_partial_chunk_is_no_object(release):
    corpus = load_corpus(release, protocol="mp")
    if "mp_object_keys" in corpus.manifest.unavailable:
        assert release < Release.parse("0.3.14")
        return
    whole, partial = (corpus.vector(f"mp.objects.lookup.{name}").answer["keys"] for name in ("two-chunks", "partial-chunk"))
    assert len(whole) == len(partial) == 2
    assert corpus.vector("mp.objects.lookup.less-than-a-chunk").answer["keys"] == []


@every_release
def test_every_blob_is_read_by_the_class_that_wrote_it(release):
    corpus = load_corpus(release, protocol="mp")
    for vector in corpus.vectors["mp_encode_registration"]:
        read = corpus.vector(vector.id.replace(".encode.", ".decode.")).answer["fields"]
        assert read["wrapper"] == vector.args["wrapper"], vector.id
        assert (
            read["shape" if "shape" in read else "device_uuid"]
            == vector.args["fields"]["shape" if "shape" in read else "device_uuid"]
        )


def test_the_captures_stay_small():
    sizes = {
        release: sum(path.stat().st_size for path in load_corpus(release, protocol="mp").directory.glob("mp_*.jsonl"))
        for release in CAPTURED
    }
    assert max(sizes.values()) < 350_000, sizes
