"""What requests say together: locks that nobody gives back, keys that nobody else writes, instances that nobody registered.

Only requests whose meaning is certain are looked at. Tokens are remembered as digests.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from harness.tap.finding import Finding
from harness.tap.mp.asked import Asked
from harness.tap.mp.bounded import Bounded
from harness.tap.mp.rules import RULES
from wire.mp.values import pack

MOST: Final = 4096
"""Requests, keys and instances that are remembered of each kind."""
PREFIX: Final = 16
"""Tokens by which prompts are recognised; the smallest chunk that anybody uses."""
_SEEDED: Final = ("LOOKUP", "FREE_LOOKUP_LOCKS")
_MOVES: Final = ("STORE", "RETRIEVE", "PREPARE_STORE", "COMMIT_STORE", "PREPARE_RETRIEVE", "COMMIT_RETRIEVE")
_STORES: Final = ("STORE", "PREPARE_STORE", "COMMIT_STORE")
_GIVES_BACK: Final = ("RETRIEVE", "PREPARE_RETRIEVE", "FREE_LOOKUP_LOCKS")
_HITS: Final = ("QUERY_PREFETCH_STATUS", "WAIT_PREFETCH_STATUS", "QUERY_PREFETCH_LOOKUP_HITS")
_REGISTERS: Final = ("REGISTER_KV_CACHE", "REGISTER_KV_CACHE_ENGINE_DRIVEN_CONTEXT", "CB_REGISTER_KV_CACHE", "REGISTER_Q_CACHE")
_FORGETS: Final = ("UNREGISTER_KV_CACHE", "UNREGISTER_KV_CACHE_ENGINE_DRIVEN_CONTEXT")
_USES: Final = {**dict.fromkeys(_MOVES, 1), "UNREGISTER_KV_CACHE": 0, "UNREGISTER_KV_CACHE_ENGINE_DRIVEN_CONTEXT": 0}
"""Operations that name an instance that must be registered, and which payload does."""
_IDENTITY: Final = ("model_name", "world_size", "cache_salt")
_FAILS: Final = ("STORE", "COMMIT_STORE", "RETRIEVE", "COMMIT_RETRIEVE", "PREPARE_RETRIEVE", "PING", "SERVER_MODULE_CALL")


@dataclass
class _Lookup:
    """A lookup and what became of it."""

    asked: Asked
    name: str
    key: bytes
    """Digest of what FREE_LOOKUP_LOCKS must have as well."""
    twins: tuple[str, ...] = ()
    """Under what else the same tokens are stored."""
    hits: int | None = None
    given_back: bool = False


@dataclass
class Flows:
    """All flows of a recording, over all connections."""

    chunk_size: int | None = None
    _lookups: Bounded[object, _Lookup] = field(default_factory=lambda: Bounded(MOST))
    _stores: Bounded[bytes, Asked] = field(default_factory=lambda: Bounded(MOST))
    _retrieves: Bounded[bytes, Asked] = field(default_factory=lambda: Bounded(MOST))
    _instances: Bounded[object, None] = field(default_factory=lambda: Bounded(MOST))
    _stored: Bounded[bytes, dict[tuple[str, ...], None]] = field(default_factory=lambda: Bounded(MOST))
    _unknown: set[object] = field(default_factory=set)
    _models: Bounded[object, None] = field(default_factory=lambda: Bounded(MOST))
    """Models of which an instance is registered."""

    def asked(self, asked: Asked, meaning: str, values: Sequence[Any]) -> Iterator[Finding]:
        """A request whose meaning is certain."""
        keys = list(_keys(values))
        for key in keys[:1]:
            yield from self._of_key(asked, meaning, key)
        yield from self._of_instance(asked, meaning, values)
        if meaning in _STORES:
            for key in keys:
                self._remember(key)
        if not keys:
            return
        key, request = keys[0], keys[0].get("request_id")
        asked.facts["registered"] = key.get("model_name") in self._models
        if meaning == "LOOKUP":
            found = _Lookup(
                asked, meaning, _digest(key, "model_name", "world_size", "cache_salt", "token_ids"), self._twins(keys)
            )
            asked.facts["lookup"] = found
            if request is not None:
                self._lookups[request] = found
        elif meaning in _GIVES_BACK and request in self._lookups:
            lookup = self._lookups[request]
            lookup.given_back = True
            same = _digest(key, "model_name", "world_size", "cache_salt", "token_ids") == lookup.key
            if meaning == "FREE_LOOKUP_LOCKS" and not same:
                yield finding(
                    "mp.flow.free",
                    asked,
                    "FREE_LOOKUP_LOCKS of request "
                    f"{request!r:.60} has other tokens, model, world size or salt than its LOOKUP: the locks stay",
                )
        place = _digest(key, "request_id", "worker_id", "start", "end", "model_name")
        match meaning:
            case "PREPARE_STORE" | "PREPARE_RETRIEVE":
                asked.facts["place"] = place
            case "COMMIT_STORE":
                self._stores.pop(place, None)
            case "COMMIT_RETRIEVE":
                self._retrieves.pop(place, None)

    def answered(self, asked: Asked, at: float, meaning: str, result: Any, values: Sequence[Any]) -> Iterator[Finding]:
        """The reply to a request whose meaning is certain; ``values`` are what was kept of its payloads."""
        match meaning:
            case "GET_CHUNK_SIZE" if isinstance(result, int) and not isinstance(result, bool) and result > 0:
                self.chunk_size = result
            case "PREPARE_STORE" if _slots(result) and "place" in asked.facts:
                self._stores[asked.facts["place"]] = asked  # type: ignore[index]
            case "PREPARE_RETRIEVE" if isinstance(result, Mapping) and result.get("success") is True and "place" in asked.facts:
                self._retrieves[asked.facts["place"]] = asked  # type: ignore[index]
            case "LOOKUP" if isinstance(asked.facts.get("lookup"), _Lookup):
                yield from self._looked_up(asked, at, result)
        if meaning in _HITS and values and isinstance(result, int) and not isinstance(result, bool):
            lookup = self._lookups.get(values[0]) if isinstance(values[0], int | str) else None
            if lookup is not None:
                lookup.hits = result
                yield from self._missed(lookup, at)
        if meaning in _FAILS and _failed(result):
            yield finding("mp.reply.failed", asked, f"{meaning} was answered with failure", who="server", at=at)

    def finish(self, now: float) -> Iterator[Finding]:
        """What was left open."""
        for lookup in self._lookups.values():
            if lookup.hits and not lookup.given_back:
                words = f"LOOKUP found {lookup.hits} chunks, and no retrieve or FREE_LOOKUP_LOCKS of the same request followed"
                yield finding("mp.flow.locks", lookup.asked, words, at=now)
        for asked in self._stores.values():
            yield finding("mp.flow.store", asked, "PREPARE_STORE was given slots, and no COMMIT_STORE followed", at=now)
        for asked in self._retrieves.values():
            yield finding("mp.flow.retrieve", asked, "PREPARE_RETRIEVE was answered, and no COMMIT_RETRIEVE followed", at=now)

    def _looked_up(self, asked: Asked, at: float, result: Any) -> Iterator[Finding]:
        """The result of LOOKUP itself: chunk by chunk, a count, a number to ask for, or nothing."""
        lookup = asked.facts["lookup"]
        assert isinstance(lookup, _Lookup)
        if isinstance(result, list):
            lookup.hits = sum(one is True for one in result)
            yield from self._missed(lookup, at)
        elif isinstance(result, int) and not isinstance(result, bool):
            self._lookups[result] = lookup

    def _missed(self, lookup: _Lookup, at: float) -> Iterator[Finding]:
        if lookup.hits == 0 and lookup.twins:
            words = f"nothing was found, and the same first tokens are stored under another {lookup.twins[0]}"
            yield finding("mp.key.spelling", lookup.asked, words, at=at)
            lookup.twins = ()

    def _of_key(self, asked: Asked, meaning: str, key: Mapping[str, Any]) -> Iterator[Finding]:
        """What is odd about a key."""
        worker = key.get("worker_id")
        tokens = key.get("token_ids")
        if isinstance(tokens, list) and meaning in (*_SEEDED, *_MOVES):
            if (meaning in _SEEDED) is not (worker is None):
                got = "nil" if worker is None else f"{worker}"
                due = "nil, for all ranks" if meaning in _SEEDED else "the rank of the worker"
                yield finding("mp.key.worker", asked, f"the key of {meaning} has worker_id {got}", "worker_id", due, got)
            yield from self._of_range(asked, meaning, key, tokens)
            wrong = next((token for token in tokens if not isinstance(token, int) or not 0 <= token < 1 << 32), None)
            if wrong is not None:
                yield finding(
                    "mp.key.tokens",
                    asked,
                    f"a token in the key of {meaning} is {wrong!r:.40}",
                    "token_ids",
                    "0 to 2**32 - 1",
                    f"{wrong!r:.40}",
                )

    def _of_range(self, asked: Asked, meaning: str, key: Mapping[str, Any], tokens: Sequence[Any]) -> Iterator[Finding]:
        start, end = key.get("start"), key.get("end")
        if not isinstance(start, int) or not isinstance(end, int):
            return
        got = f"{start} to {end}"
        if not 0 <= start <= end <= len(tokens):
            yield finding("mp.key.range", asked, f"the key of {meaning} says {got}, and has {len(tokens)} tokens", "start, end",
                          f"within 0 to {len(tokens)}", got)  # fmt: skip
        elif self.chunk_size and meaning != "LOOKUP" and (start % self.chunk_size or end % self.chunk_size):
            yield finding("mp.key.chunks", asked, f"the key of {meaning} says {got}, and chunks have {self.chunk_size} tokens",
                          "start, end", f"multiples of {self.chunk_size}", got)  # fmt: skip

    def _of_instance(self, asked: Asked, meaning: str, values: Sequence[Any]) -> Iterator[Finding]:
        if meaning in _REGISTERS and values:
            first = values[0]
            self._instances[first.get("instance_id") if isinstance(first, Mapping) else _plain(first)] = None
            model = (
                first.get("model_name") if isinstance(first, Mapping) else next((v for v in values if isinstance(v, str)), None)
            )
            self._models[model] = None
            return
        index = _USES.get(meaning)
        if index is None or index >= len(values) or not isinstance(values[index], int):
            return
        instance = values[index]
        if instance not in self._instances and instance not in self._unknown and len(self._unknown) < MOST:
            self._unknown.add(instance)
            yield finding("mp.flow.unregistered", asked, f"{meaning} is for instance {instance}, which nobody registered here")
        if meaning in _FORGETS:
            self._instances.pop(instance, None)

    def _remember(self, key: Mapping[str, Any]) -> None:
        mark = _mark(key)
        if mark is not None:
            self._stored.setdefault(mark, {})[_identity(key)] = None
            self._stored.move_to_end(mark)
            while len(self._stored) > MOST:
                self._stored.popitem(last=False)

    def _twins(self, keys: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
        """Which members differ from those under which the same tokens are stored; none where one is the same."""
        found: dict[str, None] = {}
        for key in keys[:1]:
            mark = _mark(key)
            mine = _identity(key)
            others = self._stored.get(mark, {}) if mark is not None else {}
            if mine in others:
                return ()
            for other in others:
                pairs = [(name, one, two) for name, one, two in zip(_IDENTITY, mine, other, strict=True) if one != two]
                found[" and ".join(f"{name.replace('_', ' ')}: {two}, here {one}" for name, one, two in pairs)] = None
        return tuple(found)


def finding(
    rule: str, asked: Asked, summary: str, field: str = "", expected: str = "", got: str = "",
    *, who: Any = "client", at: float | None = None,
) -> Finding:  # fmt: skip
    """A finding about a request as a whole; its byte is the first of the message."""
    offset = asked.offset if who == "client" else None
    return Finding(
        RULES[rule], asked.connection, asked.at if at is None else at, who, summary, offset, field, expected, got,
        exchange=asked.exchange,
    )  # fmt: skip


def _keys(values: Sequence[Any]) -> Iterator[Mapping[str, Any]]:
    for value in values:
        members = value if isinstance(value, list) and value and isinstance(value[0], Mapping) else [value]
        for member in members:
            if isinstance(member, Mapping) and "model_name" in member and "world_size" in member:
                yield member


def _digest(key: Mapping[str, Any], *names: str) -> bytes:
    members = {name: key[name] for name in names if name in key}
    try:
        return hashlib.blake2b(pack(members), digest_size=16).digest()
    except (TypeError, ValueError, msgspec.EncodeError, RecursionError):
        return repr(sorted(members)).encode()


def _mark(key: Mapping[str, Any]) -> bytes | None:
    """By what prompts are recognised: the first tokens, or the hash of a chunk."""
    tokens = key.get("token_ids")
    if isinstance(tokens, list):
        return hashlib.blake2b(repr(tokens[:PREFIX]).encode(), digest_size=16).digest() if len(tokens) >= PREFIX else None
    digest = key.get("chunk_hash")
    return digest[:64] if isinstance(digest, bytes) and digest else None


def _identity(key: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(f"{key.get(name, '')!r:.120}" for name in _IDENTITY)


def _slots(result: Any) -> bool:
    context = result.get("context") if isinstance(result, Mapping) else None
    slots = context.get("slots") if isinstance(context, Mapping) else None
    return isinstance(slots, list) and bool(slots)


def _failed(result: Any) -> bool:
    if isinstance(result, list) and len(result) == 2 and isinstance(result[0], bytes):
        result = result[1]
    if isinstance(result, Mapping):
        return result.get("success") is False
    return result is False


def _plain(value: Any) -> object:
    return value if isinstance(value, int | str) else None
