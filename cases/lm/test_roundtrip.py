"""What is stored comes back: the normal conversation, on the mock and on the real server."""

import functools
from collections.abc import Sequence

from cases.lm.steps import asked
from harness.case import SERVERS, Variant, case, parameters
from harness.judge import Judge
from harness.subject import Subject
from harness.targets import Server
from harness.values import Keys, Value, binary, sample, storable_formats
from wire.lm.enums import ITEM_SIZES
from wire.lm.profile import LmProfile, lm_profile
from wire.release import Release

STORE_AND_LOAD = ("connect", "put", "get")


def formats(release: Release) -> Sequence[Variant]:
    """Every format in which a value can travel."""
    return [Variant(name, name) for name in storable_formats(lm_profile(release))]


@case("LM-GET-002", "LM-PUT-001", "LM-PUT-002", targets=SERVERS, needs=STORE_AND_LOAD, variants=formats)
def test_formats(client: Subject, judge: Judge, server: Server, keys: Keys, profile: LmProfile, vector: str) -> None:
    """A value of each memory format comes back as it was stored."""
    there_and_back(client, judge, server, keys, sample(profile, vector))


@case("LM-GET-002", targets=SERVERS, needs=STORE_AND_LOAD, variants=parameters(*ITEM_SIZES))
def test_dtypes(client: Subject, judge: Judge, server: Server, keys: Keys, profile: LmProfile, vector: str) -> None:
    """A value of each dtype comes back as it was stored."""
    there_and_back(client, judge, server, keys, sample(profile, dtype=vector))


@case("LM-GET-002", "LM-PUT-001", targets=SERVERS, needs=STORE_AND_LOAD, variants=parameters(0, 1, 4095, 65536, 65537, 1 << 20))
def test_sizes(client: Subject, judge: Judge, server: Server, keys: Keys, vector: int) -> None:
    """Values of any size come back whole, the empty one included."""
    there_and_back(client, judge, server, keys, binary(bytes(range(256)) * (vector // 256) + bytes(vector % 256)))


@case("LM-GET-002", "LM-PUT-003", targets=SERVERS, needs=STORE_AND_LOAD)
def test_64_mebibytes(client: Subject, judge: Judge, server: Server, keys: Keys) -> None:
    """A value of 64 MiB, which no send and no receive moves at once, comes back whole."""
    there_and_back(client, judge, server, keys, large())


@case("LM-GET-003", targets=SERVERS, needs=("connect", "get"))
def test_miss(client: Subject, judge: Judge, server: Server, keys: Keys, profile: LmProfile) -> None:
    """A get of a key that nobody stored is a miss, and the connection goes on."""
    connection = client.connect(server)
    for attempt in ("first", "second"):
        answer = client.call("get", connection=connection, key=keys(), expect=sample(profile).expect)
        judge.miss(answer, because=f"nothing was stored under this key ({attempt} time)")


@case("LM-EXIST-001", targets=SERVERS, needs=("connect", "put", "exist"))
def test_exist(client: Subject, judge: Judge, server: Server, keys: Keys, profile: LmProfile) -> None:
    """Exist is false before a key is stored and true afterwards."""
    connection = client.connect(server)
    before = client.ok("exist", connection=connection, key=keys())["exists"]
    judge.holds(before is False, f"exist gave {before!r} for a key that was never stored")
    client.ok("put", connection=connection, key=keys(), **sample(profile).stored)
    after = client.ok("exist", connection=connection, key=keys())["exists"]
    judge.holds(after is True, f"exist gave {after!r} for a key that was just stored")


@case("LM-HEALTH-001", targets=SERVERS, needs=("connect", "health"))
def test_health(client: Subject, judge: Judge, server: Server) -> None:
    """Health of a living server is true, again and again."""
    connection = client.connect(server)
    for _ in range(3):
        healthy = client.ok("health", connection=connection)["healthy"]
        judge.holds(healthy is True, f"health gave {healthy!r} for a server that answers with success")


@case("LM-LIST-001", "LM-CONN-001", "LM-CONN-002", "LM-CONN-003", targets=SERVERS, needs=("connect", "list", "health"))
def test_list_is_never_answered(client: Subject, judge: Judge, server: Server) -> None:
    """A list ends by itself with a timeout, because no real server answers it, and nothing is out of step afterwards."""
    connection = client.connect(server, timeout_ms=300)
    answer = client.call("list", connection=connection)
    judge.not_ok("list", answer, because="the server never answers LIST", kinds=("timeout",))
    judge.holds(client.took > 0.25, f"list gave up after {client.took:.2f} s, before the timeout of 0.3 s had passed")
    judge.in_step(asked(client, "health", connection=connection), "healthy", expected=True)
    if server.mock is not None:
        used = judge.exchange(server, "LIST").connection
        last = server.journal.exchanges(connection=used)[-1].command
        judge.holds(last == "LIST", f"{last} travelled on the connection on which LIST had timed out", cite="LM-CONN-002")


@case("LM-GET-002", targets=SERVERS, needs=STORE_AND_LOAD)
def test_overwrite(client: Subject, judge: Judge, server: Server, keys: Keys, profile: LmProfile) -> None:
    """The last value that was stored under a key is the one that comes back, shorter or longer."""
    connection = client.connect(server)
    for value in (binary(b"first" * 100), sample(profile), binary(b"x"), sample(profile, dtype="float32", seed=2)):
        client.ok("put", connection=connection, key=keys(), **value.stored)
        fetch(client, judge, connection, keys, value)


@case("LM-PUT-002", targets=SERVERS, needs=("connect", "put", "exist"))
def test_many_puts_before_a_reply(client: Subject, judge: Judge, server: Server, keys: Keys, profile: LmProfile) -> None:
    """Puts follow each other without a reply, and the first reply belongs to the request after them."""
    connection = client.connect(server)
    stored = keys.several(20)
    for key in stored:
        client.ok("put", connection=connection, key=key, **sample(profile).stored)
    for key in [*stored, keys(hash=0xABC)]:
        exists = client.ok("exist", connection=connection, key=key)["exists"]
        judge.holds(exists is (key in stored), f"exist gave {exists!r} for {'a stored' if key in stored else 'an unknown'} key")


@case("LM-CONN-005", targets=SERVERS, needs=STORE_AND_LOAD)
def test_two_connections(client: Subject, judge: Judge, server: Server, keys: Keys, profile: LmProfile) -> None:
    """What is stored over one connection is found over another, and both go on."""
    first, second = client.connect(server), client.connect(server)
    value = sample(profile)
    client.ok("put", connection=first, key=keys(), **value.stored)
    client.ok("exist", connection=first, key=keys())
    fetch(client, judge, second, keys, value)
    client.ok("close", connection=second)
    fetch(client, judge, first, keys, value)


@functools.cache
def large() -> Value:
    """64 MiB without a pattern of the length of any buffer, made once."""
    return binary((bytes(range(1, 256)) * (1 + (64 << 20) // 255))[: 64 << 20])


def there_and_back(client: Subject, judge: Judge, server: Server, keys: Keys, value: Value) -> None:
    """Store a value and load it over the same connection."""
    connection = client.connect(server)
    client.ok("put", connection=connection, key=keys(), **value.stored)
    fetch(client, judge, connection, keys, value)


def fetch(client: Subject, judge: Judge, connection: str, keys: Keys, value: Value) -> None:
    """Load a value that must be there."""
    got = client.ok("get", connection=connection, key=keys(), expect=value.expect)
    judge.same_bytes(value.payload, got["payload"], what="the payload", source="what this case stored")
    described = {name: got[name] for name in ("format", "dtype", "shape")}
    judge.same_value(value.expect, described, what="the description", source="what this case stored")
