"""Headers of a release to come: fields inserted, moved, widened and dropped are told apart by the captured bytes alone."""

import hashlib
import struct

import pytest
from future_captures import REFUSED, encoded, hex_outcome

from fixturegen.vector import patterned
from reports.drift.model import Aspect, Level, Levels

ALL_BREAK = Levels.all(Level.BREAKING)


def inserted(offset, data):
    def change(vector):
        if vector.ok is None:
            return None
        frame = encoded(vector)
        return hex_outcome(frame[:offset] + data + frame[offset:])

    return change


def refuse_all(_):
    return REFUSED


def silence(_transcript, _index, got):
    """A server that waits for the rest of a longer header: no reply, but it still ends when the client does."""
    return {"bytes": "", "closed": got["closed"]}


def test_an_int32_in_the_middle_of_requests_is_one_change_that_breaks_everybody(future, the_change):
    """As a capture would show it before anybody here knows the new layout: decoders and servers get frames of the old one."""
    drift = (
        future.rewritten("encode_request", inserted(16, b"\x07\0\0\0"))
        .rewritten("decode_request", refuse_all)
        .retold(silence)
        .drift()
    )  # fmt: skip
    change = the_change(drift)
    assert change.aspect is Aspect.REQUEST_HEADER
    assert change.levels == ALL_BREAK
    assert change.title == "Request header: 186 -> 190 bytes; 4 bytes always 07 00 00 00 at offset 16"
    assert "location, shape0, shape1, shape2, shape3 and key move by +4 bytes" in " ".join(change.detail)
    assert "190 bytes" in change.must
    assert "07 00 00 00 at offset 16" in change.must


def test_conversations_in_the_old_layout_are_a_consequence_not_changes_of_answers(future):
    drift = (
        future.rewritten("encode_request", inserted(16, b"\x07\0\0\0"))
        .rewritten("decode_request", refuse_all)
        .retold(silence)
        .drift()
    )
    note = next(note for note in drift.notes if "go another way because of the changes above" in note)
    assert int(note.partition(" ")[0]) > 100


def test_what_decoders_of_a_new_layout_take_is_said_to_be_unknown(future):
    drift = future.rewritten("encode_request", inserted(16, bytes(4))).rewritten("decode_request", refuse_all).drift()
    asked = len([v for v in future.corpus.vectors["decode_request"] if len(v.args["bytes"]["hex"]) == 2 * 186])
    assert any(
        f"9.9.9 was given {asked} request headers in the layout of 0.5.6 and refused {asked}" in note for note in drift.notes
    )


def test_the_table_puts_offsets_fields_and_bytes_side_by_side(future, the_change):
    change = the_change(
        future.rewritten("encode_request", inserted(16, b"\x07\0\0\0")).rewritten("decode_request", refuse_all).drift()
    )
    assert change.table.headings == ("offset", "0.5.6", "bytes", "9.9.9", "bytes", "")
    rows = {row[0]: row for row in change.table.rows}
    assert rows["12"][1] == rows["12"][3] == "dtype"
    assert rows["16"][1] == "location"
    assert rows["16"][3:] == ("(unnamed)", "07 00 00 00", "*")
    assert rows["20"][1] == "shape0"
    assert rows["20"][3] == "location"
    assert rows["40"][3] == "key[150]"


def test_a_field_at_the_end_of_replies_spares_a_client_that_only_stores(future, the_change):
    def longer(_transcript, _index, got):
        if "bytes" not in got:
            header = struct.pack("<10i", 200, 1 << 20, 4, 6, 1 << 20, 0, 0, 0, 0, 1)
            digest = hashlib.sha256(header + patterned(3, 1 << 20)).hexdigest()
            return {"length": len(header) + (1 << 20), "sha256": digest, "closed": False}
        data, found = bytes.fromhex(got["bytes"]), b""
        while len(data) >= 36:
            (code, length) = struct.unpack_from("<ii", data)
            body = max(0, length) if code == 200 else 0
            found += data[:36] + b"\x01\0\0\0" + data[36 : 36 + body]
            data = data[36 + body :]
        return {**got, "bytes": (found + data).hex()}

    def decoded_longer(vector):
        return REFUSED if vector.ok else None

    drift = (
        future.rewritten("encode_reply", inserted(36, b"\x01\0\0\0"))
        .rewritten("decode_reply", decoded_longer)
        .retold(longer)
        .drift()
    )
    change = the_change(drift)
    assert change.aspect is Aspect.REPLY_HEADER
    assert change.levels == Levels(Level.NONE, Level.BREAKING, Level.BREAKING)
    assert change.title == "Reply header: 36 -> 40 bytes; 4 bytes always 01 00 00 00 at offset 36"


def test_fields_that_swap_places_are_named(future, the_change):
    def swapped(vector):
        if vector.ok is None:
            return None
        frame = encoded(vector)
        return hex_outcome(frame[:4] + frame[8:12] + frame[4:8] + frame[12:])

    drift = future.rewritten("encode_request", swapped).rewritten("decode_request", refuse_all).retold(silence).drift()
    change = the_change(drift)
    assert change.title.startswith("Request header: 186 bytes; ")
    assert "length moves by +4 bytes" in change.title + " ".join(change.detail)
    assert "format moves by -4 bytes" in change.title + " ".join(change.detail)


def test_a_length_of_64_bits_is_seen_by_negative_values(future, the_change):
    def wide(vector):
        if vector.ok is None:
            return None
        frame = encoded(vector)
        return hex_outcome(frame[:4] + struct.pack("<q", vector.args["length"]) + frame[8:])

    drift = future.rewritten("encode_request", wide).rewritten("decode_request", refuse_all).retold(silence).drift()
    headers = [change for change in drift.changes if change.aspect is Aspect.REQUEST_HEADER]
    assert [change.title for change in headers] == ["Request header: 186 -> 190 bytes; length takes 8 bytes instead of 4"]


def test_network_byte_order_is_seen(future, the_change):
    def turned(vector):
        if vector.ok is None:
            return None
        frame = encoded(vector)
        return hex_outcome(struct.pack(">9i", *struct.unpack("<9i", frame[:36])) + frame[36:])

    drift = future.rewritten("encode_request", turned).rewritten("decode_request", refuse_all).retold(silence).drift()
    assert the_change(drift).title == "Request header: 186 bytes; numbers are big-endian instead of little-endian"


@pytest.mark.parametrize(("padding", "size"), [(b"\0", 150), (b" ", 200)])
def test_another_padding_or_size_of_the_key_field_is_seen(future, the_change, padding, size):
    def padded(vector):
        if vector.ok is None:
            return None
        frame = encoded(vector)
        return hex_outcome(frame[:36] + frame[36:].rstrip(b" ").ljust(size, padding))

    drift = future.rewritten("encode_request", padded).rewritten("decode_request", refuse_all).retold(silence).drift()
    change = the_change(drift)
    assert change.aspect is Aspect.REQUEST_HEADER
    expected = "the key is padded with 0x00 instead of 0x20" if padding == b"\0" else "key takes 200 bytes instead of 150"
    assert expected in change.title


def test_an_exception_is_no_new_layout(future, the_change):
    """One encoder input out of a hundred that comes out otherwise."""
    odd = next(vector for vector in future.corpus.vectors["encode_request"] if vector.ok and vector.args["length"] > 100)

    def one_off(vector):
        if vector.id != odd.id:
            return None
        frame = encoded(vector)
        return hex_outcome(frame[:4] + struct.pack("<i", vector.args["length"] + 1) + frame[8:])

    change = the_change(future.rewritten("encode_request", one_off).drift())
    assert change.aspect is Aspect.UNEXPLAINED
    assert change.levels == ALL_BREAK
    assert change.examples[0].id == odd.id
    assert change.examples[0].before.data != change.examples[0].after.data


def test_a_longer_prefix_of_stored_values_breaks_clients_alone(future):
    def behind(vector):
        return hex_outcome(encoded(vector) + b"\x02\0\0\0") if vector.ok else None

    drift = future.rewritten("encode_metadata", behind).rewritten("decode_metadata", refuse_all).drift()
    assert drift.changes[0].aspect is Aspect.METADATA
    assert drift.levels == Levels.clients(Level.BREAKING)
