"""Replies in pieces: a client gives the same answer however the stream is segmented."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from cases.lm.steps import stored
from harness.case import MOCK, Variant, case, parameters
from harness.client import Ok
from harness.examples import Examples
from harness.judge import Judge
from harness.subject import Subject
from harness.targets import Server
from harness.values import Keys, Value
from wire.lm.profile import LmProfile, lm_profile
from wire.release import Release

HELD_BACK = (1, 4, 18)
"""Positions at which the second segment comes late: a client that answers before it is then certainly seen to be out of step."""
LATE = 0.05
"""Seconds by which it comes late."""
PATIENCE = 2.0
"""Seconds that a segment waits for the one before to be read: more than a busy machine keeps a client, less than its timeout.

It runs out only for clients that read nothing before all is there. Were it too short, two segments would arrive as one, and a
client that cannot assemble a reply would pass.
"""
LOADING = ("connect", "put", "exist", "get")


def positions(release: Release) -> Sequence[Variant]:
    """Every place inside a reply header at which it can be cut."""
    return [Variant(str(position), position) for position in range(1, lm_profile(release).header.reply_size)]


@case("LM-REPLY-003", targets=MOCK, needs=("connect", "put", "exist"), variants=positions)
def test_split_header(client: Subject, judge: Judge, server: Server, keys: Keys, profile: LmProfile, vector: int) -> None:
    """A client assembles a reply header that arrives in two segments, cut at any byte, and is in step afterwards."""
    connection, _ = stored(client, server, keys, profile)
    server.misbehave(in_segments(vector, 65536, pause=LATE if vector in HELD_BACK else 0.0))
    for _ in range(2):
        exists_is_true(client, judge, server, connection, keys)


@case("LM-REPLY-003", "LM-GET-002", targets=MOCK, needs=LOADING, variants=positions)
def test_split_header_of_get(client: Subject, judge: Judge, server: Server, keys: Keys, profile: LmProfile, vector: int) -> None:
    """A client loads the right bytes when the header of the reply arrives in two segments, cut at any byte."""
    connection, value = stored(client, server, keys, profile)
    server.misbehave(in_segments(vector, 65536))
    load(client, judge, server, connection, keys, value)


@case("LM-REPLY-003", "LM-GET-002", targets=MOCK, needs=LOADING)
def test_byte_by_byte(client: Subject, judge: Judge, server: Server, keys: Keys, profile: LmProfile) -> None:
    """A client loads a value that arrives one byte at a time."""
    connection, value = stored(client, server, keys, profile)
    server.misbehave(in_segments(1))
    exists_is_true(client, judge, server, connection, keys)
    load(client, judge, server, connection, keys, value)


@case("LM-GET-002", "LM-REPLY-004", targets=MOCK, needs=LOADING, variants=parameters(-1, 0, 1, 7, 255))
def test_split_at_the_body(client: Subject, judge: Judge, server: Server, keys: Keys, profile: LmProfile, vector: int) -> None:
    """A client loads a value whose reply is cut around the border of header and body."""
    connection, value = stored(client, server, keys, profile)
    server.misbehave(in_segments(profile.header.reply_size + vector, 65536))
    load(client, judge, server, connection, keys, value)


@case("LM-CONN-001", "LM-REPLY-003", targets=MOCK, needs=("connect", "put", "exist"))
def test_slow_reply(client: Subject, judge: Judge, server: Server, keys: Keys, profile: LmProfile) -> None:
    """A reply that takes its time, within the client's limit, is waited for."""
    connection, _ = stored(client, server, keys, profile)
    server.misbehave("delay:seconds=0.25")
    exists_is_true(client, judge, server, connection, keys)


@case("LM-REPLY-003", "LM-GET-002", targets=MOCK, needs=LOADING)
def test_any_segmentation(
    client: Subject, judge: Judge, server: Server, keys: Keys, profile: LmProfile, examples: Examples
) -> None:
    """Random segmentations never change a result."""
    connection, value = stored(client, server, keys, profile)
    whole = profile.header.reply_size + len(value.payload)

    @examples.costly(20)
    @given(st.lists(st.integers(1, whole), min_size=1, max_size=6))
    def check(sizes: list[int]) -> None:
        server.misbehave(in_segments(*sizes))
        exists_is_true(client, judge, server, connection, keys)
        load(client, judge, server, connection, keys, value)

    check()


@case("LM-REPLY-003", "LM-REPLY-004", "LM-GET-003", "LM-HEALTH-001", targets=MOCK, needs=(*LOADING, "health"))
def test_any_cuts(client: Subject, judge: Judge, server: Server, keys: Keys, profile: LmProfile, examples: Examples) -> None:
    """Hits, misses and health are told rightly one after the other, at whatever places each of their replies is cut."""
    connection, value = stored(client, server, keys, profile)
    size = profile.header.reply_size
    places = st.sets(st.integers(1, size - 1), max_size=3).map(sorted)

    @examples.costly(10)
    @given(st.lists(st.tuples(st.sampled_from(["exist", "no exist", "miss", "health", "get"]), places), min_size=1, max_size=4))
    def check(drawn: list[tuple[str, list[int]]]) -> None:
        for what, cuts in drawn:
            ends = [*cuts, size + len(value.payload)]
            server.misbehave(in_segments(*(end - start for start, end in zip([0, *cuts], ends, strict=True))))
            match what:
                case "exist":
                    exists_is_true(client, judge, server, connection, keys)
                case "no exist":
                    found = client.ok("exist", connection=connection, key=keys(hash=0xBAD))["exists"]
                    judge.holds(found is False, f"exist gave {found!r} for an unknown key", **judge.where(server, "EXIST"))
                case "miss":
                    answer = client.call("get", connection=connection, key=keys(hash=0xBAD), expect=value.expect)
                    judge.miss(answer, because="nothing was stored under this key", **judge.where(server, "GET"))
                case "health":
                    healthy = client.ok("health", connection=connection)["healthy"]
                    judge.holds(healthy is True, f"health gave {healthy!r}", **judge.where(server, "HEALTH"))
                case _:
                    load(client, judge, server, connection, keys, value)

    check()


def in_segments(*sizes: int, pause: float = 0.0) -> str:
    """The fault that delivers replies in sends of these sizes, the last one repeated, each once the one before was read."""
    return f"segments:sizes={'+'.join(map(str, sizes))},pause={pause},patience={PATIENCE}"


def exists_is_true(client: Subject, judge: Judge, server: Server, connection: str, keys: Keys) -> None:
    """An exist of the stored key, explained with the delivery of its reply."""
    answer = client.call("exist", connection=connection, key=keys())
    if not isinstance(answer, Ok):
        judge.ok("exist", answer, conformant="exists = true", **judge.where(server, "EXIST"))
    found = judge.ok("exist", answer)["exists"]
    judge.holds(found is True, f"exist gave {found!r} for a stored key", **judge.where(server, "EXIST"))


def load(client: Subject, judge: Judge, server: Server, connection: str, keys: Keys, value: Value) -> None:
    """A get of the stored value, explained with the delivery of its reply."""
    answer = client.call("get", connection=connection, key=keys(), expect=value.expect)
    if not isinstance(answer, Ok):
        judge.ok("get", answer, conformant="the stored value", **judge.where(server, "GET"))
    got = judge.ok("get", answer)["payload"]
    judge.same_bytes(value.payload, got, what="the payload", source="what this case stored")
