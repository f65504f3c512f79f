"""The acts: each a function that does something to a server, and a row that says what must come of it."""

from __future__ import annotations

import contextlib
import functools
import random
import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from harness.hostile.act import WHILE, Act, ended, nothing_stored, nothing_stored_later
from harness.hostile.attack import PAYLOAD, Attack
from harness.leaks import room_for
from harness.peers import Peer
from wire.lm.profile import KEY_FIELD_SIZE, lm_profile
from wire.release import Release

HUGE: Final = 2**31 - 1
CROWD: Final = 300
PIPELINE: Final = 500
DEAF: Final = 20_000
"""Requests whose replies nobody reads: together more than sockets of a loopback hold."""
OVER: Final = 10.0
"""Seconds that a peer waits for a server to see that it sends no more."""

_Steps = Callable[[Attack], Iterator[None]]


def _held(steps: _Steps) -> Callable[[Attack], contextlib.AbstractContextManager[None]]:
    return contextlib.contextmanager(steps)


def _cut(command: str, place: Callable[[int], int], end: Callable[[Peer], object]) -> _Steps:
    """A request for each of both keys that is cut somewhere, and then the connection does something."""

    def steps(attack: Attack) -> Iterator[None]:
        for key in attack.targets:
            peer = attack.peer()
            whole = attack.put(key) if command == "PUT" else attack.header(command, key)
            peer.send(whole[: place(peer.header_size)])
            end(peer)
        yield

    return steps


def _half_header(size: int) -> int:
    return size // 2


def _half_payload(size: int) -> int:
    return size + PAYLOAD // 2


def _header_alone(size: int) -> int:
    return size


def _all_but_one(size: int) -> int:
    return size + PAYLOAD - 1


def _silence(_: Peer) -> None:
    return


def _orderly(peer: Peer) -> None:
    """End the stream, and wait until the server has seen it."""
    peer.half_close()
    peer.rest(within=OVER)


def _reset(peer: Peer) -> None:
    peer.reset()


def _byte_by_byte(attack: Attack) -> Iterator[None]:
    peer = attack.peer()
    whole = attack.header("EXIST", attack.older)
    for place in range(len(whole) - 1):
        peer.send(whole[place : place + 1])
    yield
    peer.send(whole[-1:])
    peer.yes()


def _crowd(attack: Attack) -> Iterator[None]:
    room_for(2 * CROWD + 64)  # the mock is in this process, and has the other ends
    attack.peers(CROWD)
    yield


def _come_and_go(end: Callable[[Peer], object]) -> _Steps:
    def steps(attack: Attack) -> Iterator[None]:
        for _ in range(CROWD):
            with attack.peer() as peer:
                end(peer)
        yield

    return steps


def _deaf(attack: Attack) -> Iterator[None]:
    for peer in attack.peers(4):
        peer.send(attack.header("GET", attack.big))
    yield


def _sip(attack: Attack) -> Iterator[None]:
    peer = attack.peer()
    peer.send(attack.header("GET", attack.big))
    for _ in range(200):
        peer.first_byte()
    yield


def _leave_in_mid_reply(end: Callable[[Peer], object]) -> _Steps:
    def steps(attack: Attack) -> Iterator[None]:
        for peer in attack.peers(4):
            peer.send(attack.header("GET", attack.big))
            peer.header()
            end(peer)
        yield

    return steps


def _leave_after_request(end: Callable[[Peer], object]) -> _Steps:
    def steps(attack: Attack) -> Iterator[None]:
        for command in ("EXIST", "GET", "HEALTH", "LIST"):
            for key in attack.targets:
                peer = attack.peer()
                peer.send(attack.header(command, key))
                end(peer)
        yield

    return steps


def _pipeline(attack: Attack) -> Iterator[None]:
    peer = attack.peer()
    peer.send(attack.header("EXIST", attack.older) * PIPELINE)
    yield
    for _ in range(PIPELINE):
        peer.yes()


def _deaf_pipeline(attack: Attack) -> Iterator[None]:
    peer = attack.peer()
    peer.try_to_send(attack.header("EXIST", attack.older) * DEAF, within=0.5)
    yield


def _list_flood(attack: Attack) -> Iterator[None]:
    peer = attack.peer()
    peer.try_to_send(attack.header("LIST", attack.older) * PIPELINE, within=0.5)
    yield


def _claims(length: int, end: Callable[[Peer], object], *, sent: int = 1000) -> _Steps:
    """PUTs that claim a length and send little of it."""

    def steps(attack: Attack) -> Iterator[None]:
        for key in attack.targets * 4:
            peer = attack.peer()
            peer.send(attack.header("PUT", key, length=length) + bytes(sent))
            end(peer)
        yield

    return steps


def _negative(attack: Attack) -> Iterator[None]:
    for key in attack.targets:
        for length in (-1, -(2**31)):
            attack.suspect(attack.header("PUT", key, length=length))
    yield


def _surplus(attack: Attack) -> Iterator[None]:
    """Bytes behind the announced payload of a PUT."""
    peer = attack.peer()
    peer.send(attack.put(attack.keys(hash=0xB0B)) + b"surplus" * 40)
    _orderly(peer)
    yield


def _senseless(*frames: Callable[[Attack], bytes]) -> _Steps:
    """Requests that are none, each on a connection of its own, which stays open."""

    def steps(attack: Attack) -> Iterator[None]:
        for frame in frames:
            attack.suspect(frame(attack))
        yield

    return steps


def _bad_put(field: str, *values: int) -> _Steps:
    """PUTs with a senseless number for both keys; their payload is all there, so that a server may read it first."""

    def steps(attack: Attack) -> Iterator[None]:
        for key in attack.targets:
            for value in values:
                attack.suspect(attack.put(key, **{field: value}))
        yield

    return steps


def _bad_command(attack: Attack) -> Iterator[None]:
    for number in (0, 6, -1, 2 << 24):
        attack.suspect(attack.header("EXIST", attack.older, command=number))
    yield


def _raw_keys(*raw: bytes) -> _Steps:
    def steps(attack: Attack) -> Iterator[None]:
        for key in raw:
            attack.suspect(attack.with_key("EXIST", key))
        yield

    return steps


def _odd_keys(attack: Attack) -> Iterator[None]:
    """Keys that a server may take for some or refuse: padded with zeros, with a line feed, a path, control characters."""
    for name in (b"\0" * KEY_FIELD_SIZE, b"../../../../../tmp/lmconform", b"key\nkey\r\n", bytes(range(1, 32)), b"%s%n{0}$(id)"):
        for command in ("PUT", "GET", "EXIST"):
            peer = attack.peer()
            body = bytes(PAYLOAD) if command == "PUT" else b""
            peer.try_to_send(attack.with_key(command, name) + body, within=OVER)
    padded = attack.header("PUT", attack.fresh)
    zeros = padded[:-KEY_FIELD_SIZE] + padded[-KEY_FIELD_SIZE:].rstrip(b" ").ljust(KEY_FIELD_SIZE, b"\0")
    attack.peer().try_to_send(zeros + bytes(PAYLOAD), within=OVER)
    yield


def _other_generation(attack: Attack) -> bytes:
    """A PUT as a release of the other header size writes it: one word more or less in front of the dimensions."""
    own = attack.put(attack.fresh)
    head = own[:16]
    return head + (own[20:] if attack.profile.has_location else bytes(4) + own[16:])


def _other_release(attack: Attack) -> Iterator[None]:
    for end in (_silence, _orderly):
        peer = attack.peer()
        peer.try_to_send(_other_generation(attack) * 2, within=OVER)
        end(peer)
    yield


def _noise(attack: Attack, size: int = 4096) -> bytes:
    return random.Random(f"noise for {attack.release}").randbytes(size)  # noqa: S311  # the same bytes each time


def _big_endian(attack: Attack) -> bytes:
    own = attack.header("GET", attack.older)
    count = len(attack.profile.header.request)
    return struct.pack(f">{count}i", *struct.unpack(f"<{count}i", own[: 4 * count])) + own[4 * count :]


def _out_of_band(attack: Attack) -> Iterator[None]:
    peer = attack.peer()
    frame = attack.header("EXIST", attack.older)
    peer.send(frame[:50])
    peer.send_urgent(b"!")
    yield


def _web(_: Attack) -> bytes:
    fields = "".join(f"X-Probe-{number}: lmconform\r\n" for number in range(20))
    return f"GET / HTTP/1.1\r\nHost: localhost\r\n{fields}\r\n".encode()


def _tls(_: Attack) -> bytes:
    """A ClientHello, as far as a server has to read to see that it is none of its own."""
    body = b"\x03\x03" + bytes(range(32)) + b"\x20" + bytes(range(32)) + b"\x00\x02\x13\x01\x01\x00\x01\x72" + bytes(370)
    hello = b"\x01" + len(body).to_bytes(3, "big") + body
    return b"\x16\x03\x01" + len(hello).to_bytes(2, "big") + hello


def _redis(_: Attack) -> bytes:
    return b"*3\r\n$3\r\nSET\r\n$9\r\nlmconform\r\n$200\r\n" + b"x" * 200 + b"\r\n"


_LATER: Final = nothing_stored_later
_EARLY: Final = functools.partial(nothing_stored, when=WHILE)
_REFUSED: Final = (ended("SRV-LM-043"),)

ACTS: Final[Sequence[Act]] = (
    Act("header-byte-by-byte", "a header that comes byte by byte and lacks its last one", _held(_byte_by_byte)),
    Act("half-header-silence", "half a header and then silence", _held(_cut("PUT", _half_header, _silence))),
    Act(
        "half-header-close",
        "half a header and the end of the connection",
        _held(_cut("PUT", _half_header, _orderly)),
        must=(nothing_stored("SRV-LM-024"),),
    ),
    Act(
        "half-header-reset",
        "half a header and a reset",
        _held(_cut("PUT", _half_header, _reset)),
        must=(_LATER("SRV-LM-024"),),
    ),
    Act(
        "payload-stalls",
        "half a payload and then silence",
        _held(_cut("PUT", _half_payload, _silence)),
        must=(_EARLY("SRV-LM-009"),),
    ),
    Act(
        "payload-stalls-at-its-end",
        "a payload that lacks its last byte, and then silence",
        _held(_cut("PUT", _all_but_one, _silence)),
        must=(_EARLY("SRV-LM-009"),),
    ),
    Act(
        "payload-reset",
        "half a payload and a reset",
        _held(_cut("PUT", _half_payload, _reset)),
        must=(_LATER("SRV-LM-024"),),
    ),
    Act(
        "payload-close",
        "half a payload and the end of the connection",
        _held(_cut("PUT", _half_payload, _orderly)),
        should=(nothing_stored("SRV-LM-040"),),
    ),
    Act(
        "payload-close-at-its-end",
        "a payload that lacks its last byte, and the end of the connection",
        _held(_cut("PUT", _all_but_one, _orderly)),
        should=(nothing_stored("SRV-LM-040"),),
    ),
    Act(
        "no-payload",
        "a PUT without any of its payload, and the end of the connection",
        _held(_cut("PUT", _header_alone, _orderly)),
        should=(nothing_stored("SRV-LM-040"),),
    ),
    Act("surplus", "bytes behind a payload that are no request", _held(_surplus)),
    Act("crowd", f"{CROWD} connections that say nothing", _held(_crowd)),
    Act("connect-close", f"{CROWD} connections that are closed at once", _held(_come_and_go(Peer.close))),
    Act("connect-reset", f"{CROWD} connections that are reset at once", _held(_come_and_go(Peer.reset))),
    Act("deaf-readers", "four peers that ask for a value of 12 MiB and do not read", _held(_deaf)),
    Act("sips", "a peer that reads a value of 12 MiB byte by byte", _held(_sip)),
    Act("leave-in-mid-reply", "peers that go away in the middle of a long reply", _held(_leave_in_mid_reply(Peer.close))),
    Act("reset-in-mid-reply", "peers that reset in the middle of a long reply", _held(_leave_in_mid_reply(Peer.reset))),
    Act("leave-after-request", "peers that go away behind a request", _held(_leave_after_request(Peer.close))),
    Act("reset-after-request", "peers that reset behind a request", _held(_leave_after_request(Peer.reset))),
    Act("pipeline", f"{PIPELINE} requests before the first reply is read", _held(_pipeline)),
    Act("deaf-pipeline", f"{DEAF} requests whose replies nobody reads", _held(_deaf_pipeline)),
    Act("list-flood", f"{PIPELINE} LISTs whose replies, if there are any, nobody reads", _held(_list_flood)),
    Act("claims-huge", "eight PUTs that claim 2 GiB and stop", _held(_claims(HUGE, _silence)), must=(_EARLY("SRV-LM-009"),)),
    Act(
        "claims-huge-close",
        "eight PUTs that claim 2 GiB, and the end of their connections",
        _held(_claims(HUGE, _orderly)),
        should=(nothing_stored("SRV-LM-040"),),
    ),
    Act(
        "claims-huge-reset",
        "eight PUTs that claim 2 GiB, and a reset",
        _held(_claims(HUGE, _reset)),
        must=(_LATER("SRV-LM-024"),),
    ),
    Act(
        "claims-less-than-nothing",
        "PUTs of negative length",
        _held(_negative),
        should=(ended("SRV-LM-041"), nothing_stored("SRV-LM-041")),
    ),
    Act("bad-command", "commands that the release does not have", _held(_bad_command), should=_REFUSED),
    Act(
        "bad-dtype",
        "PUTs with a dtype that the release does not have",
        _held(_bad_put("dtype", 9, -1, 2 << 24)),
        must=(nothing_stored("SRV-LM-025"),),
        should=_REFUSED,
    ),
    Act(
        "bad-format",
        "PUTs with a format that the release does not have",
        _held(_bad_put("format", 9, -1, HUGE)),
        must=(nothing_stored("SRV-LM-025"),),
        should=_REFUSED,
    ),
    Act(
        "bad-location",
        "PUTs with a location that the release does not have",
        _held(_bad_put("location", 3, -1)),
        must=(nothing_stored("SRV-LM-025"),),
        should=_REFUSED,
        about_locations=True,
    ),
    Act("bad-keys", "key fields that are no keys", _held(_raw_keys(b"", b"key", b"\xff\xfe\xfd@1@0", b"@@@")), should=_REFUSED),
    Act("odd-keys", "keys padded with zeros, with control characters, and paths", _held(_odd_keys)),
    Act("other-release", "PUTs of a release with headers of another size", _held(_other_release)),
    Act("big-endian", "a header in the other byte order", _held(_senseless(_big_endian)), should=_REFUSED),
    Act("ones", "a header of 0xff bytes", _held(_senseless(lambda _: b"\xff" * 400)), should=_REFUSED),
    Act("noise", "random bytes", _held(_senseless(_noise)), should=_REFUSED),
    Act("web", "a request of a browser", _held(_senseless(_web)), should=_REFUSED),
    Act("tls", "the first message of a TLS client", _held(_senseless(_tls)), should=_REFUSED),
    Act("redis", "a command for a Redis server", _held(_senseless(_redis)), should=_REFUSED),
    Act("out-of-band", "an urgent byte in the middle of a header", _held(_out_of_band)),
)
"""In the order in which they are shown."""


def acts(release: Release) -> list[Act]:
    """The acts that say something of a release."""
    return [act for act in ACTS if lm_profile(release).has_location or not act.about_locations]
