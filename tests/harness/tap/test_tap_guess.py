"""What release a side seems to be: never another than it is, and both sides are named where they do not fit together."""

import pytest
from tapped import NEW, OLD, captured, connect, hear, put, read_exactly, reply, request, talk

from fixturegen.corpus import captured_releases
from harness.tap.address import Address
from harness.tap.guess import ranges
from harness.tap.lm.generations import GENERATIONS
from harness.tap.lm.sides import first_wrong_byte
from mockserver.lm import LmServer
from wire.keys import any_key
from wire.lm.frames import Request, encode_request
from wire.lm.profile import lm_profile
from wire.release import Release

RELEASES = captured_releases()
NEWEST = [[one for one in RELEASES if one in generation.releases][-1] for generation in GENERATIONS]
TELLING = (
    "put-get",
    "get-miss",
    "cut-payload",
    "key-no-separators",
    "bad-dtype-nine",
    "identity-digest",
    "list-silent",
    "health",
)


@pytest.mark.parametrize("name", TELLING)
@pytest.mark.parametrize("release", NEWEST, ids=str)
def test_a_server_is_never_taken_for_another(release, name):
    server = hear(captured(release, name)).server
    assert server.may_be(release) or not server.seen


@pytest.mark.parametrize("release", NEWEST, ids=str)
def test_a_client_is_never_taken_for_another(release):
    client = hear(talk(("client", encode_request(lm_profile(release), Request("EXIST", any_key(release)))))).client
    assert client.may_be(release)
    assert len(client.candidates) < len(RELEASES)


@pytest.mark.parametrize(
    ("name", "first"), [("echo-format-ec-td", "0.4.5"), ("echo-format-hs-td", "0.5.1"), ("echo-shape-trailing-zeros", "0.4.4")]
)
def test_what_came_later_narrows_it_down(name, first):
    assert hear(captured(NEW, name)).client.words == f"{first} and later"


def test_a_whole_digest_is_from_before_it_was_folded():
    found = hear(talk(("client", put(b"v", f"m@1@0@{'ab' * 32}@half"))))
    assert found.client.words == "0.3.13 to 0.4.5"
    assert found.client.evidence[-1].weak


def test_what_no_release_writes_is_of_no_release():
    assert hear(talk(("client", request(3, "m@1@0@0x7F@half")))).client.words == "no release of lmcache"


def test_evidence_says_which_byte_tells():
    evidence = hear(talk(("client", request(3, "vllm@m@1@0@7f", old=True)))).client.evidence[0]
    assert (evidence.offset, evidence.excludes[0], evidence.what) == (32, Release.parse("0.3.3"), "a request header of 182 bytes")


def answered(header, release):
    """What the mock of a release does with one request: its reply, or the end of the connection, or silence."""
    layout = lm_profile(release).header
    if len(header) < layout.request_size:
        return [("client", "half-close"), ("server", "close")]  # it waits for the rest
    with LmServer(release) as server, connect(Address(*server.address)) as client:
        client.sendall(header)
        try:
            return [("server", read_exactly(client, layout.reply_size))]
        except ConnectionResetError:
            return [("server", "reset")]
        except AssertionError:
            return [("server", "half-close")]


@pytest.mark.parametrize("server", [NEWEST[0], NEWEST[1], NEWEST[4], NEWEST[-1]], ids=str)
@pytest.mark.parametrize("client", [NEWEST[0], NEWEST[3], NEWEST[-1]], ids=str)
def test_both_sides_are_named(client, server):
    header = encode_request(lm_profile(client), Request("EXIST", any_key(client)))
    events = talk(("client", header), *answered(header, server))
    events = [*events[:3], *(type(one)(one.at + 2, 1, one.side, one.do, one.data) for one in events[3:])]
    heard = hear(events)
    assert heard.client.may_be(client)
    assert heard.server.may_be(server)
    if "sides-differ" in heard.rules:
        assert not heard.client.may_be(server)


def test_the_first_wrong_byte_of_the_two_header_generations():
    found = hear([*talk(("client", request(3, "vllm@m@1@0@7f", old=True)))], later=10.0).of("sides-differ")
    assert (found.offset, found.expected, found.got) == (32, f"shape3 {int.from_bytes(b'vllm', 'little')}", "engine 'vllm'")


def test_the_location_of_a_put_is_the_first_wrong_byte():
    old_put = put(b"x" * 64, "vllm@m@1@0@7f", shape=(2, 1, 1, 32), fmt=1, old=True)
    wrong = first_wrong_byte([OLD], [NEW], old_put[:182])
    assert (wrong.place, wrong.meant, wrong.read) == (16, "shape0 2", "location 2 (LocalDiskBackend)")


def test_a_server_with_short_replies_is_told_from_the_client_that_expects_longer_ones():
    found = hear(
        talk(
            ("client", request(3, "m@1@0@7@half")),
            ("server", reply(400, old=True)),
            ("client", "half-close"),
            ("server", "close"),
        )
    )
    assert found.server.words == "0.3.1 to 0.3.2"
    assert "of a reply the client reads 36 bytes, and the server sends 32" in found.of("sides-differ").summary


def test_releases_are_told_as_ranges():
    assert (
        ranges([RELEASES[0], RELEASES[1], RELEASES[5], RELEASES[-1]]) == f"{RELEASES[0]} to {RELEASES[1]}, {RELEASES[5]}, {NEW}"
    )
    assert ranges(RELEASES[5:]) == f"{RELEASES[5]} and later"
