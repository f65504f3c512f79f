"""What is written down: headers whole, payloads up to a limit, and nothing of what was to be kept secret."""

import base64
from pathlib import Path

import pytest
from tapped import KEY, digest, hear, hit, put, reply, request, talk

from harness.tap.keeper import Keeper
from harness.tap.lm.keys import redact_key, writers
from harness.tap.lm.listener import LmListener
from harness.tap.pseudonyms import Pseudonyms
from harness.tap.recording import Header, Recorder, RecordingError, Redacted, load
from harness.tap.redact import redact

VALUE = bytes(range(256)) * 40
SECRETS = {
    "model": "acme/Secret-70B",
    "hash": "0123456789abcdef",
    "tag": "alice@corp".replace("@", "-"),
    "payload": "confidential!",
}
SECRET_KEY = f"{SECRETS['model']}@1@0@fe{SECRETS['hash']}@half@user%{SECRETS['tag']}"
SECRET_VALUE = SECRETS["payload"].encode() * 20
SAID = (
    ("client", put(SECRET_VALUE, SECRET_KEY)[:100]),
    ("client", put(SECRET_VALUE, SECRET_KEY)[100:] + request(2, SECRET_KEY)),
    ("server", hit(SECRET_VALUE)[:50]),
    ("server", hit(SECRET_VALUE)[50:]),
    ("client", request(3, SECRET_KEY)[:120]),
    ("client", "half-close"),
    ("server", "close"),
)


def kept(events, **wishes):
    listener = LmListener()
    keeper = Keeper(listener, **wishes)
    found = []
    for event in events:
        list(listener.hear(event))
        found += keeper.keep(event, listener.pieces() if event.do == "data" else ())
    return found + keeper.finish()


def data(events, side):
    return [event for event in events if event.do == "data" and event.side == side]


def test_everything_is_kept_within_the_limit():
    events = talk(("client", put(VALUE) + request(2)), ("server", hit(VALUE)))
    for side, whole in (("client", put(VALUE) + request(2)), ("server", hit(VALUE))):
        assert b"".join(event.data for event in data(kept(events, limit=len(VALUE)), side)) == whole


def test_a_long_payload_is_left_out_behind_its_beginning():
    events = talk(*(("client", piece) for piece in (put(VALUE)[:5000], put(VALUE)[5000:9000], put(VALUE)[9000:] + request(2))))
    found = data(kept(events, limit=100), "client")
    assert b"".join(event.data for event in found) == put(VALUE)[: 186 + 100] + request(2)
    (left_out,) = [event for event in found if event.length is not None]
    assert (left_out.length, left_out.sha256) == (len(VALUE) - 100, digest(VALUE))
    assert (left_out.at, left_out.until) == (events[2].at, events[4].at)


@pytest.mark.parametrize("limit", [0, 100, 1 << 20])
def test_the_same_is_found_with_and_without_payloads(limit):
    said = talk(("client", put(VALUE) + request(2) + request(3, "m@2@0@7f@half")), ("server", hit(VALUE) + reply(400)))
    assert [(one.rule.name, one.offset) for one in hear(kept(said, limit=limit)).findings] == [
        (one.rule.name, one.offset) for one in hear(said).findings
    ]


def forms(secret):
    """A text in the encodings in which it might be found."""
    raw = secret.encode()
    yield from (secret, raw.hex(), raw.hex().upper(), base64.b64encode(raw).decode()[:-4], secret[::-1], raw[1:-1].hex())


@pytest.mark.parametrize("afterwards", [False, True])
@pytest.mark.parametrize("secret", SECRETS)
def test_a_secret_is_nowhere_in_the_file(tmp_path, secret, afterwards):
    file, what = tmp_path / "tap.jsonl", Redacted(keys=True, payloads=True)
    recorder = Recorder(file, Header("lm", "a:1", "b:2", None, Redacted() if afterwards else what, "2026-11-30T00:00:00"))
    for event in kept(talk(*SAID), redacted=Redacted() if afterwards else what):
        recorder.event(event)
    recorder.close({})
    if afterwards:
        assert SECRETS[secret].encode()[1:-1].hex() in file.read_text()
        redact(file, tmp_path / "redacted.jsonl", what)
        file = tmp_path / "redacted.jsonl"
    text = file.read_text()
    assert [form for form in forms(SECRETS[secret]) if form in text] == []
    assert load(file).header.redacted == what


def open_files():
    return len(list(Path("/proc/self/fd").iterdir()))


def test_a_recording_that_cannot_be_read_to_its_end_leaves_no_file_behind_and_none_open(tmp_path):
    source, target = tmp_path / "tap.jsonl", tmp_path / "redacted.jsonl"
    Recorder(source, Header("lm", "a:1", "b:2", None, Redacted(), "2026-11-30T00:00:00")).close({})
    source.write_text(source.read_text() + "nothing of a recording\n")
    before = open_files()
    with pytest.raises(RecordingError, match="line 3"):
        redact(source, target, Redacted(keys=True))
    assert open_files() == before
    assert not target.exists()


def test_nothing_is_kept_of_what_is_neither_header_nor_payload():
    stream = bytes([9] * 200) + request(2, SECRET_KEY)
    found = kept(talk(("client", stream), ("client", put(SECRET_VALUE, SECRET_KEY))), redacted=Redacted(keys=True))
    assert SECRETS["model"].encode() not in b"".join(event.data for event in found)
    assert [event.sha256 for event in found if event.length is not None] == [""]


def test_a_digest_is_of_a_payload_alone_and_missing_where_it_began_among_bytes_that_are_none():
    lost = bytes([9] * 200) + put(VALUE)[:186]
    found = kept(talk(("client", lost), ("client", VALUE), ("client", put(VALUE))), limit=4096)
    assert [event.sha256 for event in found if event.length is not None] == ["", digest(VALUE)]


def test_a_value_behind_bytes_that_are_none_does_not_differ_from_itself():
    lost = bytes([9] * 200) + put(VALUE)[:186]
    said = talk(("client", lost), ("client", VALUE), ("client", request(2)), ("server", hit(VALUE)))
    assert "value-differs" not in hear(kept(said, limit=4096)).rules


@pytest.mark.parametrize("number", [0xAB, 0x1A2B3C4D5E6F, 0xFEDCBA9876543210, 10**18 + 0xA])
def test_a_pseudonym_of_a_hash_is_one_number_in_every_base(number):
    pseudonyms = Pseudonyms(b"s")
    decimal, hexadecimal = (pseudonyms.number(text, what="hash") for text in (f"{number}", f"{number:x}"))
    assert int(decimal) == int(hexadecimal, 16) != number
    assert (len(decimal), len(hexadecimal)) == (len(f"{number}"), len(f"{number:x}"))


def test_a_digest_of_a_secret_cannot_be_tried_out():
    found = kept(talk(*SAID), redacted=Redacted(payloads=True))
    told = {event.sha256 for event in found if event.sha256}
    assert len(told) == 1
    assert digest(SECRET_VALUE) not in told


def test_the_same_is_found_with_pseudonyms():
    asked = request(2) + request(3, "m@2@0@7f@half") + request(2, "m@1@0@7F@half")
    said = talk(
        ("client", put(VALUE) + put(VALUE, "other@1@0@7f@half") + asked), ("server", hit(VALUE) + reply(400) + reply(400))
    )
    plain, redacted = hear(said), hear(kept(said, redacted=Redacted(keys=True, payloads=True)))
    assert redacted.rules == plain.rules
    assert (redacted.client.candidates, redacted.server.candidates) == (plain.client.candidates, plain.server.candidates)


@pytest.mark.parametrize(
    "key",
    [
        KEY, "vllm@m/模型-7B@8@7@-1a2b3c4d5e6f@fp8_e4m3", "vllm@m@1@0@-6699771122", "m@1@0@00ab@half@3@user%alice",
        "a@b@1@0@7@half", "", "@@@@", "m@1@0@0xAB_CDEF@half", "lmcache", "m@1@0@7@half@lmcache.tag.user%x",
    ],
)  # fmt: skip
def test_a_pseudonym_has_the_grammar_and_the_length_of_the_key(key):
    made = redact_key(key, Pseudonyms(b"secret"))
    assert len(made.encode()) == len(key.encode())
    assert writers(made) == writers(key)
    assert [character for character in made if character in "@%"] == [character for character in key if character in "@%"]


def test_pseudonyms_are_equal_for_equal_parts_and_differ_otherwise():
    pseudonyms = Pseudonyms(b"secret")
    one, other = (redact_key(f"{model}@1@0@abcdef12@half", pseudonyms).split("@") for model in ("first-model", "other-model"))
    assert one[3] == other[3] != "abcdef12"
    assert one[0] != other[0]
    assert redact_key("m@1@0@ABCDEF12@half", pseudonyms).split("@")[3] == one[3].upper()
    assert redact_key("m@1@0@abcdef12@half", Pseudonyms()).split("@")[3] != one[3]
