"""Redacted recordings: no secret is in them in any spelling, and they tell the same releases and the same mistakes."""

import base64
import json
import socket

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.msgpack import Ext
from zmtp_speech import Talk, command, greeting, key, message, ready, spoken

from fixturegen.corpus import load_corpus
from harness.tap.address import Address
from harness.tap.mp.keeper import MpKeeper
from harness.tap.mp.lint import MpListener, listen
from harness.tap.mp.packed import number, places
from harness.tap.mp.permutation import Permutation
from harness.tap.mp.redact import Redactor
from harness.tap.pseudonyms import Pseudonyms
from harness.tap.recording import NOTHING, Header, Recorder, Redacted, now
from harness.tap.scribe import Scribe
from harness.tap.session import Wishes, tapping
from wire.mp.registration import encode_registration
from wire.mp.values import pack, unpack
from wire.release import Release

EVERYTHING = Redacted(keys=True, payloads=True)
SECRETS = ("Geheim-Modell-7", "mandant-42-salt", "req-7f3a-alice", "lmcache_l1_pool_secret", "tag-owner-bob", "10.11.12.13")
TOKENS = [7001, 7002, 70031, 200_001, 45, 300, 65_999, 3_000_000, 7001, 51, 52, 53, 54, 55, 56, 57]
PAYLOAD = b"the quick brown payload" * 20
HASH = bytes(range(100, 132))


def keeper(redacted=EVERYTHING, **more):
    return MpKeeper(MpListener(), redacted=redacted, pseudonyms=Pseudonyms(b"k" * 32), **more)


def kept(events, redacted=EVERYTHING, **more):
    made = keeper(redacted, **more)
    return [written for event in events for written in made.keep(event)] + made.finish()


def spellings(secret):
    raw = secret.encode() if isinstance(secret, str) else secret
    yield raw
    yield raw.hex().encode()
    yield from (base64.b64encode(raw[cut:])[:-4] for cut in range(3))
    yield raw.decode("latin-1").encode("utf-16-le")
    yield json.dumps(raw.decode("latin-1")).strip('"').encode()


def in_file(events):
    return b"\n".join(json.dumps(event.to_json()).encode() for event in events) + b"".join(event.data for event in events)


def conversation(release="0.5.6"):
    record = key(
        release,
        world_size=4,
        worker_id=2,
        model_name=SECRETS[0],
        cache_salt=SECRETS[1],
        request_id=SECRETS[2],
        token_ids=TOKENS,
        end=16,
        request_configs={SECRETS[4]: SECRETS[5], "n": TOKENS},
    )
    talk = Talk(release).open()
    talk.ask("LOOKUP", {**record, "worker_id": None}, 4).answer("LOOKUP")
    talk.ask("QUERY_PREFETCH_STATUS", SECRETS[2]).answer("QUERY_PREFETCH_STATUS", 0)
    talk.ask("PREPARE_STORE", record, 7).answer("PREPARE_STORE", {"context": {"slots": [], SECRETS[4]: SECRETS[5]}})
    talk.ask("COMMIT_STORE", record, 7, PAYLOAD).answer("COMMIT_STORE", True)
    talk.ask("PREPARE_RETRIEVE", record, 7).answer("PREPARE_RETRIEVE", {"success": True, "data": PAYLOAD, "context": {}})
    talk.ask(
        "P2P_UNLOCK_OBJECTS",
        [{"chunk_hash": HASH, "model_name": SECRETS[0], "kv_rank": 1, "object_group_id": 0, "cache_salt": ""}],
    )
    talk.frames(SECRETS[2].encode(), b"\x18").frames(b"\x01", SECRETS[3].encode()).frames(b"\x02", pack(SECRETS[0]), pack(TOKENS))
    talk.frames(b"\x03", b"\x18", SECRETS[0].encode(), b"\xc1" + SECRETS[1].encode()).frames(
        b"\x04", b"\x18", pack({SECRETS[0]: TOKENS})
    )
    return talk.end().events


@pytest.mark.parametrize("size", [None, 1, 7])
def test_no_secret_is_in_a_redacted_recording_in_any_spelling(size):
    events = conversation()
    plain = in_file(events)
    written = in_file(kept(events if size is None else cut(events, size)))
    for secret in (*SECRETS, PAYLOAD[:40], HASH, pack(TOKENS), pack(TOKENS)[1:12]):
        assert any(spelling in plain for spelling in spellings(secret))
        assert not [spelling for spelling in spellings(secret) if spelling in written], secret


def live(events, file, redacted=EVERYTHING):
    """What is told while a tap runs."""
    told, listener = [], MpListener()
    recorder = Recorder(file, Header("mp", "127.0.0.1:1", "127.0.0.1:2", redacted=redacted, started=now()))
    made = MpKeeper(listener, redacted=redacted, pseudonyms=Pseudonyms(b"k" * 32))
    scribe = Scribe(listener, made, recorder, tell=told.append, teller=MpListener() if redacted else None, elapsed=lambda: 99.0)
    scribe.start()
    for event in events:
        scribe.put(event)
    assert scribe.close()
    assert scribe.defect == ""
    return told


def test_what_is_told_live_has_no_secret_that_the_recording_has_not(tmp_path):
    talk = Talk().open().ask("REGISTER_KV_CACHE_ENGINE_DRIVEN_CONTEXT", {"model_name": SECRETS[3], "instance_id": 7})
    talk.ask("PREPARE_STORE", key("0.5.6", model_name=SECRETS[0]), 7).answer("PREPARE_STORE", {"context": {}})
    talk.ask("LOOKUP", key("0.5.6", worker=None, model_name=SECRETS[1], token_ids=[1 << 40, *range(1, 32)]), 1).answer("LOOKUP")
    talk.ask("LOOKUP", key("0.5.6", worker=None, model_name=SECRETS[1], request_id="r2"), 1).answer("LOOKUP")
    talk.ask("QUERY_PREFETCH_STATUS", "r2").answer("QUERY_PREFETCH_STATUS", 0)
    talk.frames(SECRETS[2].encode(), pack(SECRETS[4]), pack(SECRETS[5])).frames(b"\x99", pack(SECRETS[4]), side="server")
    events = talk.end().events
    plain, redacted = live(events, tmp_path / "plain", NOTHING), live(events, tmp_path / "redacted")
    assert [found.rule.name for found in redacted] == [found.rule.name for found in plain]
    said = [" ".join([found.summary, found.field, found.expected, found.got]) for found in plain]
    assert any(SECRETS[0] in words and SECRETS[1] in words for words in said)
    hidden = (*SECRETS, str(1 << 40), SECRETS[2][:16].encode().hex())
    leaks = [(secret, found.rule.name) for found in redacted for secret in hidden if secret in repr(found)]
    assert leaks == []


@pytest.mark.parametrize(("redacted", "said"), [(NOTHING, True), (EVERYTHING, False)])
def test_a_tap_tells_what_it_records(tmp_path, redacted, said):
    told = []
    sent = greeting() + ready(b"DEALER") + 2 * message(pack(SECRETS[2]), pack(24))
    with socket.create_server(("127.0.0.1", 0)) as there:
        to = Address("127.0.0.1", there.getsockname()[1])
        wishes = Wishes(Address("127.0.0.1", 0), to, "mp", tmp_path / "tap.jsonl", redacted=redacted)
        with tapping(wishes, tell=told.append) as (at, outcome), socket.create_connection((at.host, at.port)) as client:
            client.sendall(sent)
            accepted, _ = there.accept()
            with accepted:
                accepted.settimeout(10)
                assert accepted.recv(len(sent), socket.MSG_WAITALL) == sent
    assert outcome.defect == outcome.trouble == ""
    (reused,) = [found for found in told if found.rule.name == "mp.uid.reused"]
    assert (pack(SECRETS[2])[:16].hex() in reused.summary) is said
    assert (sent.hex()[-40:] in (tmp_path / "tap.jsonl").read_text()) is said


def cut(events, size):
    for event in events:
        for at in range(0, max(1, len(event.data)), size):
            yield type(event)(event.at, event.connection, event.side, event.do, event.data[at : at + size], text=event.text)


def told(events):
    heard = listen(events)
    return (
        [(one.rule.name, one.connection, one.offset, one.who, one.exchange, round(one.at, 3)) for one in heard.findings],
        [heard.listener.guess(who).candidates for who in ("client", "server")],
    )


@pytest.mark.parametrize("release", ["0.3.15", "0.4.7", "0.5.5", "0.5.6"])
def test_a_redacted_recording_tells_the_same_releases_and_mistakes(release):
    conversations = load_corpus(Release.parse(release), protocol="mp").mp_transcripts
    for transcript in conversations[:: max(1, len(conversations) // 12)]:
        events = spoken(transcript)
        assert told(kept(events, keys_only())) == told(events), transcript.id


def keys_only():
    return Redacted(keys=True)


def test_segments_keep_their_sizes_and_times():
    events = conversation()
    written = kept(events, keys_only())
    sizes = lambda found: [(one.at, one.connection, one.side, one.do, one.size) for one in found]  # noqa: E731
    assert sizes(written) == sizes(events)


def test_the_same_text_has_one_pseudonym_wherever_it_stands():
    redactor = Redactor.of(EVERYTHING, Pseudonyms(b"k" * 32))
    record = unpack(redactor.frame(2, pack(key("0.5.6", request_id="req-7f3a-alice"))))
    assert unpack(redactor.frame(2, pack("req-7f3a-alice"))) == record["request_id"] != "req-7f3a-alice"


def test_a_salt_that_no_server_takes_stays_one():
    redactor = Redactor.of(EVERYTHING, Pseudonyms(b"k" * 32))
    assert "@" in unpack(redactor.frame(2, pack(key("0.5.6", cache_salt="ab@cd"))))["cache_salt"]


def test_a_pickled_tensor_keeps_its_class_and_loses_its_names():
    fields = {
        "shm_name": SECRETS[3],
        "nbytes": 64,
        "dtype": "float16",
        "shape": [2],
        "stride": [1],
        "storage_offset": 0,
        "device_uuid": "u",
    }
    blob = encode_registration(Release.parse("0.5.5"), "CpuShmTensorWrapper", fields)
    made = Redactor.of(EVERYTHING, Pseudonyms(b"k" * 32)).frame(2, pack([Ext(1, blob)]))
    assert SECRETS[3].encode() in blob
    assert SECRETS[3].encode() not in made
    assert b"lmcache.v1.platform.cpu.shm" in made
    assert len(made) == len(pack([Ext(1, blob)]))


def test_of_what_is_no_multiprocess_wire_nothing_is_written_but_its_first_word():
    talk = Talk().open(client=b"POST /v1/secret HTTP/1.1\r\nAuthorization: Bearer hunter2\r\n\r\n", server=greeting())
    written = kept(talk.end().events)
    assert b"".join(one.data for one in written if one.side == "client") == b"POST"
    assert b"hunter2" not in in_file(written)


def test_a_password_is_never_written():
    hello = command(b"HELLO", b"\x05alice\x07hunter2")
    talk = Talk().open(client=greeting(mechanism=b"PLAIN") + hello[:9])
    talk.event(1, "client", "data", hello[9:])
    assert b"hunter2" not in in_file(kept(talk.end().events, Redacted()))


def test_of_long_payloads_the_beginning_is_written_and_the_rest_counted():
    talk = Talk("0.5.5").open().ask("COMMIT_STORE", key("0.5.5"), 7, bytes(50_000)).answer("COMMIT_STORE", True)
    written = kept(talk.end().events, Redacted(), limit=4096)
    assert sum(one.size for one in written) == sum(one.size for one in talk.events)
    assert sum(len(one.data) for one in written if one.side == "client") < 6000
    assert told(written) == told(talk.events)


@given(st.binary(min_size=1, max_size=80), st.integers(0, 3))
def test_a_redacted_frame_is_as_long_as_it_was_whatever_it_is(data, index):
    assert len(Redactor.of(EVERYTHING, Pseudonyms(b"k" * 32)).frame(index, data)) == len(data)


@given(st.lists(st.integers(0, 2**33), min_size=1, max_size=20))
def test_tokens_become_others_of_the_same_width(tokens):
    data = pack({"token_ids": tokens})
    made = Redactor.of(EVERYTHING, Pseudonyms(b"k" * 32)).frame(2, data)
    widths = lambda frame: [(one.start, one.end) for one in places(frame)]  # noqa: E731
    assert widths(made) == widths(data)
    assert pack(unpack(made)) == made
    again = [number(made, one.start) for one in places(made) if one.kind == "int"]
    assert len(set(again)) == len(set(tokens))
    assert len(again) == len(tokens)


@given(st.integers(0, 300))
@settings(max_examples=5)
def test_a_permutation_of_numbers_loses_none(high):
    numbers = Permutation(b"s" * 32)
    assert sorted(numbers.number(value, 0, high) for value in range(high + 1)) == list(range(high + 1))
