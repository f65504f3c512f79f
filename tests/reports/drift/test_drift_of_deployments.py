"""Chunk keys as deployments make them, in a release to come."""

from dataclasses import replace

import pytest
from future_captures import REFUSED, Future, captured

from fixturegen.vector import Vector
from reports.drift.compare import compare
from reports.drift.model import Aspect, Level, Levels
from reports.drift.observe.observed import observe

CLIENTS_BREAK = Levels.clients(Level.BREAKING)
DIGEST = "b404f9ce83c313f1cf54900b099688ccaf0c799ef06e9731b3a9e000c4479cc3"
FOLDED = DIGEST[:16]
INT = "704ca30d295ffa19"
START = {"int": "17921330210090130494"}


def key(digest, world="1", worker="0"):
    return f"meta-llama/Llama-3.1-8B@{world}@{worker}@{digest}@bfloat16"


def deployment(vllm, algorithm, ok, **changes):
    name = changes.pop("name", "three")
    args = {
        "tokens": list(range(16)), "chunk_size": 16, "save_unfull_chunk": False, "skip": 0, "layers": 0, "mla": False,
        "save_only_first_rank": None, "model": "meta-llama/Llama-3.1-8B", "world_size": 1, "worker_id": 0, "dtype": "bfloat16",
        "fmt": None, "tags": [], "vllm": vllm, "kv_cache_utils": vllm is not None, "seed": "0", "algorithm": algorithm, **changes,
    }  # fmt: skip
    beside = "no-vllm" if vllm is None else f"vllm-{vllm}"
    return Vector(
        f"lm.deployments.{beside}.{algorithm}.{name}", "deployment_keys", args, {"ok": ok} if "error" not in ok else ok, "lmcache"
    )


def answer(function, returns, start, made):
    return {
        "function": function,
        "returns": returns,
        "none_hash": start,
        "start": start,
        "chunks": [{"start": 0, "end": 16, "key": made, "layers": []}],
    }


BUILTIN = deployment(None, "builtin", answer("builtin", "int", {"int": "0"}, key("11aa")))
INTEGERS = deployment("0.10.1", "sha256_cbor", answer("vllm.utils.sha256_cbor", "int", START, key(INT)))
BYTES = deployment("0.28.0", "sha256_cbor", answer("vllm.utils.hashing.sha256_cbor", "bytes", {"bytes": "4e" * 32}, key(DIGEST)))
MLA = deployment(
    "0.10.1",
    "sha256_cbor",
    answer("vllm.utils.sha256_cbor", "int", START, key(INT, "1", "3")),
    name="mla",
    mla=True,
    world_size=8,
)
DEPLOYMENTS = [BUILTIN, INTEGERS, BYTES, MLA]


def drift(after, old="0.5.6", new="0.5.6", before=DEPLOYMENTS):
    one = Future(captured(old)).with_vectors("deployment_keys", list(before)).corpus
    other = Future(captured(new)).with_vectors("deployment_keys", after).corpus
    manifest = replace(other.manifest, release="9.9.9")
    return compare(observe(one), observe(replace(other, manifest=manifest)))


def changed(vector, **members):
    return [replace(found, outcome={"ok": {**found.ok, **members}}) if found is vector else found for found in DEPLOYMENTS]


def test_the_same_keys_are_no_drift():
    assert drift(DEPLOYMENTS).changes == ()


def test_another_function_is_one_change_with_all_surroundings(the_change):
    lost = {"function": "builtin", "returns": "int"}
    after = [replace(v, outcome={"ok": {**v.ok, **lost}}) if v in (INTEGERS, BYTES) else v for v in DEPLOYMENTS]
    change = the_change(drift(after))
    assert change.aspect is Aspect.CHUNKS
    assert change.title == "2 of 4 captured deployments hash with another function"
    assert change.levels == CLIENTS_BREAK
    assert change.table.rows == (
        ("sha256_cbor", "vLLM 0.10.1", "0", "vllm.utils.sha256_cbor (int)", "builtin (int)"),
        ("sha256_cbor", "vLLM 0.28.0", "0", "vllm.utils.hashing.sha256_cbor (bytes)", "builtin (int)"),
    )


def test_a_deployment_that_gets_no_keys_breaks_clients(the_change):
    after = [replace(v, outcome=REFUSED) if v is BYTES else v for v in DEPLOYMENTS]
    change = the_change(drift(after))
    assert change.title == "1 of 4 captured deployments get no keys any more"
    assert change.levels == CLIENTS_BREAK


def test_a_deployment_that_gets_keys_now_is_additive(the_change):
    before = [replace(v, outcome=REFUSED) if v is BYTES else v for v in DEPLOYMENTS]
    change = the_change(drift(DEPLOYMENTS, before=before))
    assert "keys that 0.5.6 could not make: sha256_cbor beside vLLM 0.28.0, seed 0" in change.title
    assert change.levels == Levels.clients(Level.ADDITIVE)


def test_another_world_beside_mla_is_named_with_both_values(the_change):
    chunks = [{**MLA.ok["chunks"][0], "key": key(INT, "8", "3")}]
    change = the_change(drift(changed(MLA, chunks=chunks)))
    assert change.title == (
        "With multi-head latent attention (MLA) keys carry world size 8, not 1: sha256_cbor beside vLLM 0.10.1, seed 0, MLA"
    )
    assert change.levels == CLIENTS_BREAK


def test_another_starting_hash_is_a_change(the_change):
    change = the_change(drift(changed(INTEGERS, none_hash={"int": "5"}, start={"int": "5"})))
    assert "start from another hash: sha256_cbor beside vLLM 0.10.1, seed 0" in change.title
    assert change.levels == CLIENTS_BREAK


def test_other_hashes_from_the_same_function_are_a_change(the_change):
    chunks = [{**INTEGERS.ok["chunks"][0], "key": key("7")}]
    change = the_change(drift(changed(INTEGERS, chunks=chunks)))
    assert "other chunk hashes from the same function and start" in change.title


def test_layers_that_are_cut_otherwise_are_a_change(the_change):
    chunks = [{**INTEGERS.ok["chunks"][0], "layers": [key(INT) + "@0"]}]
    assert "other chunks or layers" in the_change(drift(changed(INTEGERS, chunks=chunks))).title


def test_keys_that_are_masked_on_one_side_are_not_compared():
    masked = {"masked": True}
    chunks = [{**INTEGERS.ok["chunks"][0], "key": masked}]
    assert drift(changed(INTEGERS, none_hash=masked, start=masked, chunks=chunks)).changes == ()


def test_keys_of_digests_that_are_folded_are_a_consequence_and_an_example_of_the_chain():
    """0.4.5 writes whole digests and 0.4.6 folded ones; both captures show that by the inputs of their chains."""
    folded = {"int": str(int("4e" * 8, 16))}
    chunks = [{**BYTES.ok["chunks"][0], "key": key(FOLDED)}]
    found = drift(changed(BYTES, start=folded, chunks=chunks), old="0.4.5", new="0.4.6")
    (change,) = found.changes
    assert change.aspect is Aspect.CHUNK_CHAIN
    assert change.examples[-1].id == BYTES.id
    assert key(DIGEST) in change.examples[-1].before.text
    assert key(FOLDED) in change.examples[-1].after.text
    assert any(
        note.startswith("1 deployment (vLLM, algorithm and seed) gets other keys because of the changes above")
        for note in found.notes
    )


@pytest.mark.parametrize(("old", "new"), [("0.3.12", "0.3.13"), ("0.3.13", "0.3.12")])
def test_digests_that_can_or_cannot_be_written_are_a_change_of_key_strings_alone(old, new):
    def of(release):
        prefix, fmt = ("vllm@", "vllm") if release == "0.3.12" else ("", None)
        good = replace(BYTES, args={**BYTES.args, "fmt": fmt})
        return [replace(good, outcome=REFUSED)] if prefix else [good]

    found = drift(of(new), old=old, new=new, before=of(old))
    assert not [change for change in found.changes if change.aspect is Aspect.CHUNKS]
    assert any("deployment (vLLM, algorithm and seed) gets other keys" in note for note in found.notes)


def test_keys_that_write_the_same_hash_otherwise_are_a_change_of_key_strings_alone():
    """0.3.5 writes a hash in decimal, 0.3.6 in hexadecimal."""

    def of(text):
        made = answer("vllm.utils.sha256_cbor", "int", START, f"vllm@m@1@0@{text}")
        return [deployment("0.10.1", "sha256_cbor", made, dtype=None, fmt="vllm", model="m")]

    found = drift(of(INT), old="0.3.5", new="0.3.6", before=of(str(int(INT, 16))))
    assert {change.aspect for change in found.changes} == {Aspect.KEY_STRING, Aspect.KEY_READING}
