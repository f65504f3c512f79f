"""Does an engine of the server's release find what a client of another release stored for the same tokens?

The client stores with its own frames under its own captured keys; the engine asks with its own. Where the keys are volatile, or
the client cannot store at all, the captures alone have to say what they can.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

from harness.compat.exchange import Line, Place
from harness.compat.facts import (
    Difference,
    KeyFacts,
    differences,
    dtype_name,
    facts_of,
    fold,
    hash_function,
    parts_of,
    world_size,
)
from harness.compat.frames_of import PLAIN_KEY, PLAIN_VALUE, Chunks, ClientFrames, Value, tagged
from harness.compat.judge import Ended, Trouble, together, trouble_in
from harness.compat.shelf import NotStoredError, Shelved, get, owner, shelve, stored
from harness.compat.talk import Tags, Talk, different, key_question, value_question
from reports.compat.model import Evidence, Finding
from reports.compat.outcome import Outcome

TOKENS = "tokens under default settings"
"""The question of plain use: three chunks and a rest, with the defaults of each side."""

_DEFAULTS = {True: "lm.chunks.three-and-rest-unfull", False: "lm.chunks.three-and-rest-full"}
"""By default of ``save_unfull_chunk``."""


@dataclass(frozen=True)
class Sharing:
    """What came of all questions."""

    findings: Sequence[Finding]
    questions: int


@dataclass(frozen=True)
class Pair:
    """The same thing on both sides: the captured text under which it is stored, and the one that is asked for."""

    question: str
    plain: bool
    stored: str
    asked: str
    why: Sequence[Difference]
    """Why the texts differ, if they do."""


@dataclass(frozen=True)
class Both:
    """Two sides of one server."""

    place: Place
    stores: ClientFrames
    asks: ClientFrames
    """Of the server's own release."""

    @property
    def facts(self) -> tuple[KeyFacts, KeyFacts]:
        """What decides about the keys of both."""
        return facts_of(self.stores.release), facts_of(self.asks.release)

    @property
    def differing(self) -> list[Difference]:
        """Why plain tokens have different keys, as the captures tell."""
        return differences(*self.facts)

    @property
    def captured(self) -> Evidence:
        """One captured key on both sides: of a hash that is given, and of the same tokens."""
        captured = [
            ("a key, as it is stored", self.stores.key(PLAIN_KEY).text),
            ("the same, as it is asked for", self.asks.key(PLAIN_KEY).text),
        ]
        for question, one, other in self.chunks():
            if question == TOKENS:
                captured += [
                    ("the key of some tokens, as it is stored", _first(one)),
                    ("the same, as it is asked for", _first(other)),
                ]
        return Evidence(captured=tuple(captured))

    def chunks(self) -> Iterator[tuple[str, Chunks, Chunks]]:
        """Captures of the same tokens on both sides: once with the defaults of each, then with equal settings."""
        left, right = (_DEFAULTS[facts.saves_unfull] for facts in self.facts)
        for question, one, other in ((TOKENS, left, right), *((name, name, name) for name in self.stores.chunks)):
            if one in self.stores.chunks and other in self.asks.chunks:
                yield question, self.stores.chunks[one], self.asks.chunks[other]


def share(both: Both, talked: Talk, tags: Tags, pool: Executor) -> Sharing:
    """Store as one release, ask as another.

    Raises:
        ServerAsleep: the server answers nobody any more.
        OSError: nobody listens there any more.
    """
    if not talked.stores:
        return Sharing(_blocked(both, talked), 0)
    keys = _key_pairs(both, talked, tags.next())
    of_keys = play(both, keys)
    lost = any(plain for _, plain, _, _ in of_keys)
    # What was played counts for more than what the captures say: keys that meet differ in nothing but their hashes.
    differing = [difference for difference in both.differing if difference.of_tokens or lost]
    batches = [_chunk_pairs(both, question, one, other, tags.next()) for question, one, other in both.chunks()]
    of_tokens = [ended for several in pool.map(lambda batch: play(both, batch), batches) for ended in several]
    of_tokens += [*_volatile(both, differing), *_unfull(both)]
    lost_tokens = any(plain and trouble.outcome is Outcome.MISSES for _, plain, trouble, _ in of_tokens)
    # What plain keys show already is not repeated for all others.
    found = [ended for ended in of_keys if ended[1] or not (lost_tokens and ended[2].outcome is Outcome.MISSES)]
    values = [] if lost else [value for value in both.stores.values if value_question(value.name) in talked.served]
    fronts = [tags.next() for _ in values]
    of_values = [ended for several in pool.map(lambda *of: _play_value(both, *of), values, fronts) for ended in several]
    found += [*of_tokens, *of_values, *_digests(both)]
    return Sharing(together("share", found), sum(map(len, batches)) + len(keys) + len(values))


def missed(found: Sequence[Difference]) -> list[Trouble]:
    """A miss, once for each difference between the keys."""
    reasons = [f"another key is asked for: {difference}" for difference in found]
    return [Trouble(Outcome.MISSES, reason) for reason in reasons or ["the keys differ, and no capture says why"]]


def _blocked(both: Both, talked: Talk) -> list[Finding]:
    """Nothing can be stored; if the keys differ as well, that is said nevertheless."""
    grade = min((finding.grade for finding in talked.findings if finding.grade.plain), key=lambda grade: grade.rank)
    found = [Finding("share", grade, "nothing can be stored there (see talk)", (TOKENS,), Evidence())]
    if both.differing:
        found += together("share", [(TOKENS, True, trouble, both.captured) for trouble in missed(both.differing)])
    return found


def play(both: Both, batch: Sequence[Pair]) -> list[Ended]:
    """Store something of its own for every pair, then ask for each on a connection of its own."""
    if not batch:
        return []
    texts = {str(index): pair.stored for index, pair in enumerate(batch)}
    with Line(both.place, both.stores, "client") as line:
        try:
            shelf = shelve(line, both.stores, both.asks.release, texts)
        except NotStoredError as error:
            return [(batch[0].question, batch[0].plain, error.trouble, error.evidence)]
    found = []
    for pair, name in zip(batch, shelf, strict=True):
        found += _fetch(both, pair, shelf[name], {other: shelved for other, shelved in shelf.items() if other != name})
    return found


def _fetch(both: Both, pair: Pair, shelved: Shelved, others: Mapping[str, Shelved]) -> list[Ended]:
    ask = get(both.asks, pair.asked, stored(shelved.about, shelved.payload))
    with Line(both.place, both.asks, "engine") as line:
        heard = line.ask(ask)
    trouble = trouble_in(ask, heard, both.asks.release)
    if trouble is None:
        return []
    shown = [shelved.exchange, heard.exchange]
    other = owner(others, heard.body)
    if trouble.outcome is Outcome.WRONG and other is not None:
        trouble = Trouble(Outcome.WRONG, "the value of another key is given: one key text, two meanings")
        shown.insert(1, others[other].exchange)
    evidence = Evidence(tuple(shown))
    troubles = missed(pair.why) if trouble.outcome is Outcome.MISSES else [trouble]
    return [(pair.question, pair.plain, found, evidence) for found in troubles]


def _chunk_pairs(both: Both, question: str, one: Chunks, other: Chunks, tag: str) -> list[Pair]:
    if one.texts is None or other.texts is None:
        return []
    found = []
    for place in one.texts:
        if place not in other.texts:
            continue
        parts = parts_of(one.texts[place], one.args), parts_of(other.texts[place], other.args)
        own = [*dtype_name(*parts), *world_size(*parts), *hash_function(one.function, other.function)]
        texts = tagged(one.texts[place], one.args["model"], tag), tagged(other.texts[place], other.args["model"], tag)
        folds = fold(*both.facts) if one.by_digests or other.by_digests else []
        found.append(Pair(question, question == TOKENS, *texts, [*both.differing, *own, *folds]))
    return found


def _key_pairs(both: Both, talked: Talk, tag: str) -> list[Pair]:
    """Captured keys of the same name on both sides, as far as the server takes them from the client."""
    asked = {key.name: key for key in both.asks.keys}
    # The hash is given here, so that the chain has no part in it.
    differing = [difference for difference in both.differing if not difference.of_tokens]
    found = []
    for key in different(both.stores.keys):
        if key_question(key.name) not in talked.served or key.name not in asked:
            continue
        other = asked[key.name]
        names = dtype_name(parts_of(key.text, key.identity), parts_of(other.text, other.identity))
        texts = key.of_model(tag).text, other.of_model(tag).text
        found.append(Pair(key_question(key.name), key.plain, *texts, [*differing, *names]))
    return found


def _volatile(both: Both, differing: Sequence[Difference]) -> Iterator[Ended]:
    """Keys that differ from process to process: only what differs in any case can be said."""
    for question, one, other in both.chunks():
        volatile = next((chunks for chunks in (one, other) if chunks.texts is None), None)
        if volatile is None:
            continue
        unknown = Trouble(Outcome.UNKNOWN, volatile.volatile or "the captured keys are masked")
        for trouble in missed(differing) if differing else [unknown]:
            yield question, question == TOKENS, trouble, both.captured


def _unfull(both: Both) -> Iterator[Ended]:
    stores, asks = both.facts
    if stores.saves_unfull and not asks.saves_unfull:
        reason = "save_unfull_chunk: by default a last chunk that is not full is stored, and never asked for"
        yield (
            "the rest behind the last full chunk",
            False,
            Trouble(Outcome.MISSES, reason),
            Evidence(
                captured=(
                    ("default of the client", "save_unfull_chunk: true"),
                    ("default of the engine", "save_unfull_chunk: false"),
                )
            ),
        )


def _play_value(both: Both, value: Value, front: str) -> list[Ended]:
    """Store one kind of value under a plain key, and read it as the other side reads it."""
    question = value_question(value.name)
    stored_text = both.stores.key(PLAIN_KEY).of_model(front).text
    asked_text = both.asks.key(PLAIN_KEY).of_model(front).text
    plain = value.name == PLAIN_VALUE
    with Line(both.place, both.stores, "client") as line:
        try:
            shelf = shelve(line, both.stores, both.asks.release, {question: stored_text}, value)
        except NotStoredError as error:
            return [(question, plain, error.trouble, error.evidence)]
    return _fetch(both, Pair(question, plain, stored_text, asked_text, ()), shelf[question], {})


def _digests(both: Both) -> Iterator[Ended]:
    """Hash functions that give digests, as vLLM's do: what the chain makes of them."""
    stores, asks = both.facts
    found = [] if both.differing else fold(stores, asks)
    if not found:
        return
    captured = (("a digest in a key that is stored", _digest(stores)), ("the same, as it is asked for", _digest(asks)))
    question = "tokens hashed with digests (sha256_cbor and the like)"
    for trouble in missed(found):
        yield question, False, trouble, Evidence(captured=captured)


def _digest(facts: KeyFacts) -> str:
    (first, *_), _ = facts.digests
    kind, value = next(iter(first.items()))
    return f"{kind} {value}"


def _first(chunks: Chunks) -> str:
    return "differs from process to process" if chunks.texts is None else next(iter(chunks.texts.values()), "none")
