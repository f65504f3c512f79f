"""Shared memory and pickles: slots are checked, the server's memory is left to the server, a pickle of a peer is data."""

import pickle
from pathlib import Path
from typing import Any

from cases.mp.test_misbehaviour import last_slot, reply
from cases.mp.test_roundtrip import DATA
from cases.mp.workers import CHUNK_BYTES, contents, request, some_tokens, worker
from harness.case import MOCK, SERVERS, Variant, case, parameters
from harness.judge import Judge
from harness.leaks import settled
from harness.mp.keys import MpKeys
from harness.mp.targets import MpTarget
from harness.subject import Subject
from wire.release import Release

SHARED = "0.4.7 and later"
OUTSIDE = ("slots-outside:by=1", "slots-outside:by=0", "slots-outside:by=-4096", "slot-length:by=-2", "slot-length:by=2")


def named(fault: str) -> str:
    """A fault as part of an id."""
    return fault.replace(":", "-").replace("=", "-")


@case("MP-SHM-001", "MP-LOCK-003", targets=MOCK, needs=DATA, releases=SHARED, variants=parameters(*OUTSIDE, name=named))
def test_retrieve_from_a_wrong_slot(client: Subject, judge: Judge, mp_server: MpTarget, mp_keys: MpKeys, vector: str) -> None:
    """A slot outside the memory, or of another length than a chunk, is not read, and the locks are given back all the same."""
    one, whole = worker(client, judge, mp_server, mp_keys), request(mp_keys, some_tokens(2))
    one.stored(whole, contents(2))
    wanted = whole.again()
    one.lookup(wanted)
    mp_server.misbehave(f"{vector},operation=PREPARE_RETRIEVE,nth=1")
    refuses(judge, "mp_retrieve", one.retrieve(wanted), because="its slots are not those of chunks")
    judge.holds(
        comes(mp_server, "COMMIT_RETRIEVE"),
        "the locks of a retrieve that read nothing were not given back",
        cite="MP-LOCK-003",
    )
    mp_server.misbehave()
    one.loaded(whole.again(), contents(2))


def comes(server: MpTarget, operation: str) -> bool:
    """Whether a request reaches the mock: a client need not wait for its reply, so it may come after the client has answered."""
    try:
        return bool(server.journal.wait_for(lambda journal: journal.last_exchange(operation), timeout=1.0))
    except TimeoutError:
        return False


@case("MP-SHM-001", targets=MOCK, needs=DATA, releases=SHARED, variants=parameters(*OUTSIDE, name=named))
def test_store_into_a_wrong_slot(client: Subject, judge: Judge, mp_server: MpTarget, mp_keys: MpKeys, vector: str) -> None:
    """A slot outside the memory, or of another length than a chunk, is not written, and nothing is committed."""
    one, whole = worker(client, judge, mp_server, mp_keys), request(mp_keys, some_tokens(2))
    mp_server.misbehave(f"{vector},operation=PREPARE_STORE,nth=1")
    refuses(judge, "mp_store", one.ask("mp_store", whole, contents(2)), because="its slots are not those of chunks")
    not_committed(judge, mp_server)
    mp_server.misbehave()
    other = request(mp_keys, some_tokens(2, seed=5))
    one.stored(other, contents(2))
    one.loaded(other.again(), contents(2))


WRONG: dict[str, dict[str, Any]] = {
    "negative-offset": {"offset": -4096},
    "huge-offset": {"offset": 2**62},
    "negative-length": {"length": -CHUNK_BYTES},
    "no-offset": {"offset": None},
}


@case("MP-SHM-001", targets=MOCK, needs=DATA, releases=SHARED, variants=parameters(*WRONG, "too-few", "too-many"))
def test_retrieve_from_senseless_slots(client: Subject, judge: Judge, mp_server: MpTarget, mp_keys: MpKeys, vector: str) -> None:
    """Slots that make no sense, or are fewer or more than the chunks, are not read."""
    one, whole = worker(client, judge, mp_server, mp_keys), request(mp_keys, some_tokens(2))
    one.stored(whole, contents(2))
    one.loaded(whole.again(), contents(2))
    slot, wanted = last_slot(mp_server), whole.again()
    one.lookup(wanted)
    slots = {"too-few": [slot], "too-many": [slot] * 3}.get(vector) or [{**slot, **WRONG[vector]}, slot]
    reply(mp_server, "PREPARE_RETRIEVE", {"success": True, "data": b"", "context": {"slots": slots}})
    refuses(judge, "mp_retrieve", one.retrieve(wanted), because="its slots are not those of two chunks", miss=True)


INDICES: dict[str, list[int]] = {"twice": [0, 0], "outside": [0, 2], "negative": [-1, 0], "fewer": [0]}


@case("MP-SHM-001", "MP-FLOW-006", targets=MOCK, needs=DATA, releases=SHARED, variants=parameters(*INDICES))
def test_store_of_senseless_chunks(client: Subject, judge: Judge, mp_server: MpTarget, mp_keys: MpKeys, vector: str) -> None:
    """Slots for chunks that are not there, or two for one chunk, are not written, and nothing is committed."""
    one, whole = worker(client, judge, mp_server, mp_keys), request(mp_keys, some_tokens(2))
    one.stored(whole, contents(2))
    committed = len(mp_server.journal.exchanges(operation="COMMIT_STORE"))
    slot = last_slot(mp_server, "PREPARE_STORE")
    reply(mp_server, "PREPARE_STORE", {"context": {"slots": [slot, slot], "chunk_indices": INDICES[vector]}})
    other = request(mp_keys, some_tokens(2, seed=5))
    refuses(judge, "mp_store", one.ask("mp_store", other, contents(2, seed=5)), because="its slots are not those of two chunks")
    not_committed(judge, mp_server, besides=committed)
    one.loaded(whole.again(), contents(2))


@case("MP-SHM-002", targets=SERVERS, needs=(*DATA, "close"), releases=SHARED)
def test_memory_stays(client: Subject, judge: Judge, mp_server: MpTarget, mp_keys: MpKeys) -> None:
    """When a worker has closed its connection, the server's memory is still there for another one."""
    one, whole = worker(client, judge, mp_server, mp_keys), request(mp_keys, some_tokens(2))
    one.stored(whole, contents(2))
    client.ok("close", connection=one.connection)
    worker(client, judge, mp_server, mp_keys).loaded(whole.again(), contents(2))


@case("MP-SHM-002", targets=MOCK, needs=(*DATA, "close", "state"), releases=SHARED)
def test_memory_is_let_go(client: Subject, judge: Judge, mp_server: MpTarget, mp_keys: MpKeys) -> None:
    """Connections that were closed keep no descriptor of the server's memory open."""
    one = worker(client, judge, mp_server, mp_keys)
    one.stored(request(mp_keys, some_tokens(1)), contents(1))
    client.ok("close", connection=one.connection)
    before = client.state("file_descriptors")
    for _ in range(12):
        one = worker(client, judge, mp_server, mp_keys)
        client.ok("close", connection=one.connection)
    left = settled(lambda: now if (now := client.state("file_descriptors") - before) >= 6 else None)
    judge.holds(not left, f"12 connections that were opened and closed left {left} file descriptors open", cite="MP-SHM-002")


def pickled(release: Release) -> list[Variant]:
    """Both ways in which a chunk reaches a client: the pickle alone, and beside shared memory."""
    del release
    return [Variant(name, name) for name in ("call", "nested")]


@case("MP-SHM-003", "MP-FLOW-008", targets=MOCK, needs=DATA, releases="0.4.6 and later", variants=pickled)
def test_malicious_pickle(
    client: Subject, judge: Judge, mp_pickle_server: MpTarget, mp_keys: MpKeys, tmp_path: Path, vector: str
) -> None:
    """A pickle that a server sends in place of chunks is not executed, and is no chunk."""
    one, whole = worker(client, judge, mp_pickle_server, mp_keys), request(mp_keys, some_tokens(1))
    planted = tmp_path / "executed"
    evil = Planted(planted) if vector == "call" else [{"a": (Planted(planted),)}]
    one.stored(whole, contents(1))
    wanted = whole.again()
    one.lookup(wanted)
    reply(mp_pickle_server, "PREPARE_RETRIEVE", {"success": True, "data": pickle.dumps(evil), "context": {}})
    answer = one.retrieve(wanted)
    judge.holds(not planted.exists(), "the client executed a pickle that the server sent", cite="MP-SHM-003")
    refuses(judge, "mp_retrieve", answer, because="a pickle of something else is no list of chunks", miss=True)


@case("MP-FLOW-005", "MP-FLOW-006", targets=SERVERS, needs=DATA, releases="0.4.6 and later", variants=parameters(1, 3))
def test_round_trip_without_shared_memory(
    client: Subject, judge: Judge, mp_pickle_server: MpTarget, mp_keys: MpKeys, vector: int
) -> None:
    """Where the server has no shared memory, chunks come back byte for byte as well."""
    one, whole = worker(client, judge, mp_pickle_server, mp_keys), request(mp_keys, some_tokens(vector))
    one.stored(whole, contents(vector))
    one.loaded(whole.again(), contents(vector))


class Planted:
    """A pickle of this makes a file when it is loaded."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self._path,)


def refuses(judge: Judge, op: str, answer: Any, *, because: str, miss: bool = False) -> None:
    """An operation ends with an error, at the latest with the timeout."""
    kinds = ("refused", "protocol", "connection", "timeout")
    judge.not_ok(op, answer, because=because, kinds=kinds, miss=miss)


def not_committed(judge: Judge, server: MpTarget, *, besides: int = 0) -> None:
    """No store was committed that should not have been."""
    sent = len(server.journal.exchanges(operation="COMMIT_STORE")) - besides
    judge.holds(sent == 0, "a store whose slots make no sense was committed", cite="MP-SHM-001")
