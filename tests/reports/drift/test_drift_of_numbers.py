"""Numbers that stand for names, in a release to come."""

import struct

from future_captures import REFUSED, encoded, heard, hex_outcome

from reports.drift.model import Aspect, Level, Levels

DTYPE = 12
COMMAND = 0


def patched(offset, numbers):
    """Frames with other numbers in the field at an offset."""

    def change(vector):
        if vector.ok is None:
            return None
        frame = encoded(vector)
        (number,) = struct.unpack_from("<i", frame, offset)
        return hex_outcome(frame[:offset] + struct.pack("<i", numbers.get(number, number)) + frame[offset + 4 :])

    return change


def refusing(offset, number):
    """Decoders that refuse a number in the field at an offset."""

    def change(vector):
        data = bytes.fromhex(vector.args["bytes"]["hex"])
        return REFUSED if vector.ok and struct.unpack_from("<i", data, offset)[0] == number else None

    return change


def test_a_command_with_another_number_breaks_whoever_sends_it(future, the_change):
    def closed(transcript, index, _got):
        commands = [struct.unpack_from("<i", header)[0] for header in heard(transcript, index)]
        return {"bytes": "", "closed": True} if 3 in commands else None

    drift = (
        future.rewritten("encode_request", patched(COMMAND, {3: 7}))
        .rewritten("decode_request", refusing(COMMAND, 3))
        .retold(closed)
        .drift()
    )  # fmt: skip
    change = the_change(drift)
    assert change.aspect is Aspect.NUMBERS
    assert change.title == "Commands with another number: EXIST 3 -> 7"
    assert change.levels == Levels(Level.NONE, Level.BREAKING, Level.BREAKING)
    assert change.must == "Write and read EXIST 3 -> 7 in the field command of requests."


def test_the_command_of_a_client_that_stores_breaks_it(future):
    drift = future.rewritten("encode_request", patched(COMMAND, {1: 9})).rewritten("decode_request", refusing(COMMAND, 1)).drift()
    change = next(change for change in drift.changes if change.aspect is Aspect.NUMBERS)
    assert change.levels.stores is Level.BREAKING
    assert change.levels.loads is Level.NONE


def test_numbers_that_are_exchanged_are_one_change(future, titles):
    """float16 and bfloat16 change places everywhere."""
    swap = patched(DTYPE, {2: 3, 3: 2})
    names = {"float16": "bfloat16", "bfloat16": "float16"}

    def read(vector):
        return {"ok": {**vector.ok, "dtype": names.get(vector.ok["dtype"], vector.ok["dtype"])}} if vector.ok else None

    drift = (
        future.rewritten("encode_request", swap).rewritten("encode_reply", swap)
        .rewritten("decode_request", read).rewritten("decode_reply", read).drift()
    )  # fmt: skip
    assert "Dtypes with another number: float16 2 -> 3 and bfloat16 3 -> 2" in titles(drift)
    assert [change.aspect for change in drift.changes if change.aspect is Aspect.UNEXPLAINED] == []


def test_a_new_format_that_only_decoders_were_asked_about_is_additive(future, the_change):
    def like(vector):
        if not vector.id.endswith("format-above-highest"):
            return None
        good = next(v for v in future.corpus.vectors[vector.op] if v.id.endswith(".dtype-half"))
        return {"ok": {**good.ok, "format": "XX_TD"}}

    change = the_change(future.rewritten("decode_request", like).rewritten("decode_reply", like).drift())
    assert change.title == "Decoders take more numbers for format: 9 (read as XX_TD)"
    assert change.levels == Levels.all(Level.ADDITIVE)
    assert change.examples[0].before.text.startswith("lmcache raises")


def test_a_format_that_encoders_no_longer_write_breaks(future, titles):
    def gone(vector):
        return REFUSED if vector.ok and vector.args["format"] == "HS_TD" else None

    drift = future.rewritten("encode_request", gone).rewritten("encode_reply", gone).rewritten("encode_metadata", gone).drift()
    assert titles(drift) == ["Formats that can no longer be written: HS_TD (8)"]
    assert drift.worst is Level.BREAKING


def test_a_number_that_only_others_write_is_behavioural_when_it_is_refused(future, the_change):
    """dtype 1 is read as float16 and written by no encoder of lmcache."""
    refuse = refusing(DTYPE, 1)
    change = the_change(future.rewritten("decode_request", refuse).rewritten("decode_reply", refuse).drift())
    assert change.title == "Decoders refuse numbers for dtype that they took: 1 (float16)"
    assert change.levels == Levels.all(Level.BEHAVIOURAL)


def test_a_number_that_encoders_write_breaks_when_decoders_refuse_it(future, the_change):
    refuse = refusing(DTYPE, 6)
    change = the_change(future.rewritten("decode_request", refuse).rewritten("decode_reply", refuse).drift())
    assert change.title == "Decoders refuse numbers for dtype that they took: 6 (uint8)"
    assert change.levels == Levels.all(Level.BREAKING)


def test_another_name_for_a_number_is_nothing_on_the_wire(future, the_change):
    """As after a rename upstream: the old name is unknown, decoders give the new one."""

    def unknown(vector):
        return REFUSED if vector.ok and vector.args["format"] == "KV_2TD" else None

    def renamed(vector):
        return {"ok": {**vector.ok, "format": "KV_TWO"}} if vector.ok and vector.ok["format"] == "KV_2TD" else None

    future = future.rewritten("decode_request", renamed).rewritten("decode_reply", renamed).rewritten("decode_metadata", renamed)
    for op in ("encode_request", "encode_reply", "encode_metadata"):
        future = future.rewritten(op, unknown)
    drift = future.drift()
    change = next(change for change in drift.changes if "another name" in change.title)
    assert change.title == "Formats with another name and the same number: KV_2TD -> KV_TWO (3)"
    assert change.levels == Levels()


def test_a_return_code_with_another_number_is_one_change_however_many_answers_carry_it(future, titles):
    def answered(_transcript, _index, got):
        if "bytes" not in got:
            return None
        return {**got, "bytes": got["bytes"].replace((400).to_bytes(4, "little").hex(), (404).to_bytes(4, "little").hex())}

    def read(vector):
        data = bytes.fromhex(vector.args["bytes"]["hex"])
        return REFUSED if vector.ok and data[:4] == struct.pack("<i", 400) else None

    drift = future.rewritten("encode_reply", patched(0, {400: 404})).rewritten("decode_reply", read).retold(answered).drift()
    assert titles(drift) == ["Codes with another number: FAIL 400 -> 404"]
    assert drift.levels == Levels(Level.NONE, Level.BREAKING, Level.BREAKING)
