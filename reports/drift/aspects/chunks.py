"""Chunk keys: what is hashed, how digests are folded, where chunks begin and end, and the hashes themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from fixturegen.vector import MASKED, Vector
from reports.drift.aspects.deployments import key_examples
from reports.drift.model import Aspect, Change, Example, Findings, Level, Levels, Side
from reports.drift.observe.chain import Chain, builtin_keys, key_hash
from reports.drift.observe.evidence import shared
from reports.drift.observe.observed import Observed
from reports.drift.words import value
from reports.words import count, verb

SAME_QUESTION: Final = ("tokens", "chunk_size", "save_unfull_chunk", "skip")
"""Arguments that decide where chunks begin and end."""


_FOLD_WORDS: Final = {"go into the chain": "for the next step", "into the key": "for the key"}


@dataclass
class _Tally:
    """What comparing chunk keys one by one gives."""

    equal: int = 0
    differ: list[tuple[Vector, Vector]] = field(default_factory=list)
    masked: int = 0
    other_algorithm: int = 0
    boundaries: list[tuple[Vector, Vector]] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)


def compare(old: Observed, new: Observed) -> Findings:
    """The chain as its hash function saw it, and the keys that came out."""
    found = Findings()
    tally = _count(old, new)
    found.accounted |= tally.seen
    one, other = old.chain, new.chain
    changes = list(_chain(old, new, one, other, tally))
    found.add(changes)
    found.add(list(_boundaries(new, tally)))
    if tally.differ and not changes:
        found.changes.append(
            Change(
                Aspect.CHUNKS,
                f"{count(len(tally.differ), 'captured list')} of tokens {verb(len(tally.differ), 'gets', 'get')} other chunk "
                "hashes, although what is hashed looks the same",
                Levels.clients(Level.BREAKING),
                f"Find out how {new.release} hashes a chunk: captures do not show it; no key of {old.release} is found again.",
                _key_examples(tally.differ),
                evidence=len(tally.differ),
            )
        )
    for observed in (old, new):
        if observed.chain.unexplained:
            found.notes.append(
                f"{observed.release} chains {', '.join(observed.chain.unexplained)} by rules that could not be inferred; "
                "they are compared as they are."
            )
    masked = [observed.release for observed in (old, new) if _is_masked(observed)]
    if masked:
        found.notes.append(
            f"Chunk keys of {' and '.join(masked)} made with the builtin hash differ from process to process, so that "
            "their hashes are not captured; what is hashed is."
        )
    return found


def _is_masked(observed: Observed) -> bool:
    return any(vector.volatile and vector.op == "chunk_keys" for vector in observed.evidence.of("chunk_keys"))


def _count(old: Observed, new: Observed) -> _Tally:
    tally = _Tally()
    for before, after in shared(old.evidence, new.evidence, "chunk_keys"):
        if any(before.args[name] != after.args[name] for name in SAME_QUESTION):
            continue
        if _ranges(before) != _ranges(after):
            tally.boundaries.append((before, after))
            tally.seen.add(after.id)
            continue
        hashes = list(zip(_hashes(old, before), _hashes(new, after), strict=True))
        if before.args["algorithm"] != after.args["algorithm"]:
            tally.other_algorithm += 1
        elif any(MASKED in pair for pair in hashes):
            tally.masked += 1
        elif all(one is not None and one == other for one, other in hashes) or before.outcome == after.outcome:
            tally.equal += bool(hashes)
        else:
            tally.differ.append((before, after))
            tally.seen.add(after.id)
    return tally


def _ranges(vector: Vector) -> list[tuple[int, int]] | None:
    return None if vector.ok is None else [(chunk["start"], chunk["end"]) for chunk in vector.ok["chunks"]]


def _hashes(observed: Observed, vector: Vector) -> list[Any]:
    """The hashes in the keys as numbers or bytes, so that another way of writing them makes no difference."""
    if vector.ok is None:
        return []
    return [MASKED if chunk["key"] == MASKED else _number(observed, chunk["key"]) for chunk in vector.ok["chunks"]]


def _number(observed: Observed, text: str) -> int | str | None:
    if observed.strings is None:
        return None
    written = key_hash(text, observed.strings)
    base = {"in decimal": 10}.get(observed.strings.integers or "", 16)
    try:
        return written if written is None or observed.strings.text_hash else int(written, base)
    except ValueError:
        return written


def _chain(old: Observed, new: Observed, one: Chain, other: Chain, tally: _Tally) -> Iterator[Change]:
    if one.input != other.input:
        yield Change(
            Aspect.CHUNK_CHAIN,
            f"What is hashed for a chunk: {one.input} -> {other.input}",
            Levels.clients(Level.BREAKING),
            f"Hash {other.input}; every chunk key changes, so that nothing stored by a client of {old.release} is found."
            if other.third or other.text_chain
            else f"Find out what {new.release} hashes: its capture does not show it ({other.refused or 'no chain_inputs'}).",
            (*(_step_examples(old, new) or _key_examples(_pairs(old, new))), *key_examples(old, new)),
            detail=tuple(_hash_sentences(new, tally)),
            evidence=len(tally.differ) + tally.masked + tally.other_algorithm,
        )
    found = ((one.in_chain, other.in_chain, "go into the chain"), (one.in_key, other.in_key, "into the key"))
    folds = [(a, b, where) for a, b, where in found if a != b]
    if folds and one.in_chain and other.in_chain:
        where = " and ".join(part for *_, part in folds)
        yield Change(
            Aspect.CHUNK_CHAIN,
            f"Digests (hashes that are bytes): {folds[0][1]} {where}, not {folds[0][0]}",
            Levels.clients(Level.BREAKING),
            f"With a hash function that returns bytes, take of each digest {folds[0][1]}, "
            + " and ".join(_FOLD_WORDS[part] for *_, part in folds)
            + ("; keys made with integer hashes stay as they are." if tally.equal and not tally.differ else "."),
            (*_step_examples(old, new), *key_examples(old, new)),
            detail=tuple(_hash_sentences(new, tally)),
            evidence=sum(a.outcome != b.outcome for a, b in shared(old.evidence, new.evidence, "chain_inputs")),
        )


def _hash_sentences(new: Observed, tally: _Tally) -> Iterator[str]:
    """How far captured keys bear the change out."""
    if tally.differ:
        yield f"{count(len(tally.differ), 'captured list')} of tokens {verb(len(tally.differ), 'gets', 'get')} other hashes."
    if tally.equal:
        yield f"The builtin hash gives the same chunk hashes as before for {count(tally.equal, 'captured list')} of tokens."
    if tally.other_algorithm:
        yield f"No algorithm is in both releases: {count(tally.other_algorithm, 'captured list')} of tokens cannot be compared."
    if new.strings:
        right, seen = builtin_keys(new.evidence.of("chunk_keys"), new.chain, new.strings)
        if seen:
            which = f"all {seen}" if right == seen else f"{right} of {seen}"
            doubt = "" if right == seen else ": something else changed as well"
            yield f"CPython's tuple hash of it gives {which} captured builtin keys of {new.release}{doubt}."


def _pairs(old: Observed, new: Observed) -> list[tuple[Vector, Vector]]:
    return [
        pair for pair in shared(old.evidence, new.evidence, "chunk_keys") if pair[0].ok and pair[1].ok and pair[1].ok["chunks"]
    ]


def _step_examples(old: Observed, new: Observed) -> tuple[Example, ...]:
    """The second step of a chain: there both the previous hash and what stands behind the tokens show."""
    candidates = [pair for pair in shared(old.evidence, new.evidence, "chain_inputs") if pair[0].outcome != pair[1].outcome]
    for before, after in sorted(candidates, key=lambda pair: pair[0].outcome == pair[1].outcome):
        return (Example(after.id, _step(before), _step(after)),)
    alone = [vector for vector in new.evidence.of("chain_inputs") if vector.id not in old.evidence.vectors]
    return tuple(Example(vector.id, None, _step(vector)) for vector in alone[:1])


def _step(vector: Vector) -> Side:
    if vector.ok is None:
        return Side(vector.refusal)
    steps = vector.ok["steps"]
    if len(steps) < 2:
        return Side(value(vector.ok))
    given = vector.args["answers"][0]
    step = steps[1]
    return Side(
        f"the first chunk hashed to {value(given)}; for the second, previous hash {value(step['prefix'])}, "
        f"{len(step['tokens'])} tokens, third element {step['third']}"
    )


def _key_examples(pairs: list[tuple[Vector, Vector]]) -> tuple[Example, ...]:
    for before, after in pairs:
        if before.ok and after.ok and after.ok["chunks"]:
            return (Example(after.id, _keys(before.ok), _keys(after.ok)),)
    return ()


def _keys(ok: Mapping[str, Any]) -> Side:
    first = ok["chunks"][0]
    return Side(f"tokens {first['start']} to {first['end']}: {value(first['key'])}")


def _boundaries(new: Observed, tally: _Tally) -> Iterator[Change]:
    if tally.boundaries:
        before, after = tally.boundaries[0]
        yield Change(
            Aspect.CHUNKS,
            f"Tokens are cut into other chunks ({count(len(tally.boundaries), 'captured list')} of tokens)",
            Levels.clients(Level.BREAKING),
            f"Cut tokens as {new.release} does; the example shows where chunks begin and end.",
            (Example(after.id, _cut(before), _cut(after)),),
            evidence=len(tally.boundaries),
        )


def _cut(vector: Vector) -> Side:
    ranges = _ranges(vector)
    if ranges is None:
        return Side(vector.refusal)
    given = f"{len(vector.args['tokens'])} tokens, chunk size {vector.args['chunk_size']}, skip {vector.args['skip']}"
    return Side(f"{given}: {', '.join(f'{start} to {end}' for start, end in ranges) or 'no chunk'}")
