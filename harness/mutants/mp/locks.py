"""Defects in giving back the locks that a lookup took: never, too often, or in the wrong place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harness.mutants.mutant import mp_mutant
from harness.reference.mp.client import ReferenceMpClient
from harness.reference.mp.flow import MpFlow
from harness.reference.mp.link import MpLink
from wire.mp.values import Value

DATA = "0.4.6 and later"


class _FreesAtOnce(MpFlow):
    def lookup(self, link: MpLink, key: Mapping[str, Any], tp_size: int, until: float) -> int:
        found = super().lookup(link, key, tp_size, until)
        if found:
            super().free_locks(link, key, tp_size, until)
        return found


@mp_mutant(
    "mp-lookup-frees-at-once",
    stands_for="A lookup that is meant as a look: what it found may be evicted before it is loaded.",
    releases=DATA,
    found_by=("mp.locks.lookup-and-retrieve", "mp.roundtrip.round-trip*"),
)
class FreesAtOnce(ReferenceMpClient):
    """Gives the locks of a lookup back before it answers."""

    flow = _FreesAtOnce()


class _NeverFrees(MpFlow):
    def free_locks(self, link: MpLink, key: Mapping[str, Any], tp_size: int, until: float) -> None:
        del link, key, tp_size, until


@mp_mutant(
    "mp-locks-never-freed",
    stands_for="Clean-up that was left for later: after some hundred requests nothing can be evicted any more.",
    releases="0.4.1 and later",
    found_by=("mp.flow.free-locks", "mp.locks.lookup-and-free"),
)
class NeverFrees(ReferenceMpClient):
    """Answers a free without sending anything."""

    flow = _NeverFrees()


class _FreesTwice(MpFlow):
    def free_locks(self, link: MpLink, key: Mapping[str, Any], tp_size: int, until: float) -> None:
        for _ in range(2):
            super().free_locks(link, key, tp_size, until)


@mp_mutant(
    "mp-locks-freed-twice",
    stands_for="A free in the error path and one in the clean-up after it: the second takes the locks of another request.",
    releases="0.4.1 and later",
    found_by=("mp.flow.free-locks", "mp.locks.two-requests[*free]"),
)
class FreesTwice(ReferenceMpClient):
    """Sends every free twice."""

    flow = _FreesTwice()


class _FreesBehindRetrieve(MpFlow):
    def retrieve(self, link: MpLink, instance_id: int, key: Mapping[str, Any], until: float) -> list[bytes]:
        chunks = super().retrieve(link, instance_id, key, until)
        super().free_locks(link, key, key["world_size"], until)
        return chunks


@mp_mutant(
    "mp-locks-freed-behind-a-retrieve",
    stands_for="An unlock after every load, as with locks that have an owner.",
    releases=DATA,
    found_by=("mp.flow.retrieve", "mp.locks.two-requests*", "mp.locks.several-readers"),
)
class FreesBehindRetrieve(ReferenceMpClient):
    """Frees what a retrieve has given back already."""

    flow = _FreesBehindRetrieve()


class _NoCommitOfRetrieve(MpFlow):
    def retrieve(self, link: MpLink, instance_id: int, key: Mapping[str, Any], until: float) -> list[bytes]:
        worker, size = link.worker(instance_id), link.chunk_size(until)
        cut = link.codec.whole_chunks(key, size)
        if not cut.chunks:
            return []
        payloads = [self.record(link, key, cut, key["worker_id"]), instance_id]
        return self.loaded(link.request("PREPARE_RETRIEVE", payloads, until), worker, cut, size)


@mp_mutant(
    "mp-retrieve-without-commit",
    stands_for="A read that is taken for done once its bytes are there.",
    releases=DATA,
    found_by=("mp.flow.retrieve", "mp.locks.lookup-and-retrieve", "mp.memory.retrieve-from-a-wrong-slot*"),
)
class NoCommitOfRetrieve(ReferenceMpClient):
    """Sends no COMMIT_RETRIEVE."""

    flow = _NoCommitOfRetrieve()


class _NotGivenBack(MpFlow):
    def give_back(self, link: MpLink, payloads: Sequence[Value], until: float, *, waiting: bool) -> None:
        del link, payloads, until, waiting


@mp_mutant(
    "mp-failed-retrieve-keeps-its-locks",
    stands_for="An exception between the two steps of a retrieve.",
    releases="0.4.7 and later",
    found_by=("mp.memory.retrieve-from-a-wrong-slot*",),
)
class NotGivenBack(ReferenceMpClient):
    """Sends no COMMIT_RETRIEVE where the slots are refused."""

    flow = _NotGivenBack()
