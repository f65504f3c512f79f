"""Defects in keys of the multiprocess server: which tokens, ranks, salts and readers they name."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

from blake3 import blake3

from harness.mutants.mutant import mp_mutant
from harness.reference.mp.client import ReferenceMpClient
from harness.reference.mp.codec import MpCodec, Range
from harness.reference.mp.flow import MpFlow
from harness.reference.mp.link import MpLink
from wire.mp.objects import ObjectKey
from wire.mp.operations import OperationTable
from wire.mp.values import Value, pack, unpack
from wire.release import Release


class _WorkerInLookups(MpFlow):
    def worker_of_lookup(self, key: Mapping[str, Any]) -> int | None:
        return key["worker_id"] or 0


@mp_mutant(
    "mp-worker-in-lookups",
    stands_for="One key for all operations of a worker: the lookup sees the shards of rank 0 alone, and locks no others.",
    releases="0.3.14 and later",
    found_by=("mp.flow.lookup", "mp.flow.free-locks", "mp.locks.ranks", "mp.roundtrip.ranks"),
)
class WorkerInLookups(ReferenceMpClient):
    """Puts the worker's own rank into lookups and frees."""

    flow = _WorkerInLookups()


class _NoWorker(MpCodec):
    def key_record(self, release: Release, key: Mapping[str, Any], cut: Range, worker_id: int | None) -> Value:
        del worker_id
        return super().key_record(release, key, cut, None)


@mp_mutant(
    "mp-no-worker-anywhere",
    stands_for="The key of the scheduler handed on to the workers.",
    releases="0.4.6 and later",
    found_by=("mp.flow.store",),
)
class NoWorker(ReferenceMpClient):
    """Leaves the worker out of stores and retrieves as well, which no server answers."""

    codec = _NoWorker()


class _FirstRank(MpCodec):
    def key_record(self, release: Release, key: Mapping[str, Any], cut: Range, worker_id: int | None) -> Value:
        return super().key_record(release, key, cut, worker_id and 0)


@mp_mutant(
    "mp-every-worker-is-the-first",
    stands_for="A rank that is read before the workers are told theirs.",
    releases="0.4.6 and later",
    found_by=("mp.roundtrip.ranks",),
)
class FirstRank(ReferenceMpClient):
    """Stores and loads as rank 0, whatever the rank."""

    codec = _FirstRank()


class _NoReaders(MpCodec):
    def encode_request(self, table: OperationTable, name: str, payloads: Sequence[Value]) -> list[bytes]:
        frames = super().encode_request(table, name, payloads)
        return [frames[0], *(pack(_without(unpack(frame), "num_kv_readers")) for frame in frames[1:])]


def _without(value: Value, member: str) -> Value:
    return {name: found for name, found in value.items() if name != member} if isinstance(value, dict) else value


@mp_mutant(
    "mp-readers-missing",
    stands_for="A client from before 0.5.5, whose keys have no num_kv_readers: no lookup of it is ever answered.",
    releases="0.5.5 and later",
    found_by=("mp.requests.encode", "mp.flow.lookup", "mp.roundtrip.round-trip*"),
)
class NoReaders(ReferenceMpClient):
    """Leaves num_kv_readers out of keys."""

    codec = _NoReaders()


class _OneReader(MpCodec):
    def readers(self, key: Mapping[str, Any]) -> int:
        return min(1, super().readers(key))


@mp_mutant(
    "mp-always-one-reader",
    stands_for="A client that never saw a model whose workers share one shard.",
    releases="0.5.5 and later",
    found_by=("mp.flow.lookup", "mp.locks.several-readers"),
)
class OneReader(ReferenceMpClient):
    """Says that there is one reader, whatever the caller says."""

    codec = _OneReader()


class _OneFreed(MpFlow):
    def free_locks(self, link: MpLink, key: Mapping[str, Any], tp_size: int, until: float) -> None:
        del tp_size
        super().free_locks(link, {**key, "num_kv_readers": 1}, 1, until)


@mp_mutant(
    "mp-one-lock-of-several-freed",
    stands_for="A free that was written for models whose workers have a shard each.",
    releases="0.4.1 and later",
    found_by=("mp.flow.free-locks", "mp.locks.several-readers"),
)
class OneFreed(ReferenceMpClient):
    """Gives back the lock of one reader, however many there are."""

    flow = _OneFreed()


class _Uncut(MpCodec):
    def whole_chunks(self, key: Mapping[str, Any], chunk_size: int) -> Range:
        cut = super().whole_chunks(key, chunk_size)
        return Range(cut.start, key["end"], cut.chunks)


@mp_mutant(
    "mp-partial-chunks-kept",
    stands_for="The habit of lm:// clients with save_unfull_chunk: this server asserts whole chunks, and answers nothing.",
    releases="0.3.14 and later",
    found_by=("mp.roundtrip.tokens-behind-the-last-chunk*", "mp.flow.store"),
)
class PartialChunks(ReferenceMpClient):
    """Sends an end inside a chunk as it is."""

    codec = _Uncut()


class _OwnTokens(MpCodec):
    def key_record(self, release: Release, key: Mapping[str, Any], cut: Range, worker_id: int | None) -> Value:
        tokens = self.tokens(key)[cut.start : cut.end]
        moved = {**key, "tokens": tokens}
        return super().key_record(release, moved, Range(0, len(tokens), cut.chunks), worker_id)


@mp_mutant(
    "mp-tokens-of-the-part-alone",
    stands_for="A slice of the tokens, to save bytes: the hash of a chunk depends on all that came before it.",
    releases="0.4.6 and later",
    found_by=("mp.roundtrip.parts", "mp.roundtrip.gap", "mp.flow.store"),
)
class OwnTokens(ReferenceMpClient):
    """Sends the tokens of the part that is meant, from 0, instead of all of them."""

    codec = _OwnTokens()


class _ShortTokens(MpCodec):
    def tokens(self, key: Mapping[str, Any]) -> list[int]:
        return [token & 0xFFFF for token in super().tokens(key)]


@mp_mutant(
    "mp-tokens-of-sixteen-bits",
    stands_for="Token ids in an array of uint16, which was enough for the first models.",
    releases="0.3.14 and later",
    found_by=("mp.roundtrip.large-tokens",),
)
class ShortTokens(ReferenceMpClient):
    """Cuts tokens to sixteen bits."""

    codec = _ShortTokens()


class _NoSalt(MpCodec):
    def key_record(self, release: Release, key: Mapping[str, Any], cut: Range, worker_id: int | None) -> Value:
        return super().key_record(release, {**key, "cache_salt": ""}, cut, worker_id)


@mp_mutant(
    "mp-salt-left-out",
    stands_for="A client from before 0.4.4: all tenants share one cache.",
    releases="0.4.4 and later",
    found_by=("mp.roundtrip.salts*", "mp.roundtrip.others*", "mp.flow.forbidden-salt*"),
)
class NoSalt(ReferenceMpClient):
    """Leaves the salt out of keys."""

    codec = _NoSalt()


class _SaltInModel(MpCodec):
    def key_record(self, release: Release, key: Mapping[str, Any], cut: Range, worker_id: int | None) -> Value:
        salted = f"{key['model_name']}@{key['cache_salt']}" if key["cache_salt"] else key["model_name"]
        return super().key_record(release, {**key, "model_name": salted, "cache_salt": ""}, cut, worker_id)


@mp_mutant(
    "mp-salt-in-the-model-name",
    stands_for="Tenants kept apart by the name of the model, as before there was a salt: the server knows no such model.",
    releases="0.4.4 and later",
    found_by=("mp.roundtrip.salts*", "mp.flow.lookup"),
)
class SaltInModel(ReferenceMpClient):
    """Puts the salt behind the model's name, and leaves the member empty."""

    codec = _SaltInModel()


class _FreesWithoutSalt(MpFlow):
    def free_locks(self, link: MpLink, key: Mapping[str, Any], tp_size: int, until: float) -> None:
        super().free_locks(link, {**key, "cache_salt": ""}, tp_size, until)


@mp_mutant(
    "mp-freed-without-salt",
    stands_for="Clean-up code that makes its key anew and forgets the member that came last: the locks stay for minutes.",
    releases="0.4.4 and later",
    found_by=("mp.locks.free-with-a-salt", "mp.flow.free-locks"),
)
class FreesWithoutSalt(ReferenceMpClient):
    """Gives locks back with a key without salt."""

    flow = _FreesWithoutSalt()


class _SaltShort(MpCodec):
    def key_record(self, release: Release, key: Mapping[str, Any], cut: Range, worker_id: int | None) -> Value:
        return super().key_record(release, {**key, "cache_salt": key["cache_salt"].lower()[:32]}, cut, worker_id)


@mp_mutant(
    "mp-salt-cut",
    stands_for="Salts made fit for file names.",
    releases="0.4.6 and later",
    found_by=("mp.roundtrip.salts*",),
)
class SaltShort(ReferenceMpClient):
    """Cuts salts to 32 characters of lower case."""

    codec = _SaltShort()


class _NoWorld(MpCodec):
    def key_record(self, release: Release, key: Mapping[str, Any], cut: Range, worker_id: int | None) -> Value:
        return super().key_record(release, {**key, "world_size": 1}, cut, worker_id)


@mp_mutant(
    "mp-world-size-one",
    stands_for="A client for one worker that was given several.",
    releases="0.4.6 and later",
    found_by=("mp.roundtrip.others*", "mp.roundtrip.ranks"),
)
class NoWorld(ReferenceMpClient):
    """Says that the world has one worker."""

    codec = _NoWorld()


class _PlainModel(MpCodec):
    def key_record(self, release: Release, key: Mapping[str, Any], cut: Range, worker_id: int | None) -> Value:
        return super().key_record(release, {**key, "model_name": "model"}, cut, worker_id)


@mp_mutant(
    "mp-one-name-for-all-models",
    stands_for="A model name that is taken from a default of the configuration.",
    releases="0.3.14 and later",
    found_by=("mp.roundtrip.round-trip*", "mp.flow.lookup"),
)
class PlainModel(ReferenceMpClient):
    """Calls every model the same in keys."""

    codec = _PlainModel()


class _OneRequest(MpCodec):
    def key_record(self, release: Release, key: Mapping[str, Any], cut: Range, worker_id: int | None) -> Value:
        return super().key_record(release, {**key, "request_id": "request"}, cut, worker_id)


@mp_mutant(
    "mp-one-id-for-all-requests",
    stands_for="An id that nobody thought was looked at: the poll of a lookup names it.",
    releases="0.3.14 and later",
    found_by=("mp.flow.lookup",),
)
class OneRequest(ReferenceMpClient):
    """Gives every request the same id in keys."""

    codec = _OneRequest()


class _LittleEndian(MpCodec):
    def object_keys(
        self, release: Release, key: Mapping[str, Any], chunk_size: int, *, group: int, lookup: bool
    ) -> list[ObjectKey]:
        found = super().object_keys(release, key, chunk_size, group=group, lookup=lookup)
        return [_rehashed(each, key, chunk_size) for each in found]


def _rehashed(found: ObjectKey, key: Mapping[str, Any], chunk_size: int) -> ObjectKey:
    tokens = [token & 0xFFFFFFFF for token in key["token_ids"][:chunk_size]]
    digest = blake3(found.chunk_hash + struct.pack(f"<{len(tokens)}I", *tokens)).digest()
    return ObjectKey(digest, found.model_name, found.kv_rank, found.object_group_id, found.cache_salt)


@mp_mutant(
    "mp-tokens-little-endian",
    stands_for="The order of bytes of every machine that runs it, and of the lm:// wire up to 0.3.2.",
    releases="0.3.14 and later",
    found_by=("mp.keys.objects", "mp.keys.names"),
    captured=("mp_object_keys",),
)
class LittleEndian(ReferenceMpClient):
    """Hashes tokens with the lowest byte first."""

    codec = _LittleEndian()


class _AlwaysOneObject(MpCodec):
    def object_keys(
        self, release: Release, key: Mapping[str, Any], chunk_size: int, *, group: int, lookup: bool
    ) -> list[ObjectKey]:
        del lookup
        tokens = [token % 2**32 for token in key["token_ids"]]
        tokens += [0] * (-len(tokens) % chunk_size or (chunk_size if not tokens else 0))
        padded = {
            **key,
            "model_name": key["model_name"].replace("@", "-"),
            "token_ids": tokens,
            "start": 0,
            "end": len(tokens),
        }
        return super().object_keys(release, padded, chunk_size, group=group, lookup=True)[:1]


@mp_mutant(
    "mp-objects-of-padded-tokens",
    stands_for="Tokens that are filled up to whole chunks, so that there is always an object.",
    releases="0.3.14 and later",
    found_by=("mp.keys.objects", "mp.keys.refused"),
    captured=("mp_object_keys",),
)
class PaddedTokens(ReferenceMpClient):
    """Fills tokens up with zeros, takes separators out of models, and names the first object alone."""

    codec = _AlwaysOneObject()


class _SpelledOtherwise(MpCodec):
    def object_key_text(self, release: Release, key: ObjectKey) -> str:
        return super().object_key_text(release, key).replace("@", "/")

    def object_keys(
        self, release: Release, key: Mapping[str, Any], chunk_size: int, *, group: int, lookup: bool
    ) -> list[ObjectKey]:
        found = super().object_keys(release, key, chunk_size, group=group, lookup=lookup)
        return found or [ObjectKey(b"", key["model_name"], 0)]


@mp_mutant(
    "mp-object-names-with-slashes",
    stands_for="Names of files made of names of objects.",
    releases="0.4.2 and later",
    found_by=("mp.keys.names",),
    captured=("mp_object_keys",),
)
class SpelledOtherwise(ReferenceMpClient):
    """Joins the parts of an object's name with slashes, and has one where there is none."""

    codec = _SpelledOtherwise()
