"""Which keys were stored and which were asked for: why nothing is ever found."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from harness.tap.finding import Finding
from harness.tap.lm.checks import reply_finding
from harness.tap.lm.exchange import Exchange, Reply
from harness.tap.lm.keys import Part, key_parts, writers
from harness.tap.lm.rules import LM_RULES
from wire.release import KNOWN_RELEASES, Release

_REMEMBERED: Final = 65536
"""Keys, the oldest forgotten first."""
_MOST_MODELS: Final = 256
_SETTLED: Final = 0.5
"""Seconds after which another connection sees what was stored, however slow the server is."""
_ENOUGH: Final = 3
"""Lookups without a hit that are worth a word."""
_WIDE: Final = 1 << 64


@dataclass
class _Model:
    stored: int = 0
    asked: int = 0
    hits: int = 0
    hashes_stored: set[int | str] = field(default_factory=set)
    shared: bool = False
    """Some hash was both stored and asked for."""


@dataclass(frozen=True)
class Put:
    """The last PUT of a key that ended."""

    exchange: Exchange
    at: float
    contested: bool = False
    """Another connection stored the key a moment before, so that either may have won."""


class Lookups:
    """Remembers what was stored, and compares with it what is asked for."""

    def __init__(self) -> None:
        self._puts: OrderedDict[str, Put] = OrderedDict()
        self._running: dict[str, int] = {}
        """PUTs under way, by key: what a GET brings meanwhile may be either value."""
        self._begun: OrderedDict[str, float] = OrderedDict()
        """When the last PUT of a key began."""
        self._by_hash: OrderedDict[int | str, list[str]] = OrderedDict()
        self._models: OrderedDict[str, _Model] = OrderedDict()

    def begin(self, exchange: Exchange) -> None:
        """A PUT has begun."""
        self._running[exchange.key] = self._running.get(exchange.key, 0) + 1
        self._begun[exchange.key] = exchange.at
        self._begun.move_to_end(exchange.key)
        if len(self._begun) > _REMEMBERED:
            self._begun.popitem(last=False)

    def drop(self, exchange: Exchange) -> None:
        """A PUT will never end: what is under its key is not known any more."""
        self._ended(exchange.key)
        self._puts.pop(exchange.key, None)

    def store(self, exchange: Exchange, at: float) -> None:
        """The payload of a PUT is whole."""
        key = exchange.key
        self._ended(key)
        before = self._puts.get(key)
        contested = before is not None and before.exchange.connection != exchange.connection and at - before.at < _SETTLED
        self._puts[key] = Put(exchange, at, contested)
        self._puts.move_to_end(key)
        if len(self._puts) > _REMEMBERED:
            self._puts.popitem(last=False)
        parts = _by_name(key)
        hashes = _spellings(parts)
        for number in hashes:
            texts = self._by_hash.setdefault(number, [])
            if key not in texts and len(texts) < 64:
                texts.append(key)
            self._by_hash.move_to_end(number)
            if len(self._by_hash) > 2 * _REMEMBERED:
                self._by_hash.popitem(last=False)
        model = self._model(parts)
        model.stored += 1
        if len(model.hashes_stored) < _REMEMBERED:
            model.hashes_stored.update(hashes)

    def put_of(self, exchange: Exchange) -> Put | None:
        """The PUT whose value a GET must bring: the last one that ended before the GET came, where none was under way since."""
        put = self._puts.get(exchange.key)
        if put is None or put.contested or self._running.get(exchange.key) or put.at > exchange.at:
            return None
        own = put.exchange.connection == exchange.connection
        if self._begun.get(exchange.key, 0.0) > exchange.at or (not own and exchange.at - put.at < _SETTLED):
            return None
        return put

    def answer(self, connection: int, reply: Reply, exchange: Exchange) -> Iterator[Finding]:
        """A GET or an EXIST was answered."""
        hit = reply.numbers["code"] == 200
        parts = _by_name(exchange.key)
        model = self._model(parts)
        hashes = _spellings(parts)
        model.asked += 1
        model.hits += hit
        model.shared = model.shared or not model.hashes_stored.isdisjoint(hashes)
        if hit:
            return
        if self.put_of(exchange) is not None:
            put = self._puts[exchange.key]
            summary = f"{exchange.name}: {exchange.key!r} is not there, {reply.at - put.at:.3f} s after its PUT ended"
            yield reply_finding("value-lost", connection, reply, exchange, summary, "code", expected="200", got="400")
            return
        others = list(dict.fromkeys(text for number in hashes for text in self._by_hash.get(number, ()) if text != exchange.key))
        if others and exchange.key not in self._puts:
            yield self._other_spelling(exchange, parts, others)

    def finish(self, now: float) -> Iterator[Finding]:
        """What shows only at the end."""
        for name, model in self._models.items():
            if model.asked >= _ENOUGH and not model.hits and model.stored and not model.shared:
                summary = f"{model.asked} lookups of model {name!r} found nothing; {model.stored} values of it were stored"
                yield Finding(LM_RULES["never-found"], 0, now, "client", summary, field="key")

    def _other_spelling(self, exchange: Exchange, parts: dict[str, Part], others: list[str]) -> Finding:
        ways = [(_differing(parts, _by_name(text)), text) for text in others]
        names, text = min(ways, key=lambda way: len(way[0]))
        only_worker = names == ["worker id"]
        name = names[0] if names else "spelling"
        theirs = _by_name(text)
        rule = LM_RULES["other-worker" if only_worker else "other-spelling"]
        asked, stored = parts.get(name), theirs.get(name)
        place = exchange.key_offset + (asked.offset if asked else 0)
        where = f"with another {' and another '.join(names)}" if names else "in another spelling"
        return Finding(
            rule,
            exchange.connection,
            exchange.reply.at if exchange.reply else exchange.at,
            "client",
            f"{exchange.name}: {exchange.key!r} is not there; stored is {text!r}, {where}",
            offset=exchange.offset + place,
            field="key",
            expected=f"{name} {stored.text!r}" if stored else f"no {name}",
            got=f"{name} {asked.text!r}" if asked else f"no {name}",
            exchange=exchange.number,
        )

    def _ended(self, key: str) -> None:
        left = self._running.get(key, 0) - 1
        if left > 0:
            self._running[key] = left
        else:
            self._running.pop(key, None)

    def _model(self, parts: dict[str, Part]) -> _Model:
        name = parts["model"].text if "model" in parts else ""
        found = self._models.setdefault(name, _Model())
        if len(self._models) > _MOST_MODELS:
            self._models.popitem(last=False)
        return found


def _by_name(key: str) -> dict[str, Part]:
    """The parts of a key by their names, several tags as one."""
    known = writers(key.strip("\0\t\n\r "))
    release = known[-1] if known else Release.parse(KNOWN_RELEASES[-1])
    found: dict[str, Part] = {}
    for part in key_parts(release, key):
        if part.name in found:
            before = found[part.name]
            found[part.name] = Part(part.name, before.offset, f"{before.text}@{part.text}")
        elif part.text:
            found[part.name] = part
    return found


def _spellings(parts: dict[str, Part]) -> list[int | str]:
    """The hash of a key as numbers, equal to those of the same hash in another base, without its sign or in upper case."""
    if "hash" not in parts:
        return []
    text = parts["hash"].text
    found: list[int | str] = []
    for base in (16, 10):
        try:
            found.append(int(text, base) % _WIDE if len(text) < 24 else int(text, base))
        except ValueError:
            continue
    small = [number for number in found if isinstance(number, int) and number < 1 << 16]
    return [text] if small or not found else found


def _differing(asked: dict[str, Part], stored: dict[str, Part]) -> list[str]:
    names = list(dict.fromkeys((*asked, *stored)))
    return [name for name in names if _text(asked, name) != _text(stored, name)]


def _text(parts: dict[str, Part], name: str) -> str:
    return parts[name].text if name in parts else ""
