"""Random programs of good requests against a model, and values that are long, many or oddly named: all of it MUST."""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from harness.answered import answered
from harness.case import SERVERS, case
from harness.examples import Examples
from harness.judge import Judge
from harness.leaks import blame
from harness.listing import reply_to_list
from harness.peers import Peer
from harness.reference.values import key_from_json
from harness.stamped import Stamp
from harness.targets import Server
from harness.values import Keys
from wire.keys import KEY_GRAMMARS, format_key
from wire.lm.profile import KEY_FIELD_SIZE, LmProfile
from wire.release import Release

COMMANDS = {"PUT": 1, "GET": 2, "EXIST": 3, "HEALTH": 5}
MISS = (0, 1, 2, 0, 0, 0, 0)
"""Length, format, dtype and shape of a reply that describes nothing."""
LONG = 64 << 20
MANY = 4000


@dataclass(frozen=True)
class Asked:
    """One request of a program; ``about`` is length, format, dtype and four dimensions as the header has them."""

    command: str
    which: int
    about: tuple[int, ...]
    location: int
    payload: bytes


@dataclass
class Model:
    """What a server has to answer, derived from the requests in a few lines and from nothing else."""

    profile: LmProfile
    values: dict[int, Asked] = field(default_factory=dict)

    def answer(self, asked: Asked) -> bytes:
        """The bytes of the reply; none for a PUT."""
        if asked.command == "PUT":
            self.values[asked.which] = asked
            return b""
        found = self.values.get(asked.which)
        if asked.command == "GET" and found is not None:
            return self._header(200, found.about) + found.payload
        return self._header(200 if asked.command == "HEALTH" or found is not None else 400, MISS)

    def _header(self, code: int, about: tuple[int, ...]) -> bytes:
        location = (0,) if self.profile.has_location else ()
        return struct.pack(f"<{8 + len(location)}i", code, *about, *location)


@case(
    *("SRV-LM-003", "SRV-LM-001", "SRV-LM-004", "SRV-LM-005", "SRV-LM-006", "SRV-LM-007", "SRV-LM-008", "SRV-LM-009"),
    *("SRV-LM-011", "SRV-LM-013"),
    targets=SERVERS,
    judges="server",
    runs=("server",),
)
def test_programs(judge: Judge, server: Server, release: Release, profile: LmProfile, keys: Keys, examples: Examples) -> None:
    """Random requests over three connections, in pieces and several at once, are answered from what was stored before."""
    numbers = iter(range(1 << 30))

    @examples
    @given(st.lists(st.tuples(st.integers(0, 2), batches(profile), st.sampled_from([1 << 20, 100, 7])), min_size=1, max_size=8))
    def check(drawn: list[tuple[int, list[Asked], int]]) -> None:
        model = f"{keys.model}/{next(numbers)}"
        fields = [format_key(release, key_from_json(keys(model=model, hash=number))) for number in range(4)]
        expected = Model(profile)
        with answered(judge, server), contextlib.ExitStack() as stack:
            peers = [stack.enter_context(Peer(release, server)) for _ in range(3)]
            for connection, batch, piece in drawn:
                # A HEALTH behind them shows what was sent too much, and that the last PUT is over before others ask.
                whole = [*batch, Asked("HEALTH", 0, MISS, 0, b"")]
                due = b"".join(expected.answer(asked) for asked in whole)
                data = b"".join(request(profile, asked, fields[asked.which]) for asked in whole)
                size = max(piece, len(data) // 100)
                for start in range(0, len(data), size):
                    peers[connection].send(data[start : start + size])
                judge.same_bytes(
                    due,
                    peers[connection].take(len(due)),
                    what=f"the replies to {', '.join(asked.command for asked in whole)} on connection {connection + 1}",
                    describe=judge.as_reply,
                )

    check()


def request(profile: LmProfile, asked: Asked, key: str) -> bytes:
    """The bytes of a request, derived from the table of fields alone."""
    length, *rest = asked.about
    values = dict(zip(("format", "dtype", "shape0", "shape1", "shape2", "shape3"), rest, strict=True))
    values |= {"command": COMMANDS[asked.command], "length": length, "location": asked.location}
    header = struct.pack(f"<{len(profile.header.request)}i", *(values[name] for name in profile.header.request))
    return header + key.encode().ljust(KEY_FIELD_SIZE) + asked.payload


def batches(profile: LmProfile) -> st.SearchStrategy[list[Asked]]:
    """Requests that are sent at once; the description of one that is no PUT selects nothing."""
    numbers = st.tuples(
        st.integers(0, profile.highest_format),
        st.sampled_from([0, 2, 3, 4, 5, 6, 7, 8]),
        *(st.sampled_from([0, 0, 1, 2, 16, 255, 65536, 2**31 - 1]) for _ in range(4)),
    )
    location = st.integers(0, 2) if profile.has_location else st.just(0)
    same_length = st.sampled_from([b"0" * 24, b"1" * 24])
    payloads = (
        same_length | st.binary(max_size=60) | st.integers(1, 40_000).map(lambda size: Stamp(1, 1, size).payload(max(size, 24)))
    )

    def asked(command: str, which: int, about: tuple[int, ...], place: int, payload: bytes, length: int) -> Asked:
        if command == "PUT":
            return Asked(command, which, (len(payload), *about), place, payload)
        return Asked(command, which, (length, *about), place, b"")

    one = st.builds(
        asked,
        st.sampled_from(["PUT", "PUT", "GET", "GET", "EXIST", "HEALTH"]),
        st.integers(0, 3),
        numbers,
        location,
        payloads,
        st.sampled_from([0, 0, 0, 5, 70_000]),
    )
    return st.lists(one, min_size=1, max_size=6)


@case("SRV-LM-007", "SRV-LM-001", targets=SERVERS, judges="server", runs=("server",))
def test_list_keeps_the_order(judge: Judge, server: Server, release: Release, keys: Keys) -> None:
    """A LIST is not answered, or by one reply in its turn, and the requests behind it get their own replies."""
    stored, missing = keys.several(2)
    with answered(judge, server), Peer(release, server) as peer:
        peer.put(stored, bytes(70))
        reply_to_list(peer, stored)
        for turn in range(2):
            judge.holds(peer.exist(stored), f"EXIST of a stored key failed behind LIST, turn {turn + 1}", kind=blame(server))
            judge.holds(peer.get(missing) is None, f"a missing key was found behind LIST, turn {turn + 1}", kind=blame(server))


@case("SRV-LM-002", targets=SERVERS, judges="server", runs=("server",))
def test_headers_in_one_piece(judge: Judge, server: Server, release: Release, keys: Keys) -> None:
    """One ``recv`` brings a whole reply header, as the real client needs it, whatever the request."""
    stored, missing = keys.several(2)
    with answered(judge, server), Peer(release, server) as peer:
        peer.put(stored, bytes(500))
        for turn in range(30):
            for command, key, follows in (
                *(("EXIST", stored, 0), ("GET", stored, 500), ("HEALTH", stored, 0)),
                *(("EXIST", missing, 0), ("GET", missing, 0)),
            ):
                peer.send(peer.frame(command, key))
                piece = peer.first_piece()
                judge.holds(
                    len(piece) == peer.reply_size,
                    f"one recv brought {len(piece)} of {peer.reply_size} bytes of the reply header of {command}, turn {turn + 1}",
                    kind=blame(server),
                )
                peer.take(follows)


@case("SRV-LM-014", targets=SERVERS, judges="server", runs=("server",), once_for="frames")
def test_a_long_value(judge: Judge, server: Server, release: Release, keys: Keys) -> None:
    """A value of 64 MiB comes back as it was."""
    key, value = keys(), Stamp(1, 1, 1).payload(LONG)
    with answered(judge, server), Peer(release, server) as peer:
        peer.put(key, value)
        judge.holds(peer.get(key) == value, "a value of 64 MiB did not come back as it was", kind=blame(server))
        peer.put(key, b"short")  # so that nobody's server keeps what no one asks for again
        judge.holds(peer.get(key) == b"short", "the value that replaced one of 64 MiB did not come back", kind=blame(server))


@case("SRV-LM-014", "SRV-LM-010", targets=SERVERS, judges="server", runs=("server",), once_for="frames")
def test_many_keys(judge: Judge, server: Server, release: Release, keys: Keys) -> None:
    """4,000 keys keep their own values, whether they are asked for in one go or one by one."""
    names = keys.several(MANY)
    values = [Stamp(number, 1, number).payload(24 + number % 100) for number in range(MANY)]
    with answered(judge, server), Peer(release, server) as writer, Peer(release, server) as reader:
        for start in range(0, MANY, 100):
            batch = range(start, start + 100)
            writer.send(b"".join(writer.frame("PUT", names[number], values[number]) for number in batch))
        judge.holds(writer.exist(names[-1]), "the last of 4,000 keys is not there", kind=blame(server))
        for start in range(0, MANY, 100):
            reader.send(b"".join(reader.frame("GET", names[number]) for number in range(start, start + 100)))
            for number in range(start, start + 100):
                got = reader.value()
                judge.holds(got == values[number], f"key {number + 1} of {MANY} {_what(got)}", kind=blame(server))


def _what(got: bytes | None) -> str:
    return "is a miss" if got is None else f"has the value of another: {got[:24].hex()}"


@case("SRV-LM-012", "SRV-LM-010", targets=SERVERS, judges="server", runs=("server",))
def test_the_whole_key_counts(judge: Judge, server: Server, release: Release, keys: Keys) -> None:
    """Keys of 150 bytes that differ in their first, a middle or their last letters only have values of their own."""
    names = list(_long_keys(release, keys))
    with answered(judge, server), Peer(release, server) as peer:
        for number, key in enumerate(names):
            judge.holds(not peer.exist(key), f"a key of {KEY_FIELD_SIZE} bytes exists before it is stored", kind=blame(server))
            peer.put(key, Stamp(number, 1, 1).payload(60))
        for number, key in enumerate(names):
            judge.holds(
                peer.get(key) == Stamp(number, 1, 1).payload(60),
                f"a key of {KEY_FIELD_SIZE} bytes did not bring its own value: {format_key(release, key_from_json(key))}",
                kind=blame(server),
            )


def _long_keys(release: Release, keys: Keys) -> list[dict[str, Any]]:
    """Keys whose strings fill the field; two of them in letters of two bytes."""

    def filled(model: str, letter: str, **parts: Any) -> dict[str, Any]:
        room = KEY_FIELD_SIZE - len(format_key(release, key_from_json(keys(model=model, **parts))).encode())
        count, odd = divmod(room, len(letter.encode()))
        return keys(model=model + letter * count + "x" * odd, **parts)

    base = keys.model
    return [
        filled(base, "m"),
        filled(base, "n"),
        filled(f"{base}/mmm", "n"),
        filled(f"{base}/é", "é"),
        filled(f"{base}/è", "é"),
        {**filled(base, "m"), "worker_id": 1},
        filled(base, "m", hash=0x2001),
        filled(base, "m", hash=0x2002),
    ]


@case("SRV-LM-010", targets=SERVERS, judges="server", runs=("server",))
def test_nearly_the_same_key(judge: Judge, server: Server, release: Release, keys: Keys) -> None:
    """Keys that servers take for one another, such as neighbouring long hashes, have values of their own."""
    names = list(_nearly_the_same(release, keys))
    texts = [format_key(release, key_from_json(key)) for key in names]
    with answered(judge, server), Peer(release, server) as peer:
        for number, key in enumerate(names):
            peer.put(key, Stamp(number, 1, 1).payload(60))
        for number, key in enumerate(names):
            got = peer.get(key)
            if got != Stamp(number, 1, 1).payload(60):
                other = next((text for place, text in enumerate(texts) if got == Stamp(place, 1, 1).payload(60)), None)
                found = "nothing" if got is None else f"the value of {other!r}" if other else "a value that nobody stored"
                judge.fail(
                    f"each of {len(names)} keys was stored; a GET of {texts[number]!r} then found {found}", kind=blame(server)
                )


def _nearly_the_same(release: Release, keys: Keys) -> Iterator[dict[str, Any]]:
    """Keys of which each differs in one part from others, in the way in which a server may lose the difference.

    Hashes: as a double, in 64 bits, without a sign. Models: as the name of a file, in lower case. Ranks: one behind the other.
    """
    grammar, long = KEY_GRAMMARS[release], 0x1A2B3C4D5E6F7081
    yield from (
        keys(hash=value) for value in (1, -1, long, long + 1, -long, long + (1 << 62), long + (1 << 64), long + (1 << 200))
    )
    for name in ("a/b", "a_b", "a-b", "a.b", "a:b", "a b", "ab", "A/b", "a//b", "a/./b", "a%2Fb", "a/b/"):
        yield keys(model=f"{keys.model}/{name}")
    yield from (keys(world_size=world, worker_id=worker) for world, worker in ((16, 1), (16, 11), (161, 1), (2, 0), (2, 1)))
    if grammar.dtype_names is not None:
        yield from (keys(dtype=name) for name in ("float16", "float32", "float64", "uint8", "float8_e4m3fn", "float8_e5m2"))
    if grammar.prefix:
        yield from (keys(fmt=name) for name in ("VLLM", "sglang"))
    if grammar.server_layers:
        yield from (keys(layer=number) for number in (0, 1, 10, 11))
    if grammar.tags:
        for tags in (
            [["a", "1"]],
            [["a", "2"]],
            [["b", "1"]],
            [["a", "1"], ["b", "1"]],
            [["a", "1%2"]],
            [["a", "x"]],
            [["a", "X"]],
        ):
            yield keys(tags=tags)
