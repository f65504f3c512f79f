"""The dissector for multiprocess servers names the operations of captured conversations, and leads from reply to request."""

import random

import msgspec
import pytest
from sharks import ROOT, rows, run
from zmtp import GREETING, exchanged, message, ready

from docs.generator.machine.wireshark_mp import mp_generations
from fixturegen.corpus import captured_releases, load_corpus
from reports.pcap import Event, segments, write_pcap
from wire.release import Release, ReleaseRange

PORT = 5555
SCRIPT = ROOT / "docs" / "spec" / "machine" / "lmcache_mp.lua"
RELEASES = captured_releases(protocol="mp")
SOME = [RELEASES[0], *(Release.parse(one) for one in ("0.3.15", "0.4.7", "0.5.4")), RELEASES[-1]]
FIELDS = ["tcp.srcport", "tcp.stream", "frame.number", "_ws.expert.message"]
FIELDS += [f"lmcache_mp.{name}" for name in ("operation", "operation.number", "payloads", "request_in", "fits", "greeting")]


@pytest.fixture(autouse=True)
def _its_script(monkeypatch):
    monkeypatch.setattr("sharks.LM", SCRIPT)


def conversations(release):
    return {one.id: found for one in load_corpus(release, protocol="mp").mp_transcripts if (found := exchanged(one))}


def talk(name, said, start, cut):
    """Events of a conversation over ZMTP; every connection greets before it speaks."""
    greeted = set()
    for index, (connection, side, frames) in enumerate(said):
        if connection not in greeted:
            greeted.add(connection)
            for sender, socket in (("client", b"DEALER"), ("server", b"ROUTER")):
                yield Event(start + index / 100, (name, connection), sender, "data", GREETING[:10])
                yield Event(start + index / 100, (name, connection), sender, "data", GREETING[10:] + ready(socket))
        data = message(frames)
        for place in range(0, len(data), cut):
            yield Event(start + index / 100, (name, connection), side, "data", data[place : place + cut])


def capture(path, said, cut=4000, changed=None):
    events = [event for start, (name, one) in enumerate(said.items()) for event in talk(name, one, start, cut)]
    with path.open("wb") as file:
        write_pcap(file, segments(changed(events) if changed else events), port=PORT)
    return list(dict.fromkeys(event.connection for event in events))


@pytest.mark.parametrize("release", SOME, ids=str)
def test_operations_of_captured_conversations_are_named_and_counted(release, tshark, tmp_path):
    said = conversations(release)
    connections = capture(tmp_path / "mp.pcap", said)
    (generation,) = [one for one in mp_generations() if release in one.releases]
    found = rows(
        tshark, tmp_path / "mp.pcap", "-Y", "lmcache_mp", "-o", f"lmcache_mp.generation:{generation.releases}", fields=FIELDS
    )

    numbered = captured_numbers(release)
    for stream, (name, connection) in enumerate(connections):
        here = [row for row in found if row["tcp.stream"] == [str(stream)]]
        for side in ("client", "server"):
            sent = [frames for where, who, frames in said[name] if (where, who) == (connection, side) and len(frames) > 1]
            told = [
                one
                for row in here
                if (row["tcp.srcport"] == [str(PORT)]) == (side == "server")
                for one in row["lmcache_mp.operation"]
            ]
            assert len(told) == len(sent), (name, side)
            for frames, operation in zip(sent, told, strict=True):
                number = plain(frames[1])
                assert operation == numbered.get(number, operation), name
                assert operation.startswith("unknown") == (number not in numbered), (name, number, operation)


def plain(frame):
    try:
        value = msgspec.msgpack.decode(frame)
    except msgspec.DecodeError:
        return None
    return None if isinstance(value, bool) else value


def captured_numbers(release):
    """Names by number, as captured."""
    found = {}
    for vector in load_corpus(release, protocol="mp").vectors["mp_operations"]:
        for one in vector.answer["operations"]:
            found[one["wire"]] = one["name"]
            if release >= RELEASES[-1]:
                found[one["name"].lower()] = one["name"]
    return found


@pytest.fixture(scope="module")
def read_twice(tshark, tmp_path_factory):
    """What two passes find in conversations of the newest release, cut into pieces of 7 bytes."""
    path = tmp_path_factory.mktemp("mp") / "mp.pcap"
    said = dict(list(conversations(RELEASES[-1]).items())[:40])
    capture(path, said, cut=7)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sharks.LM", SCRIPT)
        return said, rows(tshark, path, "-2", "-Y", "lmcache_mp", fields=FIELDS)


def test_a_reply_leads_to_the_request_of_the_same_operation(read_twice):
    _, found = read_twice
    requests = {row["frame.number"][0]: row for row in found if row["lmcache_mp.payloads"]}
    replies = [row for row in found if row["lmcache_mp.request_in"]]
    assert len(replies) > 30
    for row in replies:
        (asked,) = row["lmcache_mp.request_in"]
        assert requests[asked]["tcp.stream"] == row["tcp.stream"]
        assert requests[asked]["lmcache_mp.operation"] == row["lmcache_mp.operation"]


def test_payloads_are_counted_however_they_are_cut(read_twice):
    said, found = read_twice
    sent = sum(len(frames) - 2 for one in said.values() for _, side, frames in one if side == "client" and len(frames) > 1)
    assert sum(int(count) for row in found for count in row["lmcache_mp.payloads"]) == sent


def test_the_release_is_among_those_that_a_client_could_be(read_twice):
    _, found = read_twice
    told = [text for row in found for text in row["lmcache_mp.fits"]]
    fitting = [text for text in told if any(RELEASES[-1] in ReleaseRange.parse(part) for part in text.split("; "))]
    assert len(told) > 30
    assert len(fitting) > 0.8 * len(told)  # the rest are conversations about operations that no release has


def test_garbage_is_told_without_an_error_of_lua(tshark, tmp_path):
    chance = random.Random(20261130)

    def spoiled(events):
        for event in events:
            data = bytearray(event.data)
            for _ in range(chance.choice((0, 0, 1, 3)) if data else 0):
                data[chance.randrange(len(data))] = chance.randrange(256)
            yield Event(event.at, event.connection, event.sender, event.do, bytes(data))

    said = {(release, name): one for release in SOME[-2:] for name, one in conversations(release).items()}
    capture(tmp_path / "garbage.pcap", said, changed=spoiled)
    shown = run(tshark, tmp_path / "garbage.pcap", "-2", "-V", "-O", "lmcache_mp")
    assert shown.count("LMCache multiprocess server, ") > 300
    assert "bytes that are no ZMTP" in shown
    assert "Malformed Packet" not in shown
