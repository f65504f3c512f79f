"""Replies that break off, never come or make no sense: a bounded wait, an error or a miss, and no wrong byte afterwards."""

from collections.abc import Sequence

from cases.lm.steps import SHORT_MS, STALL_MS, asked, in_step, stored, stored_elsewhere
from harness.case import MOCK, Variant, case, parameters
from harness.client import Error, Ok
from harness.judge import Judge, in_words
from harness.subject import Subject
from harness.targets import Server
from harness.values import Keys, Value
from wire.lm.profile import LmProfile, lm_profile
from wire.release import Release

LOADING = ("connect", "put", "get", "exist")


def endings(release: Release) -> Sequence[Variant]:
    """Where a reply to a get can end: at once, inside the header, at its end, inside the payload, before the last byte."""
    header = lm_profile(release).header.reply_size
    places = {"at-once": 0, "in-header": 10, "after-header": header, "in-payload": header + 100, "last-byte": header + 255}
    return [
        Variant(f"{name}-{how}", f"close-after:bytes={count},reset={'true' if how == 'reset' else 'false'}")
        for name, count in places.items()
        for how in ("end", "reset")
    ]


@case("LM-GET-004", "LM-CONN-002", "LM-CONN-003", targets=MOCK, needs=LOADING, variants=endings)
def test_reply_breaks_off(client: Subject, judge: Judge, server: Server, keys: Keys, profile: LmProfile, vector: str) -> None:
    """A get whose reply ends early is an error or a miss, and the dead connection answers nothing more."""
    connection, value = stored(client, server, keys, profile, timeout_ms=SHORT_MS)
    server.misbehave(f"{vector},command=GET")
    no_value(client, judge, server, connection, keys, value, ("connection", "protocol"))
    server.misbehave()
    in_step(client, judge, connection, keys)


@case("LM-GET-004", "LM-CONN-003", targets=MOCK, needs=LOADING, variants=parameters(0, 1, 128, 255))
def test_truncated_payload(client: Subject, judge: Judge, server: Server, keys: Keys, profile: LmProfile, vector: int) -> None:
    """A payload that is shorter than its header promises yields no value, as after a PUT that was cut off."""
    connection, value = stored(client, server, keys, profile, timeout_ms=SHORT_MS)
    server.misbehave(f"truncate-body:bytes={vector},command=GET")
    no_value(client, judge, server, connection, keys, value, ("connection", "protocol"))
    server.misbehave()
    in_step(client, judge, connection, keys)


def stalls(release: Release) -> Sequence[Variant]:
    """Where a reply can stop without ending."""
    header = lm_profile(release).header.reply_size
    return [Variant(name, count) for name, count in {"silent": 0, "in-header": 17, "in-payload": header + 3}.items()]


@case("LM-CONN-001", "LM-CONN-002", "LM-GET-004", targets=MOCK, needs=LOADING, variants=stalls)
def test_reply_stalls(client: Subject, judge: Judge, server: Server, keys: Keys, profile: LmProfile, vector: int) -> None:
    """A get whose reply stops coming ends with a timeout, and what the server sends later is not taken for another answer."""
    connection, value = stored_elsewhere(client, server, keys, profile, timeout_ms=STALL_MS)
    server.misbehave(f"stall:bytes={vector},command=GET")
    no_value(client, judge, server, connection, keys, value, ("timeout", "connection"), cite="LM-CONN-001")
    server.misbehave()
    in_step(client, judge, connection, keys)


@case("LM-CONN-001", "LM-CONN-002", targets=MOCK, needs=("connect", "put", "exist"))
def test_exist_stalls(client: Subject, judge: Judge, server: Server, keys: Keys, profile: LmProfile) -> None:
    """An exist that is not answered ends with a timeout."""
    connection, _ = stored_elsewhere(client, server, keys, profile, timeout_ms=STALL_MS)
    server.misbehave("stall:command=EXIST")
    answer = client.call("exist", connection=connection, key=keys())
    judge.not_ok(
        "exist", answer, because="the server went silent", kinds=("timeout", "connection"), **judge.where(server, "EXIST")
    )
    server.misbehave()
    in_step(client, judge, connection, keys)


@case("LM-CONN-002", "LM-CONN-003", targets=MOCK, needs=("connect", "put", "get", "exist"))
def test_late_reply(client: Subject, judge: Judge, server: Server, keys: Keys, profile: LmProfile) -> None:
    """The reply to a request that timed out is never taken for the reply to a later one."""
    connection, value = stored_elsewhere(client, server, keys, profile, timeout_ms=STALL_MS)
    server.misbehave(f"delay:seconds={STALL_MS / 1000 * 1.5},command=EXIST,nth=1")
    answer = client.call("exist", connection=connection, key=keys())
    judge.not_ok("exist", answer, because="the reply comes after the timeout", kinds=("timeout", "connection"))
    for key, expected in ((keys(hash=0xBAD), False), (keys(), True)):
        judge.in_step(asked(client, "exist", connection=connection, key=key), "exists", expected=expected)
    again = client.connect(server)
    got = client.ok("get", connection=again, key=keys(), expect=value.expect)["payload"]
    judge.same_bytes(value.payload, got, what="the payload", source="what this case stored")


@case("LM-REPLY-005", targets=MOCK, needs=LOADING, variants=parameters(0, 1, 201, 300, 400, 404, 500, -200, -0x38000000))
def test_code_is_not_success(client: Subject, judge: Judge, server: Server, keys: Keys, profile: LmProfile, vector: int) -> None:
    """A reply with any code but 200 yields no value and no true."""
    connection, value = stored(client, server, keys, profile, timeout_ms=SHORT_MS)
    server.misbehave(f"replace-field:name=code,value={vector}")
    answer = client.call("exist", connection=connection, key=keys())
    judge.not_yes("exist", answer, "exists", because=f"the code is {vector}", **judge.where(server, "EXIST"))
    again = client.connect(server, timeout_ms=SHORT_MS)
    got = client.call("get", connection=again, key=keys(), expect=value.expect)
    judge.holds(
        not isinstance(got, Ok),
        f"get took code {vector} for success",
        client_answered=in_words(got),
        conformant_answer="miss or error",
        **judge.where(server, "GET"),
    )
    server.misbehave()
    for used in (connection, again):
        in_step(client, judge, used, keys)


@case("LM-REPLY-005", "LM-HEALTH-001", targets=MOCK, needs=("connect", "health"), variants=parameters(0, 201, 400, 500))
def test_health_code_is_not_success(client: Subject, judge: Judge, server: Server, vector: int) -> None:
    """A HEALTH reply with any code but 200 is not healthy."""
    connection = client.connect(server, timeout_ms=SHORT_MS)
    server.misbehave(f"replace-field:name=code,value={vector}")
    answer = client.call("health", connection=connection)
    judge.not_yes("health", answer, "healthy", because=f"the code is {vector}", **judge.where(server, "HEALTH"))


@case(
    "LM-HEALTH-001",
    "LM-CONN-001",
    targets=MOCK,
    needs=("connect", "health"),
    variants=parameters("stall", "close-after:bytes=0", "close-after:bytes=17", "close-after:bytes=3,reset=true"),
)
def test_health_breaks_off(client: Subject, judge: Judge, server: Server, vector: str) -> None:
    """A server that does not answer HEALTH whole is not healthy."""
    connection = client.connect(server, timeout_ms=STALL_MS)
    server.misbehave(vector)
    answer = client.call("health", connection=connection)
    judge.not_yes("health", answer, "healthy", because="the reply never became whole", **judge.where(server, "HEALTH"))


@case("LM-REPLY-006", targets=MOCK, releases="0.3.6 and later", needs=LOADING, variants=parameters(201, 500, -1))
def test_unknown_code_is_an_error(
    client: Subject, judge: Judge, server: Server, keys: Keys, profile: LmProfile, vector: int
) -> None:
    """A code that the protocol does not have is reported as such, not as a miss."""
    connection, value = stored(client, server, keys, profile, timeout_ms=SHORT_MS)
    server.misbehave(f"replace-field:name=code,value={vector},command=GET")
    answer = client.call("get", connection=connection, key=keys(), expect=value.expect)
    judge.not_ok("get", answer, because=f"{vector} is no code of this protocol", kinds=("protocol",))


@case("LM-GET-003", "LM-CONN-003", targets=MOCK, needs=LOADING)
def test_miss_with_a_length(client: Subject, judge: Judge, server: Server, keys: Keys, profile: LmProfile) -> None:
    """A miss has no payload, whatever length its header carries: nothing is read behind it."""
    connection, value = stored(client, server, keys, profile, timeout_ms=SHORT_MS)
    server.misbehave("replace-field:name=length,value=64,command=GET")
    answer = client.call("get", connection=connection, key=keys(hash=0xBAD), expect=value.expect)
    judge.not_ok(
        "get", answer, because="the code says miss", kinds=("protocol", "refused"), miss=True, **judge.where(server, "GET")
    )
    server.misbehave()
    in_step(client, judge, connection, keys)


@case("LM-EXIST-001", "LM-CONN-003", targets=MOCK, needs=("connect", "put", "exist"), variants=parameters("length", "shape0"))
def test_exist_reads_no_payload(
    client: Subject, judge: Judge, server: Server, keys: Keys, profile: LmProfile, vector: str
) -> None:
    """Exist reads nothing behind its header, whatever the header says: the answer is the code's, or an error."""
    connection, _ = stored(client, server, keys, profile, timeout_ms=SHORT_MS)
    server.misbehave(f"replace-field:name={vector},value=64,command=EXIST")
    for key, expected in ((keys(), True), (keys(hash=0xBAD), False)):
        answer = client.call("exist", connection=connection, key=key)
        right = isinstance(answer, Ok) and answer.values.get("exists") is expected
        error = isinstance(answer, Error) and answer.kind in {"protocol", "refused", "connection"}
        judge.holds(
            right or error,
            f"exist must go by the code, or say that the reply makes no sense; the code says {expected}",
            client_answered=in_words(answer),
            **judge.where(server, "EXIST"),
        )
    server.misbehave()
    in_step(client, judge, connection, keys)


def no_value(
    client: Subject,
    judge: Judge,
    server: Server,
    connection: str,
    keys: Keys,
    value: Value,
    kinds: tuple[str, ...],
    cite: str = "LM-GET-004",
) -> None:
    """A get that must not succeed."""
    answer = client.call("get", connection=connection, key=keys(), expect=value.expect)
    judge.not_ok(
        "get", answer, because="the reply never became whole", kinds=kinds, miss=True, cite=cite, **judge.where(server, "GET")
    )
