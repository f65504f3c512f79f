"""Chunk keys of a release to come."""

import hashlib

from future_captures import REFUSED

from reports.drift.model import Aspect, Level, Levels

CLIENTS_BREAK = Levels.clients(Level.BREAKING)


def stepped(change):
    def outcome(vector):
        return {"ok": {**vector.ok, "steps": [change(step) for step in vector.ok["steps"]]}} if vector.ok else None

    return outcome


def rehashed(text):
    """A chunk key with another hash."""
    parts = text.split("@")
    parts[3] = hashlib.sha256(parts[3].encode()).hexdigest()[:16].lstrip("0")
    return "@".join(parts)


def other_keys(vector):
    if not vector.ok or not vector.ok["chunks"]:
        return None
    return {"ok": {"chunks": [{**chunk, "key": rehashed(chunk["key"])} for chunk in vector.ok["chunks"]]}}


def test_another_third_element_changes_every_chunk_key(future, the_change):
    drift = (
        future.rewritten("chain_inputs", stepped(lambda step: {**step, "third": "none"}))
        .rewritten("chunk_keys", other_keys)
        .drift()
    )
    change = the_change(drift)
    assert change.aspect is Aspect.CHUNK_CHAIN
    assert change.title == (
        "What is hashed for a chunk: (previous hash, tokens, empty tuple) -> (previous hash, tokens, None)"
    )  # fmt: skip
    assert change.levels == CLIENTS_BREAK
    assert "nothing stored by a client of 0.5.6 is found" in change.must
    assert "24 captured lists of tokens get other hashes." in change.detail


def test_a_third_element_that_the_probe_does_not_know_is_said_to_be_unknown(future, the_change):
    """The probe names None and the empty tuple; anything else is an error in the capture."""
    refused = {"error": {"type": "KeyError", "message": "('adapter',)"}}
    change = the_change(future.rewritten("chain_inputs", lambda _: refused).rewritten("chunk_keys", other_keys).drift())
    assert change.title.endswith("-> not seen")
    assert change.must == "Find out what 9.9.9 hashes: its capture does not show it (refused (KeyError))."
    assert change.levels == CLIENTS_BREAK


def test_other_hashes_from_the_same_chain_are_a_change(future, the_change):
    change = the_change(future.rewritten("chunk_keys", other_keys).drift())
    assert change.aspect is Aspect.CHUNKS
    assert change.levels == CLIENTS_BREAK
    assert change.evidence == 24


def test_digests_that_are_folded_otherwise_leave_builtin_keys_alone(future, the_change):
    def last_bytes(given):
        return {"int": str(int.from_bytes(bytes.fromhex(given["bytes"])[-8:], "big"))}

    def folded(vector):
        if vector.id != "lm.chain.bytes":
            return None
        given = [last_bytes(answer) for answer in vector.args["answers"]]
        steps = [vector.ok["steps"][0]]
        steps += [{**step, "prefix": before} for step, before in zip(vector.ok["steps"][1:], given, strict=False)]
        return {"ok": {"steps": steps, "hashes": given[: len(steps)]}}

    change = the_change(future.rewritten("chain_inputs", folded).drift())
    assert change.title == (
        "Digests (hashes that are bytes): the last 8 bytes as a big-endian integer go into the chain and into the key, "
        "not the first 8 bytes as a big-endian integer"
    )
    assert "keys made with integer hashes stay as they are" in change.must
    assert "The builtin hash gives the same chunk hashes as before for 24 captured lists of tokens." in change.detail


def test_tokens_that_are_cut_otherwise_are_a_change(future, the_change):
    def without_rest(vector):
        if not vector.ok or not vector.ok["chunks"]:
            return None
        last = vector.ok["chunks"][-1]
        full = last["end"] - last["start"] == vector.args["chunk_size"]
        return None if full else {"ok": {"chunks": vector.ok["chunks"][:-1]}}

    change = the_change(future.rewritten("chunk_keys", without_rest).drift())
    assert change.aspect is Aspect.CHUNKS
    assert change.title.startswith("Tokens are cut into other chunks")


def test_keys_that_are_masked_in_one_capture_are_not_compared(future):
    def masked(vector):
        return {"ok": {"chunks": [{**chunk, "key": {"masked": True}} for chunk in vector.ok["chunks"]]}} if vector.ok else None

    drift = future.rewritten("chunk_keys", masked).drift()
    assert drift.changes == ()


def test_a_question_that_is_refused_now_is_a_change(future):
    drift = future.rewritten("chunk_keys", lambda vector: REFUSED if vector.id == "lm.chunks.skip-16" else None).drift()
    assert drift.levels == CLIENTS_BREAK
