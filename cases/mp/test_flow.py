"""Operations of a client on the wire: which requests each of them sends, with which payloads, and what the answers become."""

from typing import Any

from cases.mp.seen import ANY, POLLS, Wanted, Watch, record
from cases.mp.workers import CHUNK, contents, request, some_tokens, worker
from harness.case import MOCK, SERVERS, Variant, Variants, case, parameters
from harness.judge import Judge
from harness.mp.journal import Exchange
from harness.mp.keys import MpKeys
from harness.mp.targets import MpTarget
from harness.subject import Subject
from wire.mp.frames import decode_reply
from wire.mp.operations import OperationTable
from wire.release import Release, ReleaseRange

FRAMES = ("MP-FRAME-001", "MP-REQ-001", "MP-REQ-002", "MP-REQ-007")
KEYS = ("MP-REQ-003", "MP-KEY-001", "MP-KEY-002", "MP-KEY-003", "MP-KEY-004", "MP-KEY-006")
INSTANCE = 77


def since(**ranges: str) -> Variants:
    """Variants that hold for some releases each."""
    parsed = {name.replace("_", "-"): ReleaseRange.parse(text) for name, text in ranges.items()}
    return lambda release: [Variant(name, name) for name, covered in parsed.items() if release in covered]


CONTROL: dict[str, tuple[str, dict[str, Any]]] = {
    "noop": ("mp_noop", {}),
    "chunk-size": ("mp_chunk_size", {}),
    "clear": ("mp_clear", {}),
    "clear-by-force": ("mp_clear", {"force": True}),
    "end-session": ("mp_end_session", {"request_id": "lmconform-ended"}),
    "ping": ("mp_ping", {"instance_id": None}),
    "ping-of-a-worker": ("mp_ping", {"instance_id": INSTANCE}),
    "unregister": ("mp_unregister", {"instance_id": INSTANCE}),
}


@case(
    *FRAMES,
    "MP-FLOW-001",
    targets=MOCK,
    needs=("connect",),
    releases="0.3.9.post1 and later",
    variants=since(
        noop="0.3.9.post1 and later",
        chunk_size="0.3.10 and later",
        clear="0.3.10 and later",
        clear_by_force="0.5.6 and later",
        end_session="0.3.14 and later",
        ping="0.4.2 and later",
        ping_of_a_worker="0.5.0 and later",
        unregister="0.4.7 and later",
    ),
)
def test_control(client: Subject, judge: Judge, mp_server: MpTarget, mp_table: OperationTable, vector: str) -> None:
    """An operation without key sends its one request, with the number and the payloads of the release."""
    op, args = CONTROL[vector]
    client.needs(op)
    connection = client.connect(mp_server)
    watch = Watch(judge, mp_server, mp_table)
    client.ok(op, connection=connection, **args)
    if op == "mp_chunk_size":
        return asked_for_the_chunk_size(judge, mp_server, mp_table)
    unregister = mp_table.name_of("UNREGISTER_KV_CACHE_ENGINE_DRIVEN_CONTEXT")
    name = unregister if op == "mp_unregister" else op.removeprefix("mp_").upper()
    payloads = {
        "mp_clear": [args.get("force", False)],
        "mp_end_session": ["lmconform-ended"],
        "mp_ping": [args.get("instance_id")],
        "mp_unregister": [INSTANCE],
    }.get(op, [])
    watch.sent(Wanted(name, payloads[: len(mp_table.named(name).payloads)]))
    return None


def asked_for_the_chunk_size(judge: Judge, server: MpTarget, table: OperationTable) -> None:
    """The last request was a GET_CHUNK_SIZE, whenever it was sent: the size may be known from an earlier one."""
    found = [exchange for exchange in server.journal.exchanges() if exchange.operation == "GET_CHUNK_SIZE"]
    judge.holds(found, "the client never asked for the chunk size", cite="MP-FLOW-001")
    Watch(judge, server, table).like(found[-1], Wanted("GET_CHUNK_SIZE"))


@case("MP-FLOW-001", targets=SERVERS, needs=("connect", "mp_noop"), releases="0.3.9.post1 and later")
def test_noop(client: Subject, judge: Judge, mp_server: MpTarget) -> None:
    """A server that is alive answers NOOP with a text, again and again."""
    connection = client.connect(mp_server)
    said = {client.ok("mp_noop", connection=connection)["text"] for _ in range(3)}
    judge.holds(len(said) == 1 and "" not in said, "the answers of NOOP differ or are empty", client_answered=repr(sorted(said)))


@case("MP-FLOW-001", targets=SERVERS, needs=("connect", "mp_chunk_size"), releases="0.3.10 and later")
def test_chunk_size(client: Subject, judge: Judge, mp_server: MpTarget) -> None:
    """The chunk size is that of the server."""
    got = client.ok("mp_chunk_size", connection=client.connect(mp_server))["chunk_size"]
    judge.same_value(CHUNK, got, what="the chunk size", source="how the server was started")


@case(
    "MP-FLOW-001", targets=SERVERS, needs=("connect", "mp_ping"), releases="0.4.2 and later", variants=parameters(None, INSTANCE)
)
def test_ping(client: Subject, judge: Judge, mp_server: MpTarget, vector: int | None) -> None:
    """A server that is alive answers PING with true, whoever asks."""
    got = client.ok("mp_ping", connection=client.connect(mp_server), instance_id=vector)["alive"]
    judge.same_value(expected=True, got=got, what="the answer to PING")


@case(*FRAMES, "MP-REQ-003", "MP-FLOW-010", targets=MOCK, needs=("connect", "mp_register"), releases="0.4.6 and later")
def test_register(client: Subject, judge: Judge, mp_server: MpTarget, mp_table: OperationTable, mp_keys: MpKeys) -> None:
    """A registration has all that the release asks for, and is sent each time it is asked for."""
    connection = client.connect(mp_server)
    watch = Watch(judge, mp_server, mp_table)
    name = mp_table.name_of("REGISTER_KV_CACHE_ENGINE_DRIVEN_CONTEXT")
    about = mp_keys.context(world_size=2)
    fields = {"instance_id": INSTANCE, **{name: value for name, value in about.items() if name != "dtype"}}
    # lmcache's own worker sends the tokens of a chunk here, and a server does without.
    due = Wanted(name, [{**fields, "dtype_str": about["dtype"], "num_physical_slots": ANY}])
    for _ in range(2):
        client.ok("mp_register", connection=connection, instance_id=INSTANCE, context=about)
    watch.sent(due, due)


@case(*FRAMES, *KEYS, targets=MOCK, needs=("connect", "mp_register", "mp_store"), releases="0.4.6 and later")
def test_store(client: Subject, judge: Judge, mp_server: MpTarget, mp_table: OperationTable, mp_keys: MpKeys) -> None:
    """A store is a PREPARE_STORE and a COMMIT_STORE with the same key, of the rank that stores."""
    one = worker(client, judge, mp_server, mp_keys, world_size=2, rank=1)
    watch = Watch(judge, mp_server, mp_table)
    wanted = request(mp_keys, [*some_tokens(3), 5, 6], world_size=2, salt=salt_of(mp_table.release)).part(CHUNK, 3 * CHUNK + 2)
    one.stored(wanted, contents(2))
    key = record(mp_table, wanted, 1)
    watch.sent(Wanted("PREPARE_STORE", [key, one.instance]), Wanted("COMMIT_STORE", [key, one.instance, ANY]))


@case(*FRAMES, targets=MOCK, needs=("connect", "mp_register", "mp_store"), releases="0.4.7 and later")
def test_store_of_what_is_there(
    client: Subject, judge: Judge, mp_server: MpTarget, mp_table: OperationTable, mp_keys: MpKeys
) -> None:
    """A store of chunks that are all there ends with the reply to PREPARE_STORE."""
    one, wanted = worker(client, judge, mp_server, mp_keys), request(mp_keys, some_tokens(2))
    one.stored(wanted, contents(2))
    watch = Watch(judge, mp_server, mp_table)
    one.stored(wanted.again(), contents(2))
    judge.holds(
        [exchange.operation for exchange in watch.requests()] == ["PREPARE_STORE"],
        "a store of chunks that are all there sent more than PREPARE_STORE",
        cite="MP-REQ-007",
    )


@case(*FRAMES, *KEYS, "MP-FLOW-002", "MP-FLOW-003", targets=MOCK, needs=("connect", "mp_lookup"), releases="0.3.14 and later")
def test_lookup(client: Subject, judge: Judge, mp_server: MpTarget, mp_table: OperationTable, mp_keys: MpKeys) -> None:
    """A lookup is a LOOKUP for all ranks and, where the release has it, a poll for what LOOKUP named."""
    connection = client.connect(mp_server)
    wanted = request(mp_keys, [*some_tokens(2), 5], world_size=2, salt=salt_of(mp_table.release), readers=3)
    watch = Watch(judge, mp_server, mp_table)
    hits = client.ok("mp_lookup", connection=connection, key=wanted.key(1), tp_size=2)["hits"]
    judge.holds(hits == 0, f"a lookup in an empty cache found {hits} chunks", cite="MP-FLOW-002")
    found = watch.requests()
    names = [exchange.operation for exchange in found]
    polled = "QUERY_PREFETCH_STATUS" in mp_table
    judge.holds(
        names[:1] == ["LOOKUP"] and set(names[1:]) <= set(POLLS) and bool(names[1:]) == polled,
        f"the server saw {', '.join(names) or 'nothing'} of a lookup; LOOKUP{' and polls' if polled else ''} was due",
        cite="MP-REQ-007" if len(names) < 2 or polled else "MP-FLOW-002",
    )
    key = record(mp_table, wanted, None)
    operation = mp_table.named("LOOKUP")
    payload = [key] if str(operation.payloads[0]).startswith("[") else key
    watch.like(found[0], Wanted("LOOKUP", [payload, 2][: len(operation.payloads)]))
    for exchange in found[1:]:
        named = (
            wanted.id if str(mp_table.named("QUERY_PREFETCH_STATUS").payloads[0]) == "str" else number_given(mp_table, found[0])
        )
        watch.like(exchange, Wanted(exchange.operation, [named, *[ANY] * (exchange.operation == "WAIT_PREFETCH_STATUS")]))


@case(
    *FRAMES,
    *KEYS,
    targets=MOCK,
    needs=("connect", "mp_register", "mp_store", "mp_lookup", "mp_retrieve"),
    releases="0.4.6 and later",
)
def test_retrieve(client: Subject, judge: Judge, mp_server: MpTarget, mp_table: OperationTable, mp_keys: MpKeys) -> None:
    """A retrieve is a PREPARE_RETRIEVE and a COMMIT_RETRIEVE with the same key, of the rank that loads."""
    one = worker(client, judge, mp_server, mp_keys)
    wanted = request(mp_keys, [*some_tokens(2), 5], salt=salt_of(mp_table.release))
    one.stored(wanted, contents(2))
    one.lookup(wanted)
    watch = Watch(judge, mp_server, mp_table)
    one.retrieved(wanted.part(CHUNK, 2 * CHUNK + 1), contents(2)[1:])
    key = record(mp_table, wanted.part(CHUNK, 2 * CHUNK), 0)
    watch.sent(Wanted("PREPARE_RETRIEVE", [key, one.instance]), Wanted("COMMIT_RETRIEVE", [key, one.instance]))


@case(*FRAMES, *KEYS, "MP-LOCK-002", targets=MOCK, needs=("connect", "mp_free_locks"), releases="0.4.1 and later")
def test_free_locks(client: Subject, judge: Judge, mp_server: MpTarget, mp_table: OperationTable, mp_keys: MpKeys) -> None:
    """A free is a FREE_LOOKUP_LOCKS for all ranks, with the salt and the readers of the lookup."""
    if "PREPARE_STORE" in mp_table:
        connection = worker(client, judge, mp_server, mp_keys, world_size=2).connection
    else:
        connection = client.connect(mp_server)
    wanted = request(mp_keys, [*some_tokens(2), 5], world_size=2, salt=salt_of(mp_table.release), readers=3)
    watch = Watch(judge, mp_server, mp_table)
    client.ok("mp_free_locks", connection=connection, key=wanted.key(1), tp_size=2)
    watch.sent(Wanted("FREE_LOOKUP_LOCKS", [record(mp_table, wanted, None), 2]))


@case(
    "MP-KEY-005",
    targets=MOCK,
    needs=("connect", "mp_lookup"),
    releases="0.4.4 and later",
    variants=parameters(
        "a@b", "a/b", "a\\b", "a\0b", "a" * 129, name=lambda salt: f"{len(salt)}-{salt[1]!r}".replace("/", "slash")
    ),
)
def test_forbidden_salt(
    client: Subject, judge: Judge, mp_server: MpTarget, mp_table: OperationTable, mp_keys: MpKeys, vector: str
) -> None:
    """A salt that no server accepts is refused by the client, and nothing is sent."""
    connection = client.connect(mp_server)
    watch = Watch(judge, mp_server, mp_table)
    answer = client.call("mp_lookup", connection=connection, key=request(mp_keys, some_tokens(1), salt=vector).key(), tp_size=1)
    judge.not_ok("mp_lookup", answer, because="no server accepts this salt", kinds=("refused",))
    judge.holds(not watch.requests(), "a request went out with a salt that no server accepts", cite="MP-KEY-005")


@case(
    "MP-KEY-010",
    targets=MOCK,
    needs=("connect", "mp_lookup"),
    releases="0.3.14 and later",
    variants=parameters(
        (0, 3 * CHUNK),
        (0, 2 * CHUNK + 1),
        (2 * CHUNK, CHUNK),
        (CHUNK // 2, 2 * CHUNK),
        name=lambda part: f"{part[0]}-to-{part[1]}",
    ),
)
def test_no_range(
    client: Subject, judge: Judge, mp_server: MpTarget, mp_table: OperationTable, mp_keys: MpKeys, vector: tuple[int, int]
) -> None:
    """A range that is none of the tokens, or does not begin with a chunk, is refused by the client, and nothing is sent."""
    connection = client.connect(mp_server)
    watch = Watch(judge, mp_server, mp_table)
    key = request(mp_keys, some_tokens(2)).part(*vector).key()
    answer = client.call("mp_lookup", connection=connection, key=key, tp_size=1)
    because = f"{vector[0]} to {vector[1]} is no range of whole chunks of {2 * CHUNK} tokens"
    judge.not_ok("mp_lookup", answer, because=because, kinds=("refused",), cite="MP-KEY-010")
    judge.holds(not watch.requests(), "a request went out with a range that is none", cite="MP-KEY-010")


@case("MP-FRAME-002", targets=MOCK, needs=("connect", "mp_noop"), releases="0.3.9.post1 and later")
def test_uids(client: Subject, judge: Judge, mp_server: MpTarget) -> None:
    """Requests of a connection have different uids."""
    connection = client.connect(mp_server)
    for _ in range(20):
        client.ok("mp_noop", connection=connection)
    found = [exchange.uid for exchange in mp_server.journal.exchanges()]
    judge.holds(len(set(found)) == len(found), f"{len(found)} requests had {len(set(found))} different uids", cite="MP-FRAME-002")


def number_given(table: OperationTable, exchange: Exchange) -> Any:
    """What the mock answered a LOOKUP with."""
    return decode_reply(table, "LOOKUP", (exchange.reply or ())[1:])


def salt_of(release: Release) -> str:
    """A salt where keys have one."""
    return "tenant-é" if release in ReleaseRange.parse("0.4.4 and later") else ""
