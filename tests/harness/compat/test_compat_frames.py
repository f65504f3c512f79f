"""What a client sends is made of captured pieces of its own release, and of nothing else."""

from types import SimpleNamespace

import pytest

from fixturegen.corpus import captured_releases, load_corpus
from fixturegen.errors import CorpusError
from harness.compat import frames_of as module
from harness.compat.frames_of import NOT_ASKED, frames_of, tagged
from wire.release import Release

RELEASES = captured_releases()
OLD, NEW = Release.parse("0.3.2"), Release.parse("0.5.6")


@pytest.fixture(params=RELEASES, ids=str)
def frames(request):
    return frames_of(request.param)


def captured(release, vector):
    return load_corpus(release).vector(vector)


def captured_bytes(release, vector):
    return bytes.fromhex(captured(release, vector).answer["bytes"]["hex"])


@pytest.mark.parametrize("command", ["GET", "EXIST", "HEALTH"])
def test_a_request_for_the_captured_key_is_the_captured_request(frames, command):
    sent = frames.request(command, frames.key("plain").text)
    assert sent == captured_bytes(frames.release, f"lm.request.sent.{command.lower()}")


def test_a_put_for_the_captured_key_is_the_captured_put(frames):
    sent = frames.put(frames.value("KV_2LTD bfloat16"), frames.key("plain").text)
    assert sent == captured_bytes(frames.release, "lm.request.sent.put-kv-2ltd-bfloat16")


def test_every_put_that_was_captured_is_there(frames):
    vectors = load_corpus(frames.release).vectors["encode_request"]
    assert len(frames.values) == sum(vector.id.startswith("lm.request.sent.put-") for vector in vectors)


def test_every_key_that_was_captured_is_there_but_those_that_are_left_out(frames):
    vectors = [vector for vector in load_corpus(frames.release).vectors["format_key"] if vector.ok is not None]
    names = {vector.id.removeprefix("lm.key.format.") for vector in vectors}
    assert {key.name for key in frames.keys} == names - set(NOT_ASKED)


def test_another_key_changes_the_key_field_alone(frames):
    text = frames.key("world").of_model("front/").text
    sent, before = frames.request("GET", text), captured_bytes(frames.release, "lm.request.sent.get")
    assert len(sent) == len(before)
    assert sent.removesuffix(text.encode().ljust(150)) == before[:-150]


@pytest.mark.parametrize(("release", "request_size", "reply_size"), [(OLD, 182, 32), (NEW, 186, 36)], ids=str)
def test_sizes_are_those_of_the_release(release, request_size, reply_size):
    assert (frames_of(release).request_size, frames_of(release).reply_size) == (request_size, reply_size)


def test_replies_are_as_long_as_the_one_that_a_server_was_seen_to_send(frames):
    transcript = next(found for found in load_corpus(frames.release).transcripts if found.id == "lm.server.health")
    came = next(step.values["got"]["bytes"] for step in transcript.steps if step.do == "receive")
    assert len(came) == 2 * frames.reply_size


def test_a_key_of_another_model_has_a_tag_before_the_model():
    assert frames_of(NEW).key("plain").of_model("x/").text == "x/meta-llama/Llama-3.1-8B@1@0@1a2b3c4d5e6f7081@bfloat16"
    assert frames_of(OLD).key("world").of_model("x/").text.startswith("vllm@x/meta-llama/Llama-3.1-8B@8@7@")


def test_a_tag_goes_to_the_model_and_to_nothing_else():
    assert tagged("m@m@1@0@m", "m", "x/") == "x/m@m@1@0@m"


def test_a_key_that_does_not_fit_is_refused():
    with pytest.raises(CorpusError, match="does not fit into 150 bytes"):
        frames_of(NEW).request("GET", "m" * 151)


def test_chunk_keys_of_another_model_are_the_captured_ones_but_for_the_model():
    chunks = frames_of(NEW).chunks["lm.chunks.three-full"]
    vector = captured(NEW, "lm.chunks.three-full").answer["chunks"]
    assert chunks.of_model("x/") == {(chunk["start"], chunk["end"]): f"x/{chunk['key']}" for chunk in vector}


def test_volatile_chunk_keys_cannot_be_asked_for():
    chunks = frames_of(Release.parse("0.3.10")).chunks["lm.chunks.three-full"]
    assert "hash(None)" in chunks.volatile
    with pytest.raises(LookupError, match="differ from process to process"):
        chunks.of_model("x/")


def test_no_chunks_are_no_volatile_keys():
    assert frames_of(Release.parse("0.3.10")).chunks["lm.chunks.none-full"].texts == {}


@pytest.mark.parametrize("missing", ["lm.request.sent.get", "lm.key.format.plain"])
def test_a_capture_that_lacks_what_is_needed_is_named(monkeypatch, missing):
    whole = load_corpus(NEW)
    vectors = {op: [vector for vector in found if vector.id != missing] for op, found in whole.vectors.items()}
    monkeypatch.setattr(module, "load_corpus", lambda release: SimpleNamespace(release=release, vectors=vectors))
    frames_of.cache_clear()
    with pytest.raises(CorpusError, match=r"the corpus of lmcache 0\.5\.6 .*capture it again"):
        frames_of(NEW)
    monkeypatch.undo()
    frames_of.cache_clear()
