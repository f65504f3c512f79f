"""Defaults, token hashes, payload layouts, shapes, and operations that nobody here has heard of."""

from dataclasses import replace

import pytest
from future_captures import REFUSED, Future, captured

from fixturegen.vector import Vector
from reports.drift.compare import compare
from reports.drift.model import Aspect, Level, Levels
from reports.drift.observe.observed import observe


@pytest.mark.parametrize(
    ("name", "value", "level", "title"),
    [
        ("save_unfull_chunk", True, Level.BEHAVIOURAL, "Default of save_unfull_chunk: false -> true"),
        ("chunk_size", 512, Level.BREAKING, "Default of chunk_size: 256 -> 512"),
        ("algorithm", "sha256_cbor", Level.BREAKING, "Default of algorithm: builtin -> sha256_cbor"),
        ("shuffle", True, Level.BEHAVIOURAL, "Default of shuffle: not there -> true"),
    ],
)
def test_a_default_that_is_flipped_is_named(future, the_change, name, value, level, title):
    change = the_change(future.rewritten("defaults", lambda vector: {"ok": {**vector.ok, name: value}}).drift())
    assert change.aspect is Aspect.DEFAULTS
    assert change.title == title
    assert change.levels == Levels.clients(level)


def test_other_token_hashes_break_everybody_who_uses_them(future, the_change):
    def other(vector):
        return {"ok": {"hashes": ["00" * 32 for _ in vector.ok["hashes"]]}} if vector.ok["hashes"] else None

    change = the_change(future.rewritten("token_hashes", other).drift())
    assert change.aspect is Aspect.TOKEN_HASHES
    assert change.title == "Hashes of tokens as the multiprocess server makes them differ: 7 of 10 captured inputs"


def test_other_payload_bytes_break_clients(future, the_change):
    def other(vector):
        return {"ok": {**vector.ok, "bytes": {"hex": vector.ok["bytes"]["hex"][::-1]}}} if "kv-2td" in vector.id else None

    change = the_change(future.rewritten("pack_layout", other).drift())
    assert change.aspect is Aspect.LAYOUTS
    assert change.levels == Levels.clients(Level.BREAKING)


def test_an_operation_that_is_unknown_here_is_compared_answer_by_answer(future, the_change):
    def asked(answer):
        return [Vector(f"x.{n}", "deployment_mood", {"n": n}, {"ok": {"mood": answer, "n": n}}, "lmcache.x") for n in range(3)]

    old = future.with_vectors("deployment_mood", asked("good"))
    new = future.with_vectors("deployment_mood", [*asked("good")[:1], *asked("bad")[1:]])
    change = the_change(_drift(old, new))
    assert change.aspect is Aspect.OTHER
    assert change.title == "Answers of deployment_mood differ: 2 of 3 captured inputs"
    assert change.levels == Levels.all(Level.BREAKING)
    assert change.examples[0].id == "x.1"


def _drift(old, new):
    manifest = replace(new.corpus.manifest, release="9.9.9")
    return compare(observe(old.corpus), observe(replace(new.corpus, manifest=manifest)))


def test_an_operation_that_the_new_release_could_not_be_asked_is_a_change(future, the_change):
    change = the_change(future.without("token_hashes", "this release has no TokenHasher").drift())
    assert change.aspect is Aspect.UNEXPLAINED
    assert change.title == "token_hashes could not be asked of 9.9.9: this release has no TokenHasher"
    assert change.levels.worst is Level.BREAKING


def test_layouts_that_could_not_be_captured_are_a_note(future):
    """They depend on what the pinned environment can run, not on the wire."""
    manifest = replace(future.corpus.manifest, unavailable={"KV_2LTD pack": "no device"})
    corpus = replace(future.corpus, vectors={**future.corpus.vectors, "pack_layout": []}, manifest=manifest)
    drift = Future(corpus).drift()
    assert drift.changes == ()
    assert "9.9.9 could not be asked, the other could: KV_2LTD pack (no device)." in drift.notes


def test_shorter_shapes_that_are_refused_break_clients_that_store(future):
    def refused(vector):
        shapes = [vector.args["shape"]] if "shape" in vector.args else [group["shape"] for group in vector.args["groups"]]
        return REFUSED if vector.ok and any(len(shape) < 4 for shape in shapes) else None

    for op in ("encode_request", "encode_reply", "encode_metadata"):
        future = future.rewritten(op, refused)
    drift = future.drift()
    assert [change.title for change in drift.changes] == ["Shapes of 1 to 3 dimensions are refused by encoders"]
    assert drift.levels == Levels(Level.BREAKING, Level.NONE, Level.NONE)


def test_zeros_that_are_kept_again_are_behavioural(future):
    old, new = captured("0.5.6"), captured("0.4.3")
    drift = _drift(Future(old), Future(new))
    assert any(change.title.startswith("Decoders keep trailing zeros of a shape that they dropped") for change in drift.changes)
