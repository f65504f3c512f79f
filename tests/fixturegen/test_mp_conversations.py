"""What conversations with real multiprocess servers show, release by release; ``docs/findings/mp-server.md`` tells it."""

import pytest

from fixturegen.corpus import captured_releases, load_corpus
from fixturegen.mp.launch import CPU_TENSORS, GRPC, NO_DATA_PATH, NO_SERVER, SHARED_MEMORY
from fixturegen.mp.scenarios.malformed import COSTLY
from wire.mp.operations import STREAMING, operation_table
from wire.mp.values import unpack
from wire.release import Release

CAPTURED = captured_releases(protocol="mp")
SERVED = [release for release in CAPTURED if NO_SERVER[release] is None]
MOVING = [release for release in SERVED if NO_DATA_PATH[release] is None]
HARDENED = Release.parse("0.5.6")
COUNTING = Release.parse("0.5.5")


def held(release):
    return {
        transcript.id.removeprefix("mp.server."): transcript for transcript in load_corpus(release, protocol="mp").mp_transcripts
    }


def setting(release):
    return "shared-memory" if SHARED_MEMORY[release] else "pickle"


def counts(transcript, name):
    return [step.values["got"][name] for step in transcript.steps if step.do == "status" and "got" in step.values]


def results(transcript, operation, release):
    """Results of an operation, in order; nil where a reply has none, "silence" where none came."""
    number = operation_table(release).named(operation).number
    found, asked = [], None
    for step in transcript.steps:
        if step.do in ("send", "poll") and isinstance(step.values["frames"][1], str):
            asked = unpack(bytes.fromhex(step.values["frames"][1]))
        if step.do in ("receive", "poll") and asked == number:
            frames = step.values["got"].get("frames")
            if frames is None:
                found.append("silence")
            elif len(frames) < 3:
                found.append(None)
            else:
                found.append(frames[2]["msgpack"] if isinstance(frames[2], dict) else unpack(bytes.fromhex(frames[2])))
    return found


def test_every_release_with_a_server_was_talked_to_and_others_say_why_not():
    assert {release for release in CAPTURED if held(release)} == set(SERVED)
    for release in CAPTURED:
        unavailable = load_corpus(release, protocol="mp").manifest.unavailable
        assert unavailable.get("transcripts") == NO_SERVER[release]
        assert unavailable.get("transcripts of the data path") == NO_DATA_PATH[release]


@pytest.mark.parametrize("release", SERVED, ids=str)
def test_every_operation_of_a_release_was_tried(release):
    tried = {name.removeprefix("control.once-") for name in held(release) if name.startswith("control.once-")}
    named = {operation.name for operation in operation_table(release).operations} - set(STREAMING)
    assert tried == {name.lower().replace("_", "-") for name in named}


@pytest.mark.parametrize("release", SERVED, ids=str)
def test_a_message_of_one_frame_kills_the_message_thread_of_every_release(release):
    assert held(release)["control.one-frame"].fatal


@pytest.mark.parametrize("release", SERVED, ids=str)
def test_an_unknown_operation_kills_it_until_0_5_5_and_is_dropped_from_0_5_6_on(release):
    for name in ("unknown-number", "unknown-name", "empty-delimiter"):
        assert held(release)[f"control.{name}"].fatal is (release < HARDENED), name


@pytest.mark.parametrize("release", SERVED, ids=str)
def test_nothing_else_that_is_malformed_kills_it(release):
    not_operations = {"one-frame", "unknown-number", "unknown-name", "empty-delimiter", *COSTLY}
    deadly = {name.partition(".")[2] for name, found in held(release).items() if found.fatal}
    assert deadly <= not_operations


@pytest.mark.parametrize("release", MOVING, ids=str)
def test_three_chunks_come_back_as_they_went(release):
    transcript = held(release)[f"{setting(release)}.round-trip"]
    if SHARED_MEMORY[release]:
        written = [step.values["pattern"] for step in transcript.steps if step.do == "shm-write"]
        read = [step.values["got"]["pattern"] for step in transcript.steps if step.do == "shm-read"]
        assert (read, len(read)) == (written, 3)
    else:
        assert [step.values["got"] for step in transcript.steps if step.do == "contains"] == [[True] * 3]
    assert results(transcript, "QUERY_PREFETCH_STATUS", release) == [3, 0]


@pytest.mark.parametrize("release", [release for release in SERVED if CPU_TENSORS[release]], ids=str)
def test_tensors_in_shared_memory_come_back_as_they_went(release):
    transcript = held(release)["cpu-tensors.round-trip"]
    written = [step.values["pattern"] for step in transcript.steps if step.do == "shm-write"]
    read = [step.values["got"] for step in transcript.steps if step.do == "shm-read"]
    assert read == [{"pattern": pattern} for pattern in written] + [{"hex": "00" * 64}] * 2


@pytest.mark.parametrize("release", MOVING, ids=str)
def test_a_prompt_is_found_up_to_its_first_missing_chunk(release):
    transcript = held(release)[f"{setting(release)}.prefix"]
    assert results(transcript, "QUERY_PREFETCH_STATUS", release) == [2, 2, 1, 0, 0, 0]


@pytest.mark.parametrize("release", MOVING, ids=str)
def test_a_salt_parts_prompts(release):
    assert results(held(release)[f"{setting(release)}.salts"], "QUERY_PREFETCH_STATUS", release) == [0, 0, 0, 1, 1]


@pytest.mark.parametrize("release", MOVING, ids=str)
def test_a_chunk_of_two_ranks_is_found_once_both_have_stored_it(release):
    assert results(held(release)[f"{setting(release)}.worlds"], "QUERY_PREFETCH_STATUS", release) == [0, 1, 0]


@pytest.mark.parametrize("release", MOVING, ids=str)
def test_locks_outlive_the_session_of_a_lookup_whose_retrieve_never_came(release):
    transcript = held(release)[f"{setting(release)}.fewer-retrieves"]
    assert (counts(transcript, "read_locked"), counts(transcript, "sessions")) == ([0, 2, 2], [1, 2, 1])


@pytest.mark.parametrize("release", MOVING, ids=str)
def test_locks_stay_where_they_are_freed_with_another_salt(release):
    assert counts(held(release)[f"{setting(release)}.wrong-salt"], "read_locked") == [1, 1, 0]


@pytest.mark.parametrize("release", MOVING, ids=str)
def test_a_retrieve_without_a_lookup_fails(release):
    found = results(held(release)[f"{setting(release)}.no-lookup"], "PREPARE_RETRIEVE", release)
    assert [one["success"] for one in found] == [False, False]


@pytest.mark.parametrize("release", [release for release in MOVING if release >= COUNTING], ids=str)
def test_a_lookup_for_two_readers_has_two_retrieves_and_no_third(release):
    transcript = held(release)["shared-memory.readers"]
    assert [one["success"] for one in results(transcript, "PREPARE_RETRIEVE", release)] == [True, True, False]
    assert counts(transcript, "read_locked") == [1, 1, 0, 1, 1, 0]


@pytest.mark.parametrize("release", [release for release in MOVING if release >= COUNTING], ids=str)
def test_a_lookup_that_tells_no_readers_is_not_answered(release):
    assert results(held(release)["shared-memory.no-readers"], "LOOKUP", release) == ["silence"]


@pytest.mark.parametrize("release", MOVING, ids=str)
def test_a_restarted_server_does_not_answer_a_worker_until_it_registers(release):
    transcript = held(release)[f"{setting(release)}.restart"]
    answers = results(transcript, "PREPARE_STORE", release)
    assert len(answers) == 2
    assert answers[1] == ("silence" if SHARED_MEMORY[release] else {"context": {}})
    assert results(transcript, "QUERY_PREFETCH_STATUS", release)[-2:] == [0, 0]


def kinds(transcript):
    """The kinds of events in the batches of a conversation, in order."""
    heard = [step for step in transcript.steps if step.connection == "events" and "got" in step.values]
    replies = [step.values["got"].get("frames", []) for step in heard]
    batches = [frames[2]["msgpack"]["events"] for frames in replies if len(frames) > 2]
    return [event["kind"] for events in batches for event in events]


def test_chunks_that_an_engine_stores_itself_are_not_announced_and_their_removal_is():
    found = held(HARDENED)
    assert kinds(found["shared-memory.kv-events"]) == ["removed"]
    assert kinds(found["cpu-tensors.kv-events-of-tensors"]) == ["stored", "stored", "removed"]


def answered(transcript):
    """Whether the last thing that the first connection heard was a reply."""
    return "frames" in [step.values["got"] for step in transcript.steps if step.connection == "a" and "got" in step.values][-1]


@pytest.mark.parametrize("release", SERVED, ids=str)
def test_text_and_floats_are_taken_for_numbers_from_0_4_7_on(release):
    found = held(release)
    for name in ("digits-for-number", "float-for-number"):
        assert answered(found[f"control.{name}"]) is (release >= Release.parse("0.4.7")), name
    assert not answered(found["control.text-for-number"])


@pytest.mark.parametrize("release", MOVING, ids=str)
def test_tokens_that_have_no_32_bits_are_not_answered(release):
    found = held(release)
    taken = {name: answered(found[f"{setting(release)}.key-{name}"]) for name in TOKENS}
    assert taken == {"large-tokens": True, "larger-tokens": False, "negative-token": False, "unknown-field": True, "array": False}


TOKENS = ("large-tokens", "larger-tokens", "negative-token", "unknown-field", "array")


@pytest.mark.parametrize("release", SERVED, ids=str)
def test_a_store_of_an_unknown_worker_is_refused_in_its_answer_from_0_5_5_on(release):
    assert answered(held(release)["control.once-store"]) is (release >= COUNTING)


@pytest.mark.parametrize("release", [release for release in MOVING if SHARED_MEMORY[release]], ids=str)
def test_clear_removes_what_is_locked_until_0_5_5_and_by_force_from_0_5_6_on(release):
    left = counts(held(release)["shared-memory.clear-locked"], "objects")
    assert left == ([1, 0] if release < HARDENED else [1, 1, 0])


@pytest.mark.parametrize("release", SERVED, ids=str)
def test_what_differs_from_run_to_run_has_a_reason(release):
    for name, transcript in held(release).items():
        used = {bound.partition(".")[0] for bound in bounds(transcript.to_json())}
        assert used <= set(transcript.bound), name


def bounds(value):
    if isinstance(value, dict):
        yield from [value["bound"]] if isinstance(value.get("bound"), str) else []
        for member in value.values():
            yield from bounds(member)
    elif isinstance(value, list):
        for member in value:
            yield from bounds(member)


@pytest.mark.parametrize("release", [release for release in SERVED if GRPC[release]], ids=str)
def test_over_grpc_an_error_has_a_status(release):
    calls = {vector.id.removeprefix("mp.grpc."): vector for vector in load_corpus(release, protocol="mp").vectors["mp_grpc_call"]}
    refused = {name: call.outcome["error"]["type"] for name, call in calls.items() if call.ok is None}
    assert calls["noop"].answer["response"] == {"hex": "0a024f4b"}
    assert calls["chunk-size"].answer["fields"] == {"chunk_size": "16"}
    assert refused["store-unregistered"] == refused["lookup-no-readers"] == "UNKNOWN"
    assert refused["no-handler"] == refused["no-method"] == refused["no-service"] == "UNIMPLEMENTED"
    assert refused["bad-bytes"] == "INTERNAL"
