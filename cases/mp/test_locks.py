"""Locks: what a lookup takes is given back exactly once, by a retrieve or by the caller, as the server's own count shows."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from cases.mp.test_roundtrip import DATA, TRANSFER
from cases.mp.workers import CHUNK, contents, request, some_tokens, worker
from harness.case import SERVERS, case, parameters
from harness.judge import Judge
from harness.mp.keys import MpKeys
from harness.mp.targets import MpTarget
from harness.subject import Subject


class Locks:
    """How many objects are locked more than when the case began."""

    def __init__(self, judge: Judge, server: MpTarget) -> None:
        self._judge, self._server = judge, server
        self._before = self._counted()

    def are(self, expected: int, when: str, *, cite: str = "MP-LOCK-001") -> None:
        """So many more are locked now."""
        found = self._counted() - self._before
        self._judge.holds(
            found == expected,
            f"{when} {found} objects are locked, {expected} was right",
            cite=cite,
            client_answered=f"{found} locked objects in the server's status",
            conformant_answer=f"{expected} locked objects",
        )

    def _counted(self) -> int:
        return next(_members(self._server.status(), "read_locked_count"))


def _members(status: Any, name: str) -> Iterator[int]:
    """Every member of a name, however deep: releases put the first tier at different places."""
    if isinstance(status, Mapping):
        for member, value in status.items():
            if member == name:
                yield int(value)
            else:
                yield from _members(value, name)


@case("MP-LOCK-001", targets=SERVERS, needs=DATA, releases=TRANSFER, own_server=True)
def test_lookup_and_retrieve(client: Subject, judge: Judge, mp_server: MpTarget, mp_keys: MpKeys) -> None:
    """A lookup locks what it found, a retrieve of all of it gives all locks back, and a store takes none."""
    one, locks = worker(client, judge, mp_server, mp_keys), Locks(judge, mp_server)
    whole = request(mp_keys, some_tokens(3))
    one.stored(whole, contents(3))
    locks.are(0, "after a store")
    wanted = whole.again()
    one.lookup(wanted)
    locks.are(3, "after a lookup of 3 chunks")
    one.retrieved(wanted, contents(3))
    locks.are(0, "after a lookup and a retrieve")


@case("MP-LOCK-001", "MP-LOCK-002", targets=SERVERS, needs=DATA, releases=TRANSFER, own_server=True)
def test_lookup_and_free(client: Subject, judge: Judge, mp_server: MpTarget, mp_keys: MpKeys) -> None:
    """Locks of a lookup that no retrieve follows are given back when the caller says so."""
    one, locks = worker(client, judge, mp_server, mp_keys), Locks(judge, mp_server)
    whole = request(mp_keys, some_tokens(3))
    one.stored(whole, contents(3))
    wanted = whole.again()
    one.lookup(wanted)
    one.free(wanted)
    locks.are(0, "after a lookup and a free")


@case("MP-LOCK-001", "MP-LOCK-002", targets=SERVERS, needs=DATA, releases=TRANSFER, own_server=True)
def test_retrieve_in_part_and_free(client: Subject, judge: Judge, mp_server: MpTarget, mp_keys: MpKeys) -> None:
    """A retrieve of some chunks gives back their locks, and a free of the others the rest."""
    one, locks = worker(client, judge, mp_server, mp_keys), Locks(judge, mp_server)
    whole = request(mp_keys, some_tokens(4))
    one.stored(whole, contents(4))
    wanted = whole.again()
    one.lookup(wanted)
    one.retrieved(wanted.part(0, CHUNK), contents(1))
    locks.are(3, "after a retrieve of 1 chunk of 4")
    one.free(wanted.part(CHUNK, 4 * CHUNK))
    locks.are(0, "after the free of the other 3")


@case("MP-LOCK-001", targets=SERVERS, needs=DATA, releases=TRANSFER, own_server=True, variants=parameters("retrieve", "free"))
def test_two_requests(client: Subject, judge: Judge, mp_server: MpTarget, mp_keys: MpKeys, vector: str) -> None:
    """Two requests for the same chunks hold them until both are done: neither gives back what the other took."""
    one, locks = worker(client, judge, mp_server, mp_keys), Locks(judge, mp_server)
    whole = request(mp_keys, some_tokens(2))
    one.stored(whole, contents(2))
    first, second = whole.again(), whole.again()
    for wanted in (first, second):
        one.lookup(wanted)
    if vector == "retrieve":
        one.retrieved(first, contents(2))
    else:
        one.free(first)
    locks.are(2, f"after the {vector} of one of two requests")
    one.retrieved(second, contents(2))
    locks.are(0, "after both requests")


@case("MP-LOCK-002", targets=SERVERS, needs=DATA, releases=TRANSFER, own_server=True)
def test_free_with_a_salt(client: Subject, judge: Judge, mp_server: MpTarget, mp_keys: MpKeys) -> None:
    """Locks of a request with a salt are given back with the same salt, and those of another one are left alone."""
    one, locks = worker(client, judge, mp_server, mp_keys), Locks(judge, mp_server)
    salted = request(mp_keys, some_tokens(2), salt="tenant-a")
    plain = salted.again(salt="")
    for wanted in (salted, plain):
        one.stored(wanted, contents(2))
    held, freed = plain.again(), salted.again()
    for wanted in (held, freed):
        one.lookup(wanted)
    one.free(freed)
    locks.are(2, "after the free of the request with a salt", cite="MP-LOCK-002")
    one.retrieved(held, contents(2))
    locks.are(0, "after the retrieve of the request without")


@case("MP-LOCK-002", targets=SERVERS, needs=DATA, releases=TRANSFER, own_server=True)
def test_free_of_something_else(client: Subject, judge: Judge, mp_server: MpTarget, mp_keys: MpKeys) -> None:
    """A free that the caller asks for with another salt gives nothing back, until it is asked for with the right one."""
    one, locks = worker(client, judge, mp_server, mp_keys), Locks(judge, mp_server)
    whole = request(mp_keys, some_tokens(2), salt="tenant-a")
    one.stored(whole, contents(2))
    wanted = whole.again()
    one.lookup(wanted)
    one.free(replace(wanted, salt="tenant-b"))
    locks.are(2, "after a free with the salt of another tenant", cite="MP-LOCK-002")
    one.free(wanted)
    locks.are(0, "after the free with the salt of the lookup", cite="MP-LOCK-002")


@case("MP-LOCK-001", "MP-LOCK-002", "MP-KEY-002", targets=SERVERS, needs=DATA, releases=TRANSFER, own_server=True)
def test_ranks(client: Subject, judge: Judge, mp_server: MpTarget, mp_keys: MpKeys) -> None:
    """A lookup locks the shards of all ranks; each rank gives its own back, and a free those of all."""
    ranks = [worker(client, judge, mp_server, mp_keys, world_size=2, rank=rank) for rank in (0, 1)]
    locks, whole = Locks(judge, mp_server), request(mp_keys, some_tokens(2), world_size=2)
    for rank, one in enumerate(ranks):
        one.stored(whole.again(), contents(2, seed=30 + rank))
    wanted = whole.again()
    ranks[0].lookup(wanted)
    locks.are(4, "after a lookup of 2 chunks in 2 ranks")
    ranks[1].retrieved(wanted, contents(2, seed=31))
    locks.are(2, "after rank 1 has loaded its shards")
    ranks[0].retrieved(wanted, contents(2, seed=30))
    locks.are(0, "after both ranks have loaded theirs")
    again = whole.again()
    ranks[1].lookup(again)
    ranks[1].free(again)
    locks.are(0, "after a lookup and a free of all ranks")


@case("MP-LOCK-001", "MP-LOCK-002", "MP-KEY-003", targets=SERVERS, needs=DATA, releases=TRANSFER, own_server=True)
def test_several_readers(client: Subject, judge: Judge, mp_server: MpTarget, mp_keys: MpKeys) -> None:
    """Workers that share one shard each give one lock back, and a free gives back those of all."""
    ranks = [worker(client, judge, mp_server, mp_keys) for _ in range(2)]
    locks, whole = Locks(judge, mp_server), request(mp_keys, some_tokens(2), readers=2)
    ranks[0].stored(whole, contents(2))
    wanted = whole.again()
    ranks[0].lookup(wanted, tp_size=2)
    ranks[0].retrieved(wanted, contents(2))
    locks.are(2, "after one of two readers")
    ranks[1].retrieved(wanted, contents(2))
    locks.are(0, "after both readers")
    again = whole.again()
    ranks[1].lookup(again, tp_size=2)
    ranks[1].free(again, tp_size=2)
    locks.are(0, "after a lookup and a free for two readers")
