"""Requests and replies as frames, and operations by number."""

import pytest

from wire.errors import WireError
from wire.mp.frames import FrameRefused, decode_reply, decode_request, encode_reply, encode_request
from wire.mp.operations import FIRST_RELEASE, UnknownOperationError, operation_table
from wire.mp.values import ValueRefused
from wire.release import KNOWN_RELEASES, Release

OLD, MIDDLE, NEWEST = (operation_table(Release.parse(text)) for text in ("0.3.12", "0.4.7", "0.5.6"))
RELEASES = [release for release in map(Release.parse, KNOWN_RELEASES) if release >= FIRST_RELEASE]


def test_the_number_of_get_chunk_size_in_0_4_7_clears_the_cache_of_0_5_1() -> None:
    frames = encode_request(MIDDLE, "GET_CHUNK_SIZE", [])
    assert frames == [b"\x11"]
    assert decode_request(operation_table(Release.parse("0.5.1")), frames).operation.name == "CLEAR"


def test_new_operations_of_0_5_6_are_named_by_text_and_old_ones_may_be() -> None:
    assert NEWEST.named("CB_REORDER_PLAN").number == "cb_reorder_plan"
    assert NEWEST.numbered("noop") == NEWEST.numbered(24)
    with pytest.raises(UnknownOperationError):
        operation_table(Release.parse("0.5.5")).numbered("noop")


@pytest.mark.parametrize("number", [0, 11, 99, -1, True, 24.0, None, "NOOP", b"noop"])
def test_what_is_no_operation_is_refused(number: object) -> None:
    with pytest.raises(UnknownOperationError, match="has no operation"):
        NEWEST.numbered(number)


def test_too_many_payloads_are_refused_and_named() -> None:
    with pytest.raises(FrameRefused, match=r"GET_CHUNK_SIZE takes 0 payloads \(none\), there are 1"):
        decode_request(MIDDLE, [b"\x11", b"\x01"])


def test_a_request_without_operation_is_refused() -> None:
    with pytest.raises(FrameRefused, match="no frame behind its uid"):
        decode_request(MIDDLE, [])


def test_a_reply_without_result_has_one_frame_behind_the_uid() -> None:
    assert encode_reply(MIDDLE, "CLEAR", None) == [b"\x10"]
    assert encode_reply(MIDDLE, "QUERY_PREFETCH_STATUS", None) == [b"\x06"]
    assert decode_reply(MIDDLE, "QUERY_PREFETCH_STATUS", [b"\x06"]) is None


@pytest.mark.parametrize(
    ("frames", "words"),
    [
        ([], "no frame behind its uid"),
        ([b"\x10", b"\x10"], "names operation 16, sent was 17"),
        ([b"\x11", b"\xa1x"], "cannot be converted to int"),
    ],
)
def test_replies_that_do_not_belong_to_the_request_are_refused(frames: list[bytes], words: str) -> None:
    with pytest.raises(WireError, match=words):
        decode_reply(MIDDLE, "GET_CHUNK_SIZE", frames)


def test_frames_behind_the_result_are_ignored_as_lmcache_ignores_them() -> None:
    assert decode_reply(MIDDLE, "GET_CHUNK_SIZE", [b"\x11", b"\x10", b"\x99"]) == 16


def test_integers_and_booleans_are_converted_from_0_4_7_on_and_strict_before() -> None:
    assert decode_reply(MIDDLE, "GET_CHUNK_SIZE", [b"\x11", b"\xc3"]) == 1
    with pytest.raises(ValueRefused):
        decode_reply(operation_table(Release.parse("0.4.6")), "GET_CHUNK_SIZE", [b"\x10", b"\xc3"])


@pytest.mark.parametrize("release", RELEASES, ids=str)
def test_every_operation_is_found_by_the_number_that_it_is_sent_with(release: Release) -> None:
    table = operation_table(release)
    assert [table.numbered(operation.number) for operation in table.operations] == list(table.operations)
    assert len({operation.number for operation in table.operations}) == len(table.operations)


def test_a_release_without_the_protocol_has_no_table() -> None:
    with pytest.raises(WireError, match=r"nothing is known for lmcache 0\.3\.9"):
        operation_table(Release.parse("0.3.9"))
