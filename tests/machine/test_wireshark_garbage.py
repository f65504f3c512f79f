"""Whatever is in a capture, the dissector says something about it, and Lua never fails."""

import random

import pytest
from sharks import LM, PORT, capture, run
from spoken import Said, spoken

from fixturegen.corpus import captured_releases, load_corpus
from reports.pcap import Event, segments, write_pcap
from wire.release import Release

SEED = 20261130
CONNECTIONS = 300
KINDS = [Release.parse(one) for one in ("0.3.2", "0.3.5", "0.3.12")] + captured_releases()[-1:]


def flipped(data, chance):
    place = chance.randrange(len(data))
    return data[:place] + bytes([data[place] ^ 1 << chance.randrange(8)]) + data[place + 1 :]


def cut_short(data, chance):
    return data[: chance.randrange(len(data))]


def with_more(data, chance):
    place = chance.randrange(len(data))
    return data[:place] + chance.randbytes(chance.choice((1, 4, 32, 500))) + data[place:]


def without_some(data, chance):
    place = chance.randrange(len(data))
    return data[:place] + data[place + chance.choice((1, 4, 36, 150)) :]


def with_odd_number(data, chance):
    """An int32 of the header is one at an edge."""
    number = chance.choice((0, -1, 2**31 - 1, -(2**31), 256, 65536, 1 << 20))
    place = 4 * chance.randrange(9)
    return data[:place] + number.to_bytes(4, "little", signed=True) + data[place + 4 :]


def noise(data, chance):
    return chance.randbytes(len(data))


def odd_key(data, chance):
    """The key field has signs that mean something to somebody."""
    return (
        data[:36] + chance.choice((b"@" * 150, b"%d%s%n" * 25, b"\0" * 150, b"\xff" * 150, b"a@1@1@" + b"f" * 144)) + data[186:]
    )


MUTATIONS = (flipped, cut_short, with_more, without_some, with_odd_number, noise, odd_key)


def mutated(chance):
    """Connections of captured conversations, most with something wrong in what one side sends."""
    for number in range(CONNECTIONS):
        transcripts = load_corpus(chance.choice(KINDS)).transcripts
        said = [one for one in spoken(chance.choice(transcripts)) if len(one.data) < 5000]
        for one in said:
            data = one.data
            if data and chance.random() < 0.5:
                data = chance.choice(MUTATIONS)(data, chance)
            size = chance.choice((11, 100, 5000)) if len(data) < 600 else 5000
            for place in range(0, max(len(data), 1), size):
                piece = data[place : place + size]
                if piece or not one.data:
                    yield Event(number + place / 1e6, (number, one.connection), one.sender, one.do, piece)


def lossy(packets, chance):
    """Packets in an order of their own, some twice and some never."""
    found = list(packets)
    for place in range(len(found) - 1):
        if chance.random() < 0.05:
            found[place], found[place + 1] = found[place + 1], found[place]
    return [one for one in found for _ in range(chance.choices((0, 1, 2), (2, 96, 2))[0])]


@pytest.fixture(scope="module")
def garbage(tmp_path_factory):
    path = tmp_path_factory.mktemp("garbage") / "garbage.pcap"
    chance = random.Random(SEED)
    with path.open("wb") as file:
        assert write_pcap(file, lossy(segments(mutated(chance)), chance), port=PORT) > 4000
    return path


@pytest.mark.parametrize(
    "arguments",
    [["-2"], ["-o", "tcp.desegment_tcp_streams:FALSE", "-o", "lmcache.generation:0.3.1 to 0.3.2"]],
    ids=["two passes", "without reassembly, as another release"],
)
def test_garbage_is_told_without_an_error_of_lua(arguments, garbage, tshark):
    shown = run(tshark, garbage, "-V", "-O", "lmcache", *arguments)
    assert "Lua Error" not in shown
    assert "Malformed Packet" not in shown
    assert shown.count("LMCache remote store, ") > 1000
    assert "out of step" in shown


def test_a_conversation_of_another_protocol_is_out_of_step_and_nothing_else(tshark, tmp_path):
    said = [
        Said("a", "client", "data", b"GET / HTTP/1.1\r\nHost: somewhere\r\n\r\n"),
        Said("a", "server", "data", b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"),
    ]
    capture(tmp_path / "http.pcap", {"http": said})
    shown = run(tshark, tmp_path / "http.pcap", "-Y", "lmcache")
    assert [line.rpartition("LMCache")[2].split(maxsplit=1)[1] for line in shown.splitlines()] == ["Out of step"] * 2


def test_a_fault_of_lua_would_be_noticed(tshark, tmp_path, monkeypatch):
    put = next(one for one in load_corpus(KINDS[-1]).transcripts if one.id == "lm.server.put-get")
    capture(tmp_path / "put.pcap", {"put": list(spoken(put))})
    broken = tmp_path / "broken.lua"
    monkeypatch.setattr("sharks.LM", broken)
    head = "local function described_size(numbers)\n"
    broken.write_text(LM.read_text().replace(head, f"{head}    numbers = numbers.x.y\n"))
    with pytest.raises(AssertionError):
        run(tshark, tmp_path / "put.pcap", "-V")
