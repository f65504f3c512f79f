"""Drift of the multiprocess protocol: what captured releases did, and what a release to come might do."""

import functools
from dataclasses import replace

import pytest

from fixturegen.corpus import captured_releases, load_corpus
from reports.drift.compare import compare
from reports.drift.history import history
from reports.drift.model import Aspect, Level, Levels
from reports.drift.mp.compare import compare_mp
from reports.drift.mp.observed import observe_mp
from reports.drift.mp.registrations import form_of
from reports.drift.observe.observed import observe
from wire.release import Release

BASE, FUTURE = "0.5.6", "9.9.9"
ALL_BREAK = Levels.all(Level.BREAKING)


@functools.cache
def captured(release=BASE):
    return load_corpus(Release.parse(release), protocol="mp")


def between(old, new):
    return compare_mp(observe_mp(captured(old)), observe_mp(captured(new)))


def titles(drift):
    return [change.title for change in drift.changes]


def change_of(drift, words):
    (found,) = [change for change in drift.changes if words in change.title]
    return found


def future(op, outcome):
    """What changed in a release whose vectors of an operation have other outcomes; None keeps one."""
    corpus = captured()
    vectors = [replace(vector, outcome=found) if (found := outcome(vector)) else vector for vector in corpus.vectors[op]]
    changed = replace(corpus, vectors={**corpus.vectors, op: vectors}, manifest=replace(corpus.manifest, release=FUTURE))
    return compare_mp(observe_mp(corpus), observe_mp(changed))


def with_operations(change):
    return future("mp_operations", lambda vector: {"ok": {**vector.ok, "operations": change(list(vector.ok["operations"]))}})


def with_records(name, change):
    def outcome(vector):
        records = vector.ok["records"]
        return {"ok": {**vector.ok, "records": {**records, name: change(list(records[name]))}}}

    return future("mp_records", outcome)


@pytest.fixture(scope="module")
def everything():
    return history(
        [
            observe(load_corpus(release), load_corpus(release, protocol="mp"), lm=False)
            for release in captured_releases(protocol="mp")
        ]
    )


def test_0_5_1_moves_the_class_of_cuda_tensors_and_nothing_else_in_messages_that_breaks():
    drift = between("0.5.0", "0.5.1")
    breaking = [change for change in drift.changes if change.levels == ALL_BREAK and change.aspect is not Aspect.MP_ANSWERS]
    assert [change.aspect for change in breaking] == [Aspect.MP_REGISTRATION] * 2
    assert "custom_types.CudaIPCWrapper -> a pickle of lmcache.v1.platform.cuda.ipc_wrapper.CudaIPCWrapper" in breaking[0].title


def test_0_5_4_changes_no_message():
    assert [change.title for change in between("0.5.3", "0.5.4").changes if change.aspect is not Aspect.MP_ANSWERS] == []


def test_0_5_5_dies_of_a_number_that_0_5_4_has():
    drift = between("0.5.4", "0.5.5")
    collision = change_of(drift, "NUMBERS COLLIDE")
    assert drift.changes[0] is collision
    assert "a client of 0.5.4 at a server of 0.5.5 kills the server (GET_EXPERIMENTAL is unknown)" in collision.title
    assert ("0.5.4", "GET_EXPERIMENTAL", "40", "nothing", "kills the server") in collision.table.rows
    key = change_of(drift, "IPCCacheServerKey: request_configs (new) and num_kv_readers (new)")
    assert key.levels == Levels.all(Level.ADDITIVE)
    dropped = change_of(drift, "captured replies: fatal to the client -> dropped")
    assert dropped.levels == Levels.clients(Level.BEHAVIOURAL)


def test_0_5_6_keeps_its_numbers_and_retires_one():
    drift = between("0.5.5", "0.5.6")
    assert not [title for title in titles(drift) if "other numbers" in title or "NUMBERS COLLIDE" in title]
    gone = change_of(drift, "1 operation gone: QUERY_PREFETCH_LOOKUP_HITS")
    assert gone.levels == Levels.clients(Level.BREAKING)
    assert gone.detail == ("The numbers of QUERY_PREFETCH_LOOKUP_HITS are kept and mean nothing.",)
    payloads = change_of(drift, "2 operations take other payloads: CLEAR and CB_REGISTER_ROPE")
    assert ("CLEAR", "()", "(bool)") in payloads.table.rows
    survives = change_of(drift, "captured requests: fatal to the server -> dropped")
    assert survives.levels == Levels(server=Level.BEHAVIOURAL)


def test_0_4_7_takes_blocks_by_group_and_names_the_group_of_an_object():
    drift = between("0.4.6", "0.4.7")
    assert "STORE" in change_of(drift, "operations take other payloads").title
    named = change_of(drift, "captured key records name their objects otherwise")
    assert named.levels == Levels(server=Level.BREAKING)
    assert "@0@" in named.examples[0].after.text
    assert "@0@" not in named.examples[0].before.text
    assert change_of(drift, "odd messages of mp_encode_request").levels == Levels.all(Level.BEHAVIOURAL)


def test_a_record_that_is_only_called_otherwise_is_no_change():
    drift = between("0.4.7", "0.5.0")
    assert not [change for change in drift.changes if "Key" in change.title]
    assert any("IPCCacheEngineKey is called IPCCacheServerKey now" in note for note in drift.notes)


def test_nothing_between_captured_releases_is_unexplained(everything):
    assert [(d.old, c.title) for d in everything.drifts for c in d.changes if c.aspect is Aspect.UNEXPLAINED] == []


def test_operations_have_a_generation_for_each_time_that_they_were_renumbered(everything):
    rows = [generation for generation in everything.generations if generation.aspect is Aspect.MP_OPERATIONS]
    firsts = [everything.groups[row.groups[0]].first for row in rows]
    assert firsts == [
        "0.3.9.post1",
        "0.3.10",
        "0.3.14",
        "0.4.1",
        "0.4.2",
        "0.4.3",
        "0.4.6",
        "0.4.7",
        "0.5.0",
        "0.5.3",
        "0.5.5",
        "0.5.6",
    ]


def test_the_same_capture_is_no_drift():
    assert titles(future("mp_records", lambda _: None)) == []


def test_a_swapped_number_collides():
    def swap(operations):
        numbers = {"CLEAR": 21, "GET_CHUNK_SIZE": 20}
        return [{**entry, "wire": numbers.get(entry["name"], entry["wire"])} for entry in operations]

    drift = with_operations(swap)
    assert drift.changes[0].aspect is Aspect.MP_COLLISIONS
    moved = change_of(drift, "2 operations of")
    assert moved.table.rows == (("CLEAR", "20", "21", "GET_CHUNK_SIZE"), ("GET_CHUNK_SIZE", "21", "20", "CLEAR"))


def test_a_new_operation_is_additive():
    added = {"name": "FORGET", "wire": "forget", "payloads": ["Fog"], "response": "bool", "handler": None}
    change = change_of(with_operations(lambda operations: [*operations, added]), "1 new operation: FORGET")
    assert change.levels == Levels.all(Level.ADDITIVE)
    assert change.detail == ("FORGET has a text in place of a number.",)


def test_a_record_that_nobody_knows_yet_can_take_the_place_of_a_payload():
    def outcome(operations):
        return [{**entry, "payloads": ["Fog"]} if entry["name"] == "END_SESSION" else entry for entry in operations]

    change = change_of(with_operations(outcome), "1 operation takes other payloads: END_SESSION")
    assert change.table.rows == (("END_SESSION", "(str)", "(Fog)"),)


def test_another_result_breaks():
    def outcome(operations):
        return [{**entry, "response": "str"} if entry["name"] == "PING" else entry for entry in operations]

    change = change_of(with_operations(outcome), "1 operation gives another result: PING")
    assert change.levels == ALL_BREAK


KEY = "IPCCacheServerKey"
CONTEXT = "RegisterEngineDrivenContextResponse"


def required(name, type_="int"):
    return {"field": name, "type": type_, "required": True}


def test_a_required_field_of_what_clients_send_breaks_clients():
    change = change_of(with_records(KEY, lambda fields: [*fields, required("shard")]), f"{KEY}: shard (new)")
    assert change.levels == Levels(Level.BREAKING, Level.BREAKING, Level.ADDITIVE)


def test_a_required_field_of_what_servers_give_breaks_servers():
    change = change_of(with_records(CONTEXT, lambda fields: [*fields, required("shard")]), f"{CONTEXT}: shard (new)")
    assert change.levels == Levels(Level.ADDITIVE, Level.ADDITIVE, Level.BREAKING)


def test_a_required_field_that_goes_breaks_who_reads_it():
    change = change_of(
        with_records(KEY, lambda fields: [entry for entry in fields if entry["field"] != "start"]), f"{KEY}: start (gone)"
    )
    assert change.levels == Levels(Level.ADDITIVE, Level.ADDITIVE, Level.BREAKING)


def test_another_default_is_behavioural():
    def outcome(fields):
        return [{**entry, "default": 1} if entry["field"] == "num_kv_readers" else entry for entry in fields]

    change = change_of(with_records(KEY, outcome), f"{KEY}: num_kv_readers (int, default 0 -> int, default 1)")
    assert change.levels == Levels.all(Level.BEHAVIOURAL)


def test_frames_that_no_table_explains_break():
    def outcome(vector):
        if vector.id != "mp.request.encode.ping.plain":
            return None
        frames = vector.ok["frames"]
        return {"ok": {"frames": [frames[0], {"hex": "cc07"}]}}

    change = change_of(future("mp_encode_request", outcome), "1 message of mp_encode_request is written otherwise")
    assert (change.aspect, change.levels) == (Aspect.MP_FRAMES, ALL_BREAK)


def test_a_plain_request_that_is_refused_breaks():
    def outcome(vector):
        refused = {"error": {"type": "ValueError", "message": "no", "effect": "dropped"}}
        return refused if vector.id == "mp.request.decode.ping.plain" else None

    change = change_of(future("mp_decode_request", outcome), "1 captured request: read -> dropped")
    assert (change.aspect, change.levels) == (Aspect.MP_READING, ALL_BREAK)


def test_another_hash_of_the_same_tokens_breaks_servers():
    def outcome(vector):
        if vector.ok is None or not vector.id.endswith("range.two-chunks"):
            return None
        keys = [{**key, "chunk_hash": {"hex": "00" * 32}} for key in vector.ok["keys"]]
        return {"ok": {**vector.ok, "keys": keys}}

    change = change_of(future("mp_object_keys", outcome), "mean other objects")
    assert change.levels == Levels(server=Level.BREAKING)


def test_an_operation_that_was_not_asked_any_more_is_unexplained():
    corpus = captured()
    left = {op: vectors for op, vectors in corpus.vectors.items() if op != "mp_object_keys"}
    lost = replace(corpus, vectors=left, manifest=replace(corpus.manifest, release=FUTURE))
    change = change_of(compare_mp(observe_mp(corpus), observe_mp(lost)), "mp_object_keys could not be asked of 9.9.9")
    assert (change.aspect, change.levels) == (Aspect.UNEXPLAINED, ALL_BREAK)


def test_the_form_of_a_pickle_is_read_without_loading_it(tmp_path):
    """The pickle would write a file if anything loaded it."""
    witness = tmp_path / "loaded"
    blob = (
        b"\x80\x04\x8c\x05posix\x8c\x06system\x93\x8c"
        + bytes([len(f"touch {witness}")])
        + f"touch {witness}".encode()
        + b"\x85R."
    )
    assert form_of(blob) == "a pickle of posix.system"
    assert not witness.exists()


@pytest.mark.parametrize(
    ("blob", "form"),
    [
        (b"", "bytes of an unknown form"),
        (b"\x80\x04\x95", "a pickle of no class that could be found"),
        (b"\x81\xa4type\xa7cpu_shm", "a map of type cpu_shm"),
        (b"\xc0", "a msgpack NoneType"),
    ],
)
def test_other_blobs_have_a_form_in_words(blob, form):
    assert form_of(blob) == form


def test_the_first_release_with_the_protocol_is_additive():
    one = observe(load_corpus(Release.parse("0.3.9")))
    other = observe(load_corpus(Release.parse("0.3.9.post1")), captured("0.3.9.post1"))
    change = change_of(compare(one, other), "The multiprocess protocol is captured from here on: 6 operations")
    assert change.levels == Levels.all(Level.ADDITIVE)


def talked(change, base="0.5.6"):
    """What changed in a release whose conversations went otherwise; None keeps a step."""
    corpus = captured(base)
    told = [replace(one, steps=[_told(change, one, step) for step in one.steps]) for one in corpus.mp_transcripts]
    changed = replace(corpus, mp_transcripts=told, manifest=replace(corpus.manifest, release=FUTURE))
    return compare_mp(observe_mp(corpus), observe_mp(changed))


def _told(change, transcript, step):
    found = change(transcript, step)
    return replace(step, values=found) if found else step


def answers(drift):
    return [change for change in drift.changes if change.aspect is Aspect.MP_ANSWERS]


def test_an_answer_that_comes_no_more_breaks():
    def silent(transcript, step):
        asked = transcript.id == "mp.server.control.once-ping" and (step.do, step.connection) == ("receive", "a")
        return {"got": {"silence": True}} if asked else None

    (change,) = answers(talked(silent))
    assert change.title == "1 conversation: PING, no answer any more"
    assert change.levels == ALL_BREAK


def test_another_count_of_locks_is_behavioural_for_servers():
    def leaking(transcript, step):
        if transcript.id != "mp.server.shared-memory.round-trip" or step.do != "status" or "got" not in step.values:
            return None
        return {"got": {**step.values["got"], "read_locked": 9}}

    (change,) = answers(talked(leaking))
    assert change.title == "1 conversation: other counts of objects, locks or sessions"
    assert change.levels == Levels(server=Level.BEHAVIOURAL)


def test_what_a_malformed_message_brings_is_behavioural():
    def answered(transcript, step):
        if transcript.id != "mp.server.control.empty-operation" or step.do != "receive":
            return None
        return {"got": {"frames": ["00", "18", "a24f4b"]}}

    (change,) = answers(talked(answered))
    assert change.levels == Levels(server=Level.BEHAVIOURAL)


def test_0_5_6_survives_messages_that_end_the_thread_of_0_5_5():
    change = change_of(between("0.5.5", "0.5.6"), "conversations: NOOP, answered now")
    assert change.levels == Levels(server=Level.BEHAVIOURAL)
    assert "mp.server.control.unknown-number" in change.must


def test_conversations_that_only_one_release_was_held_are_told():
    drift = between("0.4.7", "0.5.6")
    assert any("was held" in note for note in drift.notes)


def test_the_same_conversations_are_no_drift():
    assert titles(talked(lambda *_: None)) == []
