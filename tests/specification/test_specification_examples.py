"""Every example of the specification is the capture that it names, byte by byte."""

import json
import re

import msgspec
import pytest
from specification_reader import CORPUS, PAGES, tables

CITED = re.compile(r"\(?\[(cases/corpus/([^/]+)/(mp/)?(\w+)\.jsonl)\]\(\.\./\.\./\1\), `([^`]+)`")
LINE = re.compile(r"^([0-9a-f]{4,}) {2,}((?:[0-9a-f]{2} )*[0-9a-f]{2}|[0-9a-f]{2} x \d+)(?=  |$)", re.MULTILINE)
TITLE = re.compile(r"^frame \d+,", re.MULTILINE)


def examples(page):
    """File and id of each example of a page, with the fenced blocks that follow before the next one."""
    text = (PAGES / page).read_text(encoding="utf-8")
    places = list(CITED.finditer(text))
    for place, following in zip(places, [*places[1:], None], strict=True):
        body = text[place.end() : following.start() if following else len(text)]
        yield place[1], place[5], re.findall(r"^```text\n(.*?)^```", body, re.MULTILINE | re.DOTALL), body


def line_of(path, identity):
    for line in (CORPUS.parents[1] / path).read_text(encoding="utf-8").splitlines():
        if f'"id": "{identity}"' in line:
            return json.loads(line)
    raise AssertionError(f"{path} has no {identity}")


def pieces(block):
    """The bytes of a block: one piece for each run of offsets from 0 on."""
    found = []
    for offset, written in LINE.findall(block):
        place = int(offset, 16)
        if place == 0:
            found.append(b"")
        assert place == len(found[-1]), f"{offset}: bytes are missing"
        byte, times, count = written.partition(" x ")
        found[-1] += bytes.fromhex(byte) * int(count) if times else bytes.fromhex(written)
    return found


@pytest.mark.parametrize("page", ["lm-examples.md", "keys-examples.md", "mp-examples.md"])
def test_every_example_names_a_capture_that_is_there(page):
    found = list(examples(page))
    assert len(found) > 8
    for path, identity, _, _ in found:
        assert line_of(path, identity)["id"] == identity


def test_the_frames_in_bytes_are_the_captured_frames():
    compared = 0
    for path, identity, shown, _ in examples("lm-examples.md"):
        vector = line_of(path, identity)
        if "steps" in vector:
            received = [step["got"]["bytes"] for step in vector["steps"] if step["do"] == "receive" and step["got"].get("bytes")]
            real = bytes.fromhex(received[0])
        else:
            real = bytes.fromhex(vector["ok"]["bytes"]["hex"])
        for block in shown:
            assert b"".join(pieces(block)) == real, identity
            compared += 1
    assert compared >= 10


def test_the_messages_in_bytes_are_the_captured_messages():
    compared = 0
    for path, identity, shown, _ in examples("mp-examples.md"):
        vector = line_of(path, identity)
        for block in shown:
            found = pieces(block)
            if path.endswith(("mp_encode_request.jsonl", "mp_encode_reply.jsonl")):
                assert found == [bytes.fromhex(frame["hex"]) for frame in vector["ok"]["frames"]], identity
            elif path.endswith("mp_encode_registration.jsonl"):
                assert found == [bytes.fromhex(vector["ok"]["bytes"]["hex"])], identity
            elif path.endswith("transcripts.jsonl") and TITLE.search(block):
                assert [each.hex() for each in found] in messages(vector), identity
            elif path.endswith("transcripts.jsonl"):
                assert any(found[0].hex() in part for message in messages(vector) for part in message), identity
            else:
                continue
            compared += 1
    assert compared > 20


def messages(transcript):
    """Messages of a conversation that consist of plain frames, without those that are empty."""
    found = []
    for step in transcript["steps"]:
        got = step.get("got", {})
        frames = step.get("frames") or (got.get("frames") if isinstance(got, dict) else None)
        if frames:
            found.append([frame for frame in frames if isinstance(frame, str) and frame])
    return found


def test_each_explained_value_stands_beside_its_own_bytes():
    """Numbers and texts of msgpack, decoded from the bytes of their line."""
    text = (PAGES / "mp-examples.md").read_text(encoding="utf-8")
    compared = 0
    for line in text[text.index("## A lookup") : text.index("## A stream")].splitlines():
        row = re.match(r"^[0-9a-f]{4}  ((?:[0-9a-f]{2} )*[0-9a-f]{2}) {2,}(\S.*)$", line)
        whole = row and len(bytes.fromhex(row[1])) < 12
        if whole and re.fullmatch(r'\d+|nil|true|false|"[^"]*"', row[2]):
            value = msgspec.msgpack.decode(bytes.fromhex(row[1]))
            assert json.dumps(value) == row[2].replace("nil", "null"), line
            compared += 1
    assert compared > 60


def test_each_step_of_a_chain_is_chained_to_the_one_before():
    """What an example of digests hashes names the digest of the chunk before it."""
    for path, identity, (block,), _ in (each for each in examples("keys-examples.md") if each[2]):
        del path
        digests = re.findall(r"^sha256 +([0-9a-f]{64})", block, re.MULTILINE)
        for digest, following in zip(digests, re.split(r"^chunk ", block, flags=re.MULTILINE)[2:], strict=False):
            forms = {digest, bytes.fromhex(digest[:16]).hex(" "), bytes.fromhex(digest[-16:]).hex(" ")}
            assert any(form.lstrip("0 ") in following for form in forms), identity


def test_the_keys_of_an_example_are_the_captured_keys():
    compared = 0
    for path, identity, (block,), _ in (each for each in examples("keys-examples.md") if each[2]):
        vector = line_of(path, identity)
        shown = re.findall(r"^(?:key|blake3) +(\S+)$", block, re.MULTILINE)
        real = [each["key"] for each in vector["ok"]["chunks"]] if "chunks" in vector["ok"] else vector["ok"]["hashes"]
        assert shown, identity
        assert shown == real[: len(shown)], identity
        compared += len(shown)
    assert compared > 20


def test_the_published_conversations_have_the_steps_of_the_captured_ones():
    for path, identity, _, body in (each for each in examples("lm-examples.md") if "| the client | the server |" in each[3]):
        vector = line_of(path, identity)
        rows = body[body.index("| the client") :].split("\n\n")[0].splitlines()[2:]
        assert len(rows) == len(vector["steps"]), identity
        for row, step in zip(rows, vector["steps"], strict=True):
            if step["do"] == "receive" and step["got"]["closed"]:
                assert "ends the connection" in row
            if step["do"] == "receive" and not step["got"]["closed"] and not step["got"]["bytes"]:
                assert "nothing" in row


def test_names_of_objects_end_with_what_was_captured():
    (example,) = [each for each in examples("mp-examples.md") if each[0].endswith("mp_object_keys.jsonl")]
    vector = line_of(example[0], example[1])
    assert re.findall(r"^name +(\S+)$", example[2][0], re.MULTILINE) == vector["ok"]["names"]
    assert tables("mp.md", "Names of objects")
