"""Nothing that changed vanishes; what touches no wire is no change."""

import copy
import random
from dataclasses import replace

import pytest
from future_captures import BASE, REFUSED, Future, captured

from fixturegen.vector import MASKED, Step
from reports.drift.model import Level

OPERATIONS = sorted(captured().vectors)


def spoiled(value, dice):
    """The value with one leaf changed; None if it has none."""
    leaves = []

    def walk(found, path):
        if found == MASKED:
            return
        if isinstance(found, dict | list):
            for key in found if isinstance(found, dict) else range(len(found)):
                walk(found[key], [*path, key])
        else:
            leaves.append((path, found))

    walk(value, [])
    if not leaves:
        return None
    made = copy.deepcopy(value)
    path, leaf = dice.choice(leaves)
    holder = made
    for key in path[:-1]:
        holder = holder[key]
    if isinstance(leaf, bool):
        holder[path[-1]] = not leaf
    elif isinstance(leaf, int):
        holder[path[-1]] = leaf + 1
    elif path[-1] == "hex":
        data = bytearray.fromhex(leaf)
        data[dice.randrange(len(data))] ^= 1
        holder[path[-1]] = data.hex()
    elif path[-1] == "int":
        holder[path[-1]] = str(int(leaf) + 1)
    else:
        holder[path[-1]] = "float16" if leaf is None else f"{leaf}x"
    return made


def outcomes(vector, others, dice):
    """Outcomes that the vector does not have: one leaf changed, and answered for refused or the other way round."""
    if vector.ok is None:
        yield from ({"ok": other.ok} for other in others[:1])
        return
    made = spoiled(vector.ok, dice)
    if made is not None:
        yield {"ok": made}
    yield REFUSED


@pytest.mark.parametrize("op", OPERATIONS)
def test_one_changed_outcome_is_reported(op):
    corpus = captured()
    vectors = list(corpus.vectors[op])
    answered = [vector for vector in vectors if vector.ok is not None]
    dice = random.Random(op)
    for vector in dice.sample(vectors, min(2, len(vectors))):
        for outcome in outcomes(vector, answered, dice):
            drift = Future(corpus).rewritten(op, lambda found, v=vector, o=outcome: o if found.id == v.id else None).drift()
            assert drift.worst > Level.NONE, (vector.id, outcome)
            assert len(drift.changes) <= 2


def test_one_changed_answer_is_reported():
    corpus = captured()
    dice = random.Random(BASE)
    for transcript in dice.sample(list(corpus.transcripts), 12):
        answers = [index for index, step in enumerate(transcript.steps) if step.do == "receive"]
        if not answers:
            continue
        chosen = dice.choice(answers)

        def other(found, index, got, at=(transcript.id, chosen)):
            return {**got, "closed": not got["closed"]} if (found.id, index) == at else None

        drift = Future(corpus).retold(other).drift()
        assert drift.worst > Level.NONE, transcript.id
        assert len(drift.changes) == 1


def test_equal_captures_have_no_drift(future):
    drift = future.drift()
    assert drift.changes == ()
    assert drift.notes == ()
    assert drift.compared == sum(map(len, future.corpus.vectors.values())) + len(future.corpus.transcripts)


def test_a_refusal_in_other_words_is_a_note(future):
    other = {"error": {"type": "LookupError", "message": "in other words"}}
    refused = [vector for vector in future.corpus.vectors["decode_reply"] if vector.ok is None]
    drift = future.rewritten("decode_reply", lambda vector: other if vector.ok is None else None).drift()
    assert drift.changes == ()
    assert drift.notes[0].startswith(f"{len(refused)} refusals in other words, which nobody sees on the wire: ")


def test_a_header_of_negative_length_that_is_refused_is_unexplained_with_its_bytes(future, the_change):
    """No rule here speaks of lengths, so the catch-all does."""

    def refused(vector):
        return REFUSED if vector.ok and vector.ok["length"] < 0 else None

    change = the_change(future.rewritten("decode_reply", refused).drift())
    assert change.title.endswith("outcomes of decode_reply differ, and captures do not show why")
    assert change.levels.worst is Level.BREAKING
    assert '"length": -1' in change.examples[0].before.text


def test_frames_that_follow_no_rule_at_all_are_unexplained(future):
    def noise(vector):
        data = bytes.fromhex(vector.ok["bytes"]["hex"]) if vector.ok else b""
        return {"ok": {"bytes": {"hex": random.Random(data).randbytes(60).hex()}}} if vector.ok else None

    drift = future.rewritten("encode_request", noise).drift()
    assert drift.worst is Level.BREAKING
    assert "No layout of a request header could be inferred from the captured bytes of 9.9.9." in drift.notes
    answered = sum(vector.ok is not None for vector in future.corpus.vectors["encode_request"])
    assert any(change.title.startswith(f"{answered} outcomes of encode_request differ") for change in drift.changes)


def test_questions_of_one_capture_alone_are_counted(future):
    fewer = [vector for vector in future.corpus.vectors["format_key"] if "dtype" not in vector.id]
    left = len(future.corpus.vectors["format_key"]) - len(fewer)
    drift = future.with_vectors("format_key", fewer).drift()
    assert drift.only_old == left
    assert any(note.startswith(f"Only 0.5.6 was asked: {left} format_key.") for note in drift.notes)


def test_conversations_of_one_capture_alone_are_counted():
    corpus = captured()
    drift = Future(replace(corpus, transcripts=corpus.transcripts[:-2])).drift()
    assert "Only 0.5.6 was asked: 2 conversations." in drift.notes


@pytest.mark.parametrize("op", [op for op in OPERATIONS if op not in {"pack_layout", "unpack_layout"}])
def test_an_operation_that_vanished_without_a_word_is_a_change(op):
    drift = Future(captured()).with_vectors(op, []).drift()
    (change,) = (change for change in drift.changes if change.title.startswith(f"{op} could not be asked of 9.9.9"))
    assert change.title.endswith("its capture does not say why")
    assert change.levels.worst > Level.NONE


def test_a_capture_without_any_conversation_is_breaking(the_change):
    change = the_change(Future(replace(captured(), transcripts=[])).drift())
    assert change.title == "No conversation with a server of 9.9.9 was captured"
    assert change.levels.worst is Level.BREAKING


def test_another_way_to_send_is_no_answer(future):
    def pieces(step):
        return Step(step.do, step.connection, {**step.values, "pieces": 50}) if step.do == "send" else step

    transcripts = [replace(t, steps=[pieces(step) for step in t.steps]) for t in future.corpus.transcripts]
    assert Future(replace(future.corpus, transcripts=transcripts)).drift().changes == ()
