"""What the captured releases did, said as the corpus shows it."""

from dataclasses import replace

import pytest
from future_captures import captured, observed

from fixturegen.corpus import captured_releases
from reports.drift.compare import compare
from reports.drift.history import history
from reports.drift.model import Aspect, Level, Levels
from reports.drift.observe.observed import observe

ALL_BREAK = Levels.all(Level.BREAKING)
CLIENTS_BREAK = Levels.clients(Level.BREAKING)


def between(old, new):
    return compare(observed(old), observed(new))


def change_of(drift, words):
    found = [change for change in drift.changes if words in change.title]
    assert len(found) == 1, [change.title for change in drift.changes]
    return found[0]


@pytest.fixture(scope="module")
def everything():
    return history([observed(str(release)) for release in captured_releases()])


def test_0_3_3_inserts_location_in_the_middle_of_requests_and_at_the_end_of_replies():
    drift = between("0.3.2", "0.3.3")
    request = change_of(drift, "Request header: 182 -> 186 bytes; location (4 bytes) is inserted at offset 16")
    assert request.levels == ALL_BREAK
    assert request.detail == ("Also: shape0, shape1, shape2, shape3 and key move by +4 bytes.",)
    reply = change_of(drift, "Reply header: 32 -> 36 bytes; location (4 bytes) is appended at offset 32")
    assert reply.levels == Levels(Level.NONE, Level.BREAKING, Level.BREAKING)
    assert "none 0, LocalCPUBackend 1, LocalDiskBackend 2" in reply.must


def test_0_3_3_changes_the_chain_and_how_a_hash_is_written():
    drift = between("0.3.2", "0.3.3")
    assert change_of(drift, "-> (previous hash, tokens)").levels == CLIENTS_BREAK
    assert change_of(drift, "The hash in a key is written in decimal, not as opaque text").levels == ALL_BREAK
    assert change_of(drift, "Default of algorithm: sha256_hex -> builtin").levels == CLIENTS_BREAK
    assert not [change for change in drift.changes if change.aspect in {Aspect.ANSWERS, Aspect.UNEXPLAINED}]


def test_0_3_13_drops_the_engine_from_keys_and_writes_digests():
    drift = between("0.3.12", "0.3.13")
    assert len(drift.changes) == 2
    key = change_of(drift, "Key string: fmt@model@world@worker@hash@dtype -> model@world@worker@hash@dtype")
    assert key.levels == ALL_BREAK
    assert key.detail == ("In the string: fmt is gone.",)
    digests = change_of(drift, "Keys whose hash is bytes can be written, in hexadecimal; 0.3.12 refuses them")
    assert digests.levels == Levels.clients(Level.ADDITIVE)
    assert digests.examples[0].before.text.startswith("lmcache raises TypeError")


def test_0_4_1_hashes_the_empty_tuple_instead_of_none_so_that_every_chunk_key_changes():
    drift = between("0.3.15", "0.4.1")
    (change,) = drift.changes
    assert change.title == "What is hashed for a chunk: (previous hash, tokens, None) -> (previous hash, tokens, empty tuple)"
    assert change.levels == CLIENTS_BREAK
    assert "every chunk key changes" in change.must
    assert "CPython's tuple hash of it gives all 57 captured builtin keys of 0.4.1." in change.detail


def test_0_4_6_folds_digests_to_their_first_8_bytes_and_leaves_builtin_keys_alone():
    drift = between("0.4.5", "0.4.6")
    (change,) = drift.changes
    assert change.title == (
        "Digests (hashes that are bytes): the first 8 bytes as a big-endian integer go into the chain and into the key, "
        "not all bytes"
    )
    assert change.levels == CLIENTS_BREAK
    assert "keys made with integer hashes stay as they are" in change.must
    assert str(0x00A7A7A7A7A7A7A7) in change.examples[0].after.text


def test_0_4_4_pads_shorter_shapes_and_strips_zeros():
    drift = between("0.4.3", "0.4.4")
    assert len(drift.changes) == 2
    ranks = change_of(drift, "Shapes of 1 to 3 dimensions can be written: they are padded with zeros to 4")
    assert ranks.levels == Levels(Level.ADDITIVE, Level.ADDITIVE, Level.NONE)
    zeros = change_of(drift, "Decoders drop trailing zeros of a shape, all but the first dimension")
    assert zeros.levels == Levels(Level.NONE, Level.BEHAVIOURAL, Level.NONE)
    assert "BINARY and BINARY_BUFFER keep them" in zeros.title


def test_0_5_6_changes_nothing():
    drift = between("0.5.5", "0.5.6")
    assert drift.changes == ()
    assert drift.worst is Level.NONE
    corpus = captured("0.5.6")
    assert drift.compared == sum(map(len, corpus.vectors.values())) + len(corpus.transcripts)


@pytest.mark.parametrize(
    ("old", "new", "title"), [("0.4.4", "0.4.5", "New format: EC_TD (7)"), ("0.5.0", "0.5.1", "New format: HS_TD (8)")]
)
def test_a_new_format_is_additive(old, new, title):
    (change,) = between(old, new).changes
    assert change.title == title
    assert change.levels == Levels.all(Level.ADDITIVE)


def test_0_3_14_takes_layers_and_renames_dtypes_of_8_bits():
    drift = between("0.3.13", "0.3.14")
    assert change_of(drift, "Reading keys: a server takes a layer behind the fixed parts").levels == Levels.all(Level.ADDITIVE)
    names = change_of(drift, "Names of dtypes in keys: float8_e4m3fn fp8_e4m3 -> fp8_e4m3fn")
    assert names.detail == ("0.3.14 refuses the old name fp8_e4m3.",)
    assert names.levels == ALL_BREAK


def test_0_3_11_no_longer_saves_a_partial_chunk():
    (change,) = between("0.3.10.post2", "0.3.11").changes
    assert change.title == "Default of save_unfull_chunk: true -> false"
    assert change.levels == Levels.clients(Level.BEHAVIOURAL)


def test_nothing_between_captured_releases_is_unexplained(everything):
    unexplained = [
        (d.old, c.title) for d in everything.drifts for c in d.changes if c.aspect in {Aspect.UNEXPLAINED, Aspect.OTHER}
    ]
    assert unexplained == []


def test_rules_that_were_inferred_give_every_captured_frame_and_key():
    assert {str(r): list(observed(str(r)).unruly) for r in captured_releases()[::5]} == {
        str(r): [] for r in captured_releases()[::5]
    }


def test_the_history_has_a_group_for_every_boundary(everything):
    assert len(everything.releases) == len(captured_releases())
    assert [name for group in everything.groups for name in group.releases] == list(everything.releases)
    assert len(everything.groups) == len(everything.boundaries) + 1


def test_every_release_is_in_one_generation_of_the_request_header(everything):
    rows = [generation for generation in everything.generations if generation.aspect is Aspect.REQUEST_HEADER]
    assert [row.label for row in rows] == ["182 bytes", "186 bytes"]
    assert sorted(index for row in rows for index in row.groups) == list(range(len(everything.groups)))
    assert everything.groups[rows[1].groups[0]].first == "0.3.3"


def test_formats_are_generations_of_the_header_numbers(everything):
    rows = [generation for generation in everything.generations if generation.aspect is Aspect.NUMBERS]
    assert [row.label for row in rows] == ["formats 0 to 6", "formats 0 to 7", "formats 0 to 8"]
    assert [everything.groups[row.groups[0]].first for row in rows] == ["0.3.1", "0.4.5", "0.5.1"]


def test_layouts_that_a_release_in_between_could_not_be_asked_are_compared_across_it():
    """0.4.3 holds no layouts; 0.4.2 and 0.4.4 do, and a difference between those must not fall through."""
    first, gap, last = captured("0.4.2"), captured("0.4.3"), captured("0.4.4")
    vectors = [
        replace(vector, outcome={"ok": {**vector.ok, "bytes": {"hex": "00"}}})
        for vector in last.vectors["pack_layout"]
        if vector.ok
    ]
    changed = replace(last, vectors={**last.vectors, "pack_layout": vectors})
    found = history([observe(first), observe(gap), observe(changed)])
    layouts = [change for change in found.drifts[1].changes if change.aspect is Aspect.LAYOUTS]
    number = len(first.vectors["pack_layout"])
    counts = f"{number} of {number} captured inputs"
    (change,) = layouts
    assert change.title == f"The bytes of a payload differ: {counts} (against 0.4.2, the last with captures of it)"


def test_0_3_9_finds_other_hash_functions_in_a_vllm():
    (change,) = between("0.3.7", "0.3.9").changes
    assert change.title == "18 of 86 captured deployments hash with another function, 24 get no keys any more"
    assert change.levels == CLIENTS_BREAK
    assert ("sha256", "vLLM 0.10.1", "0, 4242", "vllm.utils.sha256 (int)", "builtin (int)") in change.table.rows


def test_0_3_10_writes_a_world_of_1_beside_mla():
    (change,) = between("0.3.9.post2", "0.3.10").changes
    assert change.title == (
        "With multi-head latent attention (MLA) keys carry world size 1, not 8: sha256_cbor_64bit beside vLLM 0.10.1, seed 0, MLA"
    )
    assert change.levels == CLIENTS_BREAK


def test_0_4_6_shows_keys_of_a_deployment_before_and_after_folding():
    (change,) = between("0.4.5", "0.4.6").changes
    example = change.examples[-1]
    assert example.id.startswith("lm.deployments.vllm-")
    whole = example.before.text.rpartition("@")[0].rpartition("@")[2]
    folded = example.after.text.rpartition("@")[0].rpartition("@")[2]
    assert len(bytes.fromhex(whole)) == 32
    assert len(folded) <= 16
