"""Recordings of the multiprocess wire held once more: with a mock of the release, and with one that answers otherwise."""

import pytest
from zmtp_speech import Talk, key

from harness.tap import case as cases
from harness.tap.mp.replay import play
from harness.tap.mp.transcribe import transcript_of
from harness.tap.recording import Header, Recorder, now
from mockserver.mp import MpServer
from wire.mp.operations import operation_table
from wire.mp.values import pack
from wire.release import Release

CONTEXT = {
    "instance_id": 7, "model_name": "org/model", "world_size": 1, "block_size": 16, "num_layers": 2, "hidden_dim_size": 8,
    "dtype_str": "float16", "use_mla": False, "num_physical_slots": None,
}  # fmt: skip
SLOT = {"length": 1024, "shape": [2, 2, 16, 8], "dtype": "float16"}


def deep(levels):
    """Arrays in each other."""
    value = []
    for _ in range(levels):
        value = [value]
    return value


def recorded(chunk_size=16):
    talk = Talk("0.5.6").open()
    talk.ask("GET_CHUNK_SIZE").answer("GET_CHUNK_SIZE", chunk_size)
    talk.ask("REGISTER_KV_CACHE_ENGINE_DRIVEN_CONTEXT", CONTEXT)
    talk.answer("REGISTER_KV_CACHE_ENGINE_DRIVEN_CONTEXT", {"shm_name": "lmcache_l1_pool_of_then", "pool_size": 99})
    talk.ask("PREPARE_STORE", key("0.5.6"), 7)
    slots = [{"offset": 777 * number, **SLOT} for number in (1, 2)]
    talk.answer("PREPARE_STORE", {"context": {"slots": slots, "chunk_indices": [0, 1]}})
    talk.ask("COMMIT_STORE", key("0.5.6"), 7, b"").answer("COMMIT_STORE", True)
    talk.ask("LOOKUP", key("0.5.6", worker=None), 1).answer("LOOKUP")
    talk.ask("QUERY_PREFETCH_STATUS", "r1").answer("QUERY_PREFETCH_STATUS")
    talk.ask("QUERY_PREFETCH_STATUS", "r1").answer("QUERY_PREFETCH_STATUS", 2)
    talk.ask("FREE_LOOKUP_LOCKS", key("0.5.6", worker=None), 1).answer("FREE_LOOKUP_LOCKS")
    return talk.ask("NOOP").answer("NOOP", "OK").events


def test_a_mock_of_the_release_answers_as_recorded_whatever_its_memory_is_called():
    transcript = transcript_of(recorded(), "then", "A recording.")
    assert transcript["release"] == "0.5.6"
    assert sum(step["do"] == "poll" for step in transcript["steps"]) == 1
    with MpServer(Release.parse("0.5.6")) as server:
        assert play(*server.address, transcript) == []


def test_another_answer_is_told():
    with MpServer(Release.parse("0.5.6")) as server:
        (line,) = play(*server.address, transcript_of(recorded(chunk_size=256), "then", "A recording."))
    assert "GET_CHUNK_SIZE" in line
    assert "256" in line


def test_a_case_is_a_test_that_passes_with_the_mock_of_its_release(tmp_path, monkeypatch, capsys):
    path = tmp_path / "then.jsonl"
    recorder = Recorder(path, Header("mp", "127.0.0.1:1", "127.0.0.1:2", started=now()))
    for event in recorded():
        recorder.event(event)
    recorder.close({})
    module, _ = cases.write_case(path, tmp_path, "then")
    monkeypatch.chdir(tmp_path)
    assert pytest.main(["-q", "-p", "no:cacheprovider", "-p", "no:randomly", str(module)]) == pytest.ExitCode.OK
    assert "1 passed" in capsys.readouterr().out


@pytest.mark.parametrize("job", [[1], {"a": 1}, [[]]], ids=["array", "map", "arrays"])
def test_a_poll_for_a_number_that_is_none_is_sent_as_it_was(job):
    talk = Talk("0.5.6").open()
    talk.frames(b"\x01", pack(operation_table(Release.parse("0.5.6")).named("QUERY_PREFETCH_STATUS").number), pack(job))
    (step,) = [step for step in transcript_of(talk.events, "then", "A recording.")["steps"] if step["do"] == "send"]
    assert step["frames"][2] == pack(job).hex()


@pytest.mark.parametrize(
    "answer",
    [
        {"bound": "nobody"},
        {"bound": "pool"},
        {"bound": ["x"]},
        {"hex": "no digits"},
        {"range": [0, 1 << 40]},
        deep(70),
        deep(800),
    ],
    ids=["unbound name", "bound name", "bound names", "bytes", "range", "deep", "deeper"],
)
def test_an_answer_that_reads_like_words_of_a_transcript_stays_bytes(answer):
    talk = Talk("0.5.6").open()
    number = pack(operation_table(Release.parse("0.5.6")).named("PREPARE_STORE").number)
    result = pack({"shm_name": "pool", "pool_size": 9, "more": answer})
    talk.ask("PREPARE_STORE", key("0.5.6"), 7, uid=b"\x01").frames(b"\x01", number, result, side="server")
    (step,) = [step for step in transcript_of(talk.events, "then", "A recording.")["steps"] if step["do"] == "receive"]
    assert step["got"]["frames"][2] == result.hex()
