"""Can a client of one release be served by a server of another? Every question is a conversation of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

from fixturegen.vector import canonical
from harness.compat.exchange import Ask, Heard, Line, Place
from harness.compat.frames_of import PLAIN_KEY, PLAIN_VALUE, ClientFrames, Key, Value
from harness.compat.judge import Ended, Trouble, together, trouble_in
from harness.compat.shelf import HIT, MISS, NotStoredError, exist, get, owner, put, shelve, stored
from reports.compat.model import Evidence, Finding
from reports.compat.outcome import Outcome
from wire.release import Release


@dataclass(frozen=True)
class Question:
    """Requests on one connection, in order."""

    name: str
    plain: bool
    asks: Sequence[Ask]


@dataclass(frozen=True)
class Talk:
    """What came of all questions."""

    findings: Sequence[Finding]
    served: frozenset[str]
    """Names of the questions that were answered as they should."""
    questions: int

    @property
    def stores(self) -> bool:
        """Whether plain values under plain keys are stored and come back."""
        return value_question(PLAIN_VALUE) in self.served and key_question(PLAIN_KEY) in self.served


class Tags:
    """Fronts of model names, each handed out once, so that no two conversations with a server meet."""

    def __init__(self, client: Release) -> None:
        self._client = client
        self._count = 0

    def next(self) -> str:
        """The next one, such as ``0.5.6/17/``."""
        self._count += 1
        return f"{self._client}/{self._count}/"


def value_question(name: str) -> str:
    """The question about one kind of value."""
    return f"value {name}"


def key_question(name: str) -> str:
    """The question about one kind of key."""
    return f"key {name}"


def talk(place: Place, frames: ClientFrames, server: Release, tags: Tags, pool: Executor) -> Talk:
    """Ask everything and judge the answers.

    Raises:
        ServerAsleep: the server answers nobody any more.
        OSError: nobody listens there any more.
    """
    questions = list(_questions(frames, tags))
    ended = list(pool.map(lambda question: hold(place, frames, server, question), questions))
    bad = [(q.name, q.plain, *found) for q, found in zip(questions, ended, strict=True) if found is not None]
    served = {question.name for question, found in zip(questions, ended, strict=True) if found is None}
    keys = [key for key in frames.keys if key_question(key.name) in served]
    mixed = _mixed_up(place, frames, server, keys, tags.next())
    return Talk(_without_echoes(together("talk", [*bad, *mixed])), frozenset(served), len(questions) + len(keys))


def _without_echoes(findings: Sequence[Finding]) -> list[Finding]:
    """The findings without those that strike only some keys or values, in a way that strikes plain use already."""
    plain = {finding.grade.outcome for finding in findings if finding.grade.plain}
    return [finding for finding in findings if finding.grade.plain or finding.grade.outcome not in plain]


def hold(place: Place, frames: ClientFrames, server: Release, question: Question) -> tuple[Trouble, Evidence] | None:
    """Hold one conversation up to the first trouble."""
    heard: list[Heard] = []
    with Line(place, frames, "client") as line:
        for ask in question.asks:
            before = [found.exchange.sent for found in heard]
            heard.append(line.ask(ask))
            trouble = trouble_in(ask, heard[-1], server, before)
            if trouble is not None:
                return trouble, Evidence(tuple(found.exchange for found in heard))
    return None


def _questions(frames: ClientFrames, tags: Tags) -> Iterator[Question]:
    """HEALTH, misses, every value under a plain key, a plain value under every key; a HEALTH at the end shows who is in step."""
    plain = frames.key(PLAIN_KEY)

    def question(name: str, text: str, *asks: Ask, is_plain: bool = True) -> Question:
        return Question(name, is_plain, [*asks, Ask("HEALTH", frames.request("HEALTH", text), expects=HIT)])

    def round_trip(value: Value, text: str, seed: int) -> Sequence[Ask]:
        sent, payload = put(frames, value, text, seed)
        return sent, exist(frames, text, HIT), get(frames, text, stored(value.about, payload))

    text = plain.of_model(tags.next()).text
    yield question("health", text, Ask("HEALTH", frames.request("HEALTH", text), expects=HIT))
    yield question("exist of a missing key", text, exist(frames, text, MISS))
    yield question("get of a missing key", text, get(frames, text, MISS))
    for seed, value in enumerate(frames.values):
        text = plain.of_model(tags.next()).text
        name = value_question(value.name)
        yield question(name, text, *round_trip(value, text, seed), is_plain=value.name == PLAIN_VALUE)
    for seed, key in enumerate(frames.keys, 100):
        text = key.of_model(tags.next()).text
        name = key_question(key.name)
        yield question(name, text, *round_trip(frames.value(PLAIN_VALUE), text, seed), is_plain=key.plain)


def _mixed_up(place: Place, frames: ClientFrames, server: Release, keys: Sequence[Key], tag: str) -> Iterator[Ended]:
    """Store something else under each key of one model, then see which keys give the value of another."""
    texts = {key.name: key.of_model(tag).text for key in different(keys)}
    with Line(place, frames, "client") as line:
        try:
            shelf = shelve(line, frames, server, texts)
        except NotStoredError as error:
            yield "many keys of one model", False, error.trouble, error.evidence
            return
        for name, shelved in shelf.items():
            ask = get(frames, shelved.key, stored(shelved.about, shelved.payload))
            heard = line.ask(ask)
            trouble = trouble_in(ask, heard, server)
            if trouble is None:
                continue
            other = owner(shelf, heard.body)
            if other is not None:
                reason = "two keys of the client are one to the server: both give the value that was stored last"
                shown = Evidence((shelved.exchange, shelf[other].exchange, heard.exchange))
                yield f"keys {name} and {other}", False, Trouble(Outcome.WRONG, reason), shown
            else:
                yield key_question(name), False, trouble, Evidence((shelved.exchange, heard.exchange))
            if not heard.in_step:
                return


def different(keys: Sequence[Key]) -> list[Key]:
    """The keys without those that are another one's identity under a second name."""
    return list({canonical(key.identity): key for key in reversed(keys)}.values())[::-1]
