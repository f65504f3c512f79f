"""Key strings of a release to come: how they are written, and which are taken."""

import re

import pytest
from future_captures import REFUSED, encoded, heard, hex_outcome

from reports.drift.model import Aspect, Level, Levels


def retexted(change):
    """Every key of an outcome, written otherwise."""

    def outcome(vector):
        if vector.ok is None:
            return None
        if vector.op == "format_key":
            return {"ok": {"text": change(vector.ok["text"])}}
        if vector.op == "chunk_keys":
            return {"ok": {"chunks": [{**chunk, "key": change(chunk["key"])} for chunk in vector.ok["chunks"]]}}
        frame = encoded(vector)
        key = change(frame[36:].decode().rstrip(" ")).encode()
        return hex_outcome(frame[:36] + key.ljust(150)) if len(key) <= 150 else REFUSED

    return outcome


def refuse_answered(vector):
    return REFUSED if vector.ok else None


def dropped(transcript, index, got):
    """A server that takes no key of the old grammar: it ends the connection at the first header."""
    return {"bytes": "", "closed": True} if heard(transcript, index) else {**got}


def behind_the_dtype(text):
    """The key with one more part, always v2."""
    return re.sub(r"@(half|bfloat16|float|double|u?int\d+|bool|fp8_\w+)(?=@|$)", r"@\1@v2", text, count=1)


def written(future, change):
    for op in ("format_key", "chunk_keys", "encode_request"):
        future = future.rewritten(op, retexted(change))
    return future


def test_a_part_at_the_end_of_keys_is_one_change_that_breaks_everybody(future, titles):
    future = written(future, behind_the_dtype)
    for op in ("parse_key", "parse_key_as_server", "decode_request"):
        future = future.rewritten(op, refuse_answered)
    drift = future.retold(dropped).drift()
    change = drift.changes[0]
    assert change.title == "Key string: model@world@worker@hash@dtype -> model@world@worker@hash@dtype@'v2'"
    assert change.levels == Levels.all(Level.BREAKING)
    assert "model@world@worker@hash@dtype@'v2'" in change.must
    assert {other.aspect for other in drift.changes} == {Aspect.KEY_STRING, Aspect.KEY_READING}
    assert any("conversations with a server go another way because of the changes above" in note for note in drift.notes)


def test_keys_inside_headers_and_chunk_keys_are_no_changes_of_their_own(future, titles):
    drift = written(future, behind_the_dtype).drift()
    assert [change.aspect for change in drift.changes] == [Aspect.KEY_STRING]


def test_a_part_in_front_is_named_by_what_it_follows(future, the_change):
    """The tensor's engine comes back: a part that is always the same."""
    change = the_change(written(future, lambda text: f"vllm@{text}").drift())
    assert change.title == "Key string: model@world@worker@hash@dtype -> 'vllm'@model@world@worker@hash@dtype"
    assert change.detail == ("In the string: 'vllm' is new, in front.",)


def test_a_hash_of_fixed_width_is_another_way_to_write_it(future, titles):
    def wide(text):
        model, world, worker, digest, *rest = text.rsplit("@", text.count("@"))
        number = digest if len(digest) == 64 else f"{int(digest, 16) & (2**64 - 1):016x}"
        return "@".join([model, world, worker, number, *rest])

    def plain(vector):
        if vector.ok is None or "int" not in vector.args["key"]["chunk_hash"] or vector.args["key"]["model"] == "a@b":
            return None
        return {"ok": {"text": wide(vector.ok["text"])}}

    drift = future.rewritten("format_key", plain).drift()
    assert "The hash in a key is written in 16 hexadecimal digits, not in hexadecimal" in titles(drift)
    assert drift.worst is Level.BREAKING


def test_another_separator_is_one_change(future, titles):
    def slashed(vector):
        key = vector.args["key"]
        if vector.ok is None or key["model"] == "a@b":
            return None
        return {"ok": {"text": vector.ok["text"].replace("@", "|")}}

    drift = future.rewritten("format_key", slashed).drift()
    changes = [change for change in drift.changes if change.aspect is Aspect.KEY_STRING]
    assert [change.title for change in changes] == ["Key string: model@world@worker@hash@dtype -> model|world|worker|hash|dtype"]
    assert changes[0].levels == Levels.all(Level.BREAKING)


def test_a_dtype_with_another_name_breaks_its_keys_alone(future, titles):
    def renamed(text):
        return text.replace("@bfloat16", "@bf16")

    def plain(vector):
        return {"ok": {"text": renamed(vector.ok["text"])}} if vector.ok else None

    drift = future.rewritten("format_key", plain).drift()
    assert "Names of dtypes in keys: bfloat16 bfloat16 -> bf16" in titles(drift)


def test_digests_that_are_no_longer_written_break_clients(future, the_change):
    def refused(vector):
        return REFUSED if "bytes" in vector.args["key"]["chunk_hash"] else None

    change = the_change(future.rewritten("format_key", refused).drift())
    assert change.title == "Keys whose hash is bytes can no longer be written (in hexadecimal until 0.5.6)"
    assert change.levels == Levels.clients(Level.BREAKING)


@pytest.mark.parametrize(
    ("spelling", "level"),
    [("plain", Level.BREAKING), ("hash-upper", Level.BEHAVIOURAL), ("dtype-half", Level.BREAKING), ("tag", Level.BREAKING)],
)
def test_a_spelling_that_is_refused_breaks_only_if_lmcache_writes_it(future, the_change, spelling, level):
    def refused(vector):
        return REFUSED if vector.id == f"lm.key.server.{spelling}" else None

    change = the_change(future.rewritten("parse_key_as_server", refused).drift())
    assert change.aspect is Aspect.KEY_READING
    assert change.levels.server is level
    assert change.levels.stores is (Level.BREAKING if level is Level.BREAKING else Level.NONE)


def test_a_spelling_that_is_taken_as_well_is_additive(future, the_change):
    good = next(vector for vector in future.corpus.vectors["parse_key_as_server"] if vector.id.endswith(".plain"))

    def taken(vector):
        return {"ok": good.ok} if vector.id == "lm.key.server.dtype-upper" else None

    change = the_change(future.rewritten("parse_key_as_server", taken).drift())
    assert change.title == "Reading keys: 1 more is taken (dtype)"
    assert change.levels == Levels.all(Level.ADDITIVE)
    assert change.table.rows == (("HALF", "refused", "float16", "server"),)


def test_all_spellings_of_one_part_are_one_change(future, the_change):
    def strict(vector):
        return REFUSED if vector.ok and ".world-" in vector.id else None

    change = the_change(future.rewritten("parse_key_as_server", strict).rewritten("parse_key", strict).drift())
    assert change.title == "Reading keys: 5 are refused (world)"
    assert {row[0] for row in change.table.rows} == {"+1", "01", "1_0", "' 1 '", "-1"}
    assert {row[3] for row in change.table.rows} == {"server and key class"}


def test_a_conversation_about_a_spelling_that_is_refused_now_is_a_consequence(future, the_change):
    """The refusals follow no rule that is known here; the conversation holds the same spelling in another key."""

    def strict(vector):
        return REFUSED if vector.id in {"lm.key.server.world-plus", "lm.key.parse.world-plus"} else None

    def ended(transcript, index, _got):
        return {"bytes": "", "closed": True} if transcript.id == "lm.server.spelling-world-plus" and index > 4 else None

    drift = future.rewritten("parse_key_as_server", strict).rewritten("parse_key", strict).retold(ended).drift()
    assert the_change(drift).title == "Reading keys: 1 is refused (world)"
    assert any("1 conversation with a server goes another way" in note for note in drift.notes)


def test_a_spelling_that_names_another_key_is_read_otherwise(future, the_change):
    def otherwise(vector):
        if vector.id != "lm.key.server.hash-underscore":
            return None
        return {"ok": {"key": {**vector.ok["key"], "chunk_hash": {"int": "7"}}}}

    change = the_change(future.rewritten("parse_key_as_server", otherwise).drift())
    assert change.table.rows == (("1a2b_3c4d", "integer 439041101", "integer 7", "server"),)
    assert change.levels == Levels(Level.NONE, Level.NONE, Level.BEHAVIOURAL)
