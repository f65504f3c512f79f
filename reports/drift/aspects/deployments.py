"""Chunk keys as deployments make them: the hash function and starting hash found in a vLLM, and the keys that come out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from fixturegen.vector import MASKED, Vector
from reports.drift.model import Aspect, Change, Example, Findings, Level, Levels, Side, Table
from reports.drift.observe.evidence import refusal, shared
from reports.drift.observe.keystring import PART_WORDS, REFUSED
from reports.drift.observe.observed import Observed
from reports.drift.words import outcome, value
from reports.words import count, listing, verb

OP: Final = "deployment_keys"
PART_OF_KEY: Final = ("dtype", "fmt")
"""Arguments that only say which parts a key of the release has."""
COMPARED: Final = ("model", "world_size", "worker_id", "dtype", "tail")
"""Parts of a key that must stay, whatever the key string looks like."""

Pair = tuple[Vector, Vector]
Consequence = Callable[[Observed, Observed, Pair], bool]
"""Whether a change that is reported elsewhere accounts for a pair."""


@dataclass
class _Tally:
    """Pairs of vectors by what differs in them."""

    functions: list[Pair] = field(default_factory=list)
    starts: list[Pair] = field(default_factory=list)
    cuts: list[Pair] = field(default_factory=list)
    hashes: list[Pair] = field(default_factory=list)
    parts: dict[str, list[Pair]] = field(default_factory=dict)
    refused: list[Pair] = field(default_factory=list)
    answered: list[Pair] = field(default_factory=list)


def compare(old: Observed, new: Observed) -> Findings:
    """One change for each thing that differs, unless the chunk chain or the key string accounts for it."""
    tally, asked_otherwise, seen = _Tally(), 0, set()
    for before, after in shared(old.evidence, new.evidence, OP):
        if _question(before) != _question(after):
            asked_otherwise += 1
        elif before.outcome != after.outcome and _sort(tally, old, new, before, after):
            seen.add(after.id)
    found = Findings(accounted=seen)
    found.add(list(_changes(old, new, tally)))
    consequences = [pair for pair in tally.hashes + tally.starts if _by_chain(old, new, pair)]
    consequences += [pair for pair in tally.refused + tally.answered if _by_digests(old, new, pair)]
    if consequences:
        number = len({after.id for _, after in consequences})
        names = listing(dict.fromkeys(after.id for _, after in consequences), 3)
        found.notes.append(
            f"{count(number, 'deployment')} (vLLM, algorithm and seed) {verb(number, 'gets', 'get')} other keys because of the "
            f"changes above: {names}."
        )
    if asked_otherwise:
        found.notes.append(
            f"{count(asked_otherwise, 'input')} of {OP} {verb(asked_otherwise, 'is', 'are')} not the same in both captures."
        )
    return found


def key_examples(old: Observed, new: Observed) -> tuple[Example, ...]:
    """A deployment that has the same function in both releases and other keys."""
    for before, after in shared(old.evidence, new.evidence, OP):
        if before.ok and after.ok and _question(before) == _question(after) and before.ok["function"] == after.ok["function"]:
            one, other = _hashes(old, before), _hashes(new, after)
            if one and one != other and MASKED not in [*one, *other]:
                return (_example((before, after)),)
    return ()


def _question(vector: Vector) -> dict[str, Any]:
    return {name: given for name, given in vector.args.items() if name not in PART_OF_KEY}


def _sort(tally: _Tally, old: Observed, new: Observed, before: Vector, after: Vector) -> bool:
    """Put a pair where its difference belongs; False if there is no place for it."""
    pair = (before, after)
    if before.ok is None or after.ok is None:
        if before.ok is not after.ok:
            (tally.refused if after.ok is None else tally.answered).append(pair)
        return before.ok is not after.ok
    if (before.ok["function"], before.ok["returns"]) != (after.ok["function"], after.ok["returns"]):
        tally.functions.append(pair)
        return True
    if _ranges(before.ok) != _ranges(after.ok):
        tally.cuts.append(pair)
        return True
    placed = True
    if not _same(before.ok["none_hash"], after.ok["none_hash"]) or not _same(before.ok["start"], after.ok["start"]):
        tally.starts.append(pair)
    elif any(not _same(one, other) for one, other in zip(_hashes(old, before), _hashes(new, after), strict=True)):
        tally.hashes.append(pair)
    else:
        placed = False
    parts = _other_parts(old, new, before, after)
    for role in parts:
        tally.parts.setdefault(role, []).append(pair)
    return placed or bool(parts)


def _function(ok: Mapping[str, Any]) -> str:
    return f"{ok['function']} ({ok['returns']})"


def _ranges(ok: Mapping[str, Any]) -> list[tuple[int, int, int]]:
    return [(chunk["start"], chunk["end"], len(chunk["layers"])) for chunk in ok["chunks"]]


def _same(one: Any, other: Any) -> bool:
    return MASKED in (one, other) or one == other


def _keys(ok: Mapping[str, Any]) -> list[Any]:
    """Every key of an answer, those of layers included."""
    return [key for chunk in ok["chunks"] for key in (chunk["key"], *chunk["layers"])]


def _hashes(observed: Observed, vector: Vector) -> list[Any]:
    found: list[Any] = []
    for key in _keys(vector.ok or {"chunks": []}):
        parts = observed.strings.split(key) if observed.strings and isinstance(key, str) else None
        found.append(MASKED if key == MASKED else _number(observed, (parts or {}).get("chunk_hash", key)))
    return found


def _number(observed: Observed, text: Any) -> Any:
    """A hash as a number, so that decimal and hexadecimal make no difference; anything else as it is."""
    base = 10 if observed.strings and observed.strings.integers == "in decimal" else 16
    try:
        return int(text, base)
    except (TypeError, ValueError):
        return text


def _other_parts(old: Observed, new: Observed, before: Vector, after: Vector) -> list[str]:
    """Parts beside the hash that differ although both key strings have them."""
    if not (old.strings and new.strings and before.ok and after.ok):
        return []
    found: dict[str, None] = {}
    compared = [role for role in COMPARED if role != "dtype" or old.strings.dtypes == new.strings.dtypes]
    for one, other in zip(_keys(before.ok), _keys(after.ok), strict=True):
        left = old.strings.split(one) if isinstance(one, str) else None
        right = new.strings.split(other) if isinstance(other, str) else None
        if left and right:
            found.update(dict.fromkeys(role for role in compared if role in left and role in right and left[role] != right[role]))
    return list(found)


def _by_chain(old: Observed, new: Observed, pair: Pair) -> bool:
    """Whether the chunk chain, which is reported on its own, makes the keys of a deployment differ."""
    one, other = old.chain, new.chain
    digests = pair[1].ok is not None and pair[1].ok["returns"] == "bytes"
    return one.input != other.input or (digests and (one.in_chain, one.in_key) != (other.in_chain, other.in_key))


def _by_digests(old: Observed, new: Observed, pair: Pair) -> bool:
    """Whether a refusal comes or goes because keys cannot, or can, hold digests."""
    if not (old.strings and new.strings) or old.strings.digests == new.strings.digests:
        return False
    answered = pair[1].ok or pair[0].ok or {}
    return REFUSED in {old.strings.digests, new.strings.digests} and answered.get("returns") == "bytes"


def _changes(old: Observed, new: Observed, tally: _Tally) -> Iterator[Change]:
    breaking = Levels.clients(Level.BREAKING)
    lookups = [*tally.functions, *(pair for pair in tally.refused if not _by_digests(old, new, pair))]
    if lookups:
        yield _lookups(old, new, lookups)
    more = Levels.clients(Level.ADDITIVE)
    same = "get other chunk hashes from the same function and start"
    fresh = f"get keys that {old.release} could not make"
    rows: tuple[tuple[list[Pair], Consequence, str, Levels, str], ...] = (
        (tally.starts, _by_chain, "start from another hash", breaking, f"Start the chain as {new.release} does"),
        (tally.hashes, _by_chain, same, breaking, f"Find out how {new.release} hashes"),
        (tally.cuts, _never, "get other chunks or layers", breaking, f"Cut tokens as {new.release} does"),
        (tally.answered, _by_digests, fresh, more, "Nothing to keep working"),
    )
    for pairs, consequence, what, levels, must in rows:
        left = [pair for pair in pairs if not consequence(old, new, pair)]
        if left:
            yield Change(
                Aspect.CHUNKS,
                f"{count(len(left), 'captured deployment')} {what}: {_surroundings(left)}",
                levels,
                f"{must}; the example shows the first one.",
                (_example(left[0]),),
                evidence=len(left),
            )
    for role, pairs in tally.parts.items():
        word = "world size" if role == "world_size" else PART_WORDS.get(role, role)
        one, other = (_first_part(observed, vector, role) for observed, vector in zip((old, new), pairs[0], strict=True))
        yield Change(
            Aspect.CHUNKS,
            f"{_subject(pairs)} carry {word} {other}, not {one}: {_surroundings(pairs)}",
            breaking,
            f"Write {word} {other} into these keys; those with {one} are not found by {new.release}.",
            (_example(pairs[0]),),
            evidence=len(pairs),
        )


def _subject(pairs: Sequence[Pair]) -> str:
    latent = all(after.args.get("mla") for _, after in pairs)
    return "With multi-head latent attention (MLA) keys" if latent else "Keys"


def _first_part(observed: Observed, vector: Vector, role: str) -> str:
    keys = [key for key in _keys(vector.ok or {"chunks": []}) if isinstance(key, str)]
    parts = observed.strings.split(keys[0]) if observed.strings and keys else None
    return (parts or {}).get(role) or "none"


def _lookups(old: Observed, new: Observed, pairs: Sequence[Pair]) -> Change:
    """Which function deployments find: one change, because lmcache looks them all up in one place."""
    lost = sum(after.ok is None for _, after in pairs)
    total = sum(1 for _ in shared(old.evidence, new.evidence, OP))
    others = len(pairs) - lost
    parts = [f"{others} of {total} captured deployments hash with another function"] if others else []
    parts += (
        [f"{lost} get no keys any more" if others else f"{lost} of {total} captured deployments get no keys any more"]
        if lost
        else []
    )
    return Change(
        Aspect.CHUNKS,
        ", ".join(parts),
        Levels.clients(Level.BREAKING),
        f"Use the function that the table names for your vLLM and algorithm; no key of {old.release} is found there.",
        (_example(pairs[0]),),
        table=Table(("algorithm", "beside", "seed", old.release, new.release), tuple(_lookup_rows(pairs))),
        evidence=len(pairs),
    )


def _lookup_rows(pairs: Sequence[Pair]) -> Iterator[tuple[str, ...]]:
    """Surroundings with both functions; seeds that make no difference on one row."""
    seeds: dict[tuple[str, ...], dict[str, None]] = {}
    for before, after in pairs:
        args = after.args
        row = (args["algorithm"], _vllm(args), *(_found(vector) for vector in (before, after)))
        seeds.setdefault(row, {})[args["seed"] or "unset"] = None
    for (algorithm, vllm, one, other), found in seeds.items():
        yield algorithm, vllm, ", ".join(found), one, other


def _found(vector: Vector) -> str:
    return refusal(vector) or _function(vector.answer)


def _never(old: Observed, new: Observed, pair: Pair) -> bool:
    del old, new, pair
    return False


def _surroundings(pairs: Sequence[Pair]) -> str:
    """The vLLM, algorithm and seed of each, and what else is special."""
    return listing(dict.fromkeys(_beside(after.args) for _, after in pairs), 4)


def _beside(args: Mapping[str, Any]) -> str:
    mla = ", MLA" if args["mla"] else ""
    return f"{args['algorithm']} beside {_vllm(args)}, seed {args['seed'] or 'unset'}{mla}"


def _vllm(args: Mapping[str, Any]) -> str:
    if args["vllm"] is None:
        return "no vLLM"
    return f"vLLM {args['vllm']}{'' if args['kv_cache_utils'] else ' without kv_cache_utils'}"


def _example(pair: Pair) -> Example:
    return Example(pair[1].id, *map(_side, pair))


def _side(vector: Vector) -> Side:
    if vector.ok is None:
        return outcome(vector)
    first = next((value(key) for key in _keys(vector.ok)), "no key")
    return Side(f"{_function(vector.ok)} from {value(vector.ok['start'])}: {first}")
