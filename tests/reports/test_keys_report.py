"""The report about keys as a person reads it, and as a program does."""

import json

import pytest

from reports.keys import Cause, Comparison, Explanation, KeyRow, KeysReport, NamedChunk, PartRow, keys_lines, keys_tree
from wire.portability import FINDINGS
from wire.reach import Reach

SEED = Cause("seed", "The seed is '42' there.", "Set the same seed.", "42")
SIZE = Cause("chunk-size", "Chunks have 8 tokens there.", "Set chunk_size alike.", "8")


def report(**changes):
    given = {
        "deployment": {"lmcache": "0.5.6", "seed": None, "chunk_size": 4},
        "settings": (("lmcache", "0.5.6"), ("vLLM", "0.11.0")),
        "assumptions": (),
        "function": "sha256_cbor",
        "function_note": "as set",
        "none_hash": b"\xab" * 32,
        "none_hash_note": "sha256_cbor of the text '0'",
        "tokens": 9,
        "rows": (KeyRow(0, 4, -5, "m@1@0@-5@half"), KeyRow(4, 8, 11, "m@1@0@b@half")),
        "no_keys": None,
        "findings": (FINDINGS["seed-is-text"],),
        "reach": (
            Reach("processes", True, "every process with these settings", ()),
            Reach("releases", False, "lmcache 0.4.6 to 0.5.6", ("digest-folded",)),
        ),
    }
    return KeysReport(**{**given, **changes})


def comparison(*explanations, **changes):
    given = {
        "expected": ("m@1@0@c@half",),
        "explanations": explanations,
        "parts": (PartRow("model", "m", "m", "same"),),
        "covers": 1 if explanations else 0,
        "identity": (),
        "tried": (1, 70, 1900, 1500),
        "chains": 2000,
        "limits": ("sets of 3 were made of the likeliest causes only",),
        "ruled_out": () if explanations else ("seed: '1', '42'",),
        "check_next": () if explanations else ("the token ids themselves",),
    }
    return Comparison(**{**given, **changes})


def text(found, width=100):
    return "\n".join(line.plain for line in keys_lines(found, width))


def test_keys_stand_in_a_table_with_their_tokens_and_hashes():
    assert "  tokens  hash  key\n  0 to 4    -5  m@1@0@-5@half\n  4 to 8    11  m@1@0@b@half" in text(report())


def test_function_and_starting_hash_come_with_their_reasons():
    assert "hash function   sha256_cbor  as set" in text(report())
    assert "ab" * 32 + "\n                sha256_cbor of the text '0'" in text(report())


def test_how_far_hashes_carry_is_answered_line_by_line():
    said = text(report())
    assert "  yes  other processes with the same settings: every process with these settings\n" in said
    assert "  no   other releases of lmcache: only lmcache 0.4.6 to 0.5.6  (digest-folded)" in said


def test_findings_come_with_what_to_do():
    said = " ".join(text(report()).split())
    for words in (FINDINGS["seed-is-text"].title, FINDINGS["seed-is-text"].explanation, FINDINGS["seed-is-text"].action):
        assert words in said


@pytest.mark.parametrize("width", [40, 60, 80, 100, 200])
def test_only_keys_and_hashes_are_longer_than_the_terminal_is_wide(width):
    key = "m" * 200
    found = report(rows=(KeyRow(0, 4, 5, key),), comparison=comparison(Explanation((SEED, SIZE))))
    for line in keys_lines(found, width):
        assert (
            line.cell_len <= max(60, min(width, 120)) or key in line.plain or "ab" * 32 in line.plain or "expected" in line.plain
        )


def test_no_keys_come_with_the_reason():
    said = text(report(rows=(), no_keys="NONE_HASH is random.", none_hash=None))
    assert "No keys for 9 tokens\n  NONE_HASH is random." in said
    assert "NONE_HASH       random" in said


def test_what_holds_nowhere_is_said_once():
    nowhere = [Reach(axis, False, "nowhere but in one process", ("seed-unset-random",)) for axis in ("processes", "vllms")]
    assert text(report(reach=tuple(nowhere))).count("nowhere but in one process  (seed-unset-random)") == 1


def test_a_match_says_which_chunk():
    said = text(report(comparison=comparison(Explanation((), chunks=(NamedChunk(1, 4, 8),)))))
    assert "MATCH     The expected key is a key of this deployment.\n          It is of chunk 1 (tokens 4 to 8)." in said


def test_causes_come_with_what_to_do_and_their_ids():
    said = text(report(comparison=comparison(Explanation((SEED, SIZE), chunks=(NamedChunk(0, 0, 4),)))))
    assert "          because     The seed is '42' there.  [seed]\n          do          Set the same seed." in said
    assert "          and         Chunks have 8 tokens there.  [chunk-size]" in said


def test_explanations_that_cannot_be_told_apart_are_numbered():
    said = text(report(comparison=comparison(Explanation((SEED,)), Explanation((SIZE,)))))
    assert "2 explanations that the expected keys cannot tell apart:" in said
    assert "          1  because  The seed is '42' there." in said
    assert "          2  because  Chunks have 8 tokens there." in said


def test_causes_that_give_the_same_keys_stand_behind():
    said = text(report(comparison=comparison(Explanation((SEED,), also=((SIZE,),)))))
    assert "          or          Chunks have 8 tokens there.  [chunk-size]" in said


def test_without_an_explanation_it_says_what_was_tried_ruled_out_and_comes_next():
    said = text(report(comparison=comparison()))
    assert "No known cause explains the hash." in said
    assert "tried       1 as it is, 70 with one cause, 1,900 with two, 1,500 with three; 2,000 chains" in said
    assert "ruled out   seed: '1', '42'" in said
    assert "check next  the token ids themselves" in said


def test_parts_stand_side_by_side_if_one_differs():
    parts = (PartRow("model", "m", "m", "same"), PartRow("worker id", "0", "3", "differs"))
    said = text(report(comparison=comparison(Explanation((SEED,)), parts=parts)))
    assert "          worker id  0     3         differs" in said
    assert "worker id" not in text(report(comparison=comparison(Explanation((SEED,)))))


def test_most_keys_are_left_out_where_the_question_is_about_another():
    rows = tuple(KeyRow(at, at + 1, at, f"key-{at}") for at in range(50))
    said = text(report(rows=rows, comparison=comparison(Explanation((SEED,)))))
    assert "and 44 more" in said
    assert "key-49" not in said
    assert "key-49" in text(report(rows=rows))


def test_what_came_from_outside_is_escaped():
    cause = Cause("model", "The model is '\x1b[2J' there.", "Look.", "\x1b[2J")
    found = comparison(
        Explanation((cause,)), expected=("\x1b[2J@1@0@c@half",), parts=(PartRow("model", "m", "\x1b[2J", "differs"),)
    )
    assert "\x1b" not in text(report(comparison=found, settings=(("vLLM", "\x1b[2J"),), rows=(KeyRow(0, 1, 2, "\x1b[2J"),)))


def test_the_tree_is_json_and_holds_every_part():
    found = keys_tree(report(comparison=comparison(Explanation((SEED,), also=((SIZE,),), chunks=(NamedChunk(0, 0, 4),)))))
    assert json.loads(json.dumps(found)) == found
    assert found["deployment"] == {"lmcache": "0.5.6", "seed": None, "chunk_size": 4}
    assert found["chunks"][0] == {"start": 0, "end": 4, "hash": {"int": "-5"}, "key": "m@1@0@-5@half"}
    assert found["none_hash"] == {"bytes": "ab" * 32}
    assert found["comparison"]["matches"] is False
    assert found["comparison"]["explanations"][0]["causes"][0]["id"] == "seed"
    assert found["comparison"]["explanations"][0]["also"][0][0]["value"] == "8"
    assert found["findings"][0]["id"] == "seed-is-text"
