"""How key strings are written: parts and their order, hashes, names of dtypes, layers and tags."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from reports.drift.model import Aspect, Change, Example, Findings, Level, Levels
from reports.drift.observe.evidence import shared
from reports.drift.observe.keystring import PART_WORDS, REFUSED, KeyString
from reports.drift.observe.observed import Observed
from reports.drift.words import outcome
from reports.words import listing

Wanted = Callable[[dict[str, Any]], bool]


def compare(old: Observed, new: Observed) -> Findings:
    """Key strings as two releases write them."""
    found = Findings()
    for observed in (old, new):
        if observed.strings is None and observed.evidence.of("format_key"):
            found.notes.append(f"Captured keys of {observed.release} follow no pattern that could be inferred.")
    if old.strings and new.strings:
        for rule in (_parts, _hashes, _digests, _dtypes, _layers, _tags):
            found.add(list(rule(old, new, old.strings, new.strings)))
    return found


def _parts(old: Observed, new: Observed, before: KeyString, after: KeyString) -> Iterator[Change]:
    if (before.separator, before.parts) == (after.separator, after.parts):
        return
    sentences = []
    fresh = [part for part in after.parts if part not in before.parts]
    gone = [part for part in before.parts if part not in after.parts]
    for part in fresh:
        place = after.parts.index(part)
        where = f"behind {_part_word(after.parts[place - 1])}" if place else "in front"
        sentences.append(f"{_part_word(part)} is new, {where}")
    sentences += [f"{_part_word(part)} is gone" for part in gone]
    stayed = [part for part in before.parts if part in after.parts]
    if stayed != [part for part in after.parts if part in before.parts]:
        sentences.append("parts stand in another order")
    if before.separator != after.separator:
        sentences.append(f"parts are separated by {after.separator!r} instead of {before.separator!r}")
    yield Change(
        Aspect.KEY_STRING,
        f"Key string: {before.pattern} -> {after.pattern}",
        Levels.all(Level.BREAKING),
        f"Make and read keys as {after.pattern}{_names(after) if 'dtype' in fresh else ''}; what was stored under keys of "
        f"{old.release} is not found under keys of {new.release}.",
        _examples(old, new),
        detail=(f"In the string: {'; '.join(sentences)}.",),
        evidence=sum(one.outcome != other.outcome for one, other in shared(old.evidence, new.evidence, "format_key")),
    )


def _part_word(part: str) -> str:
    return "a part that follows nothing that was given" if part == "?" else PART_WORDS.get(part, part)


def _names(strings: KeyString) -> str:
    same = all(dtype == name for dtype, name in strings.dtypes.items())
    names = (
        ""
        if same
        else " (" + listing((f"{name} for {dtype}" for dtype, name in strings.dtypes.items() if name != dtype), 4) + ")"
    )
    return f", the dtype by its name{names}"


def _hashes(old: Observed, new: Observed, before: KeyString, after: KeyString) -> Iterator[Change]:
    if before.hash_style == after.hash_style:
        return
    both = old.reader and new.reader and old.reader.base == new.reader.base
    yield Change(
        Aspect.KEY_STRING,
        f"The hash in a key is written {after.hash_style}, not {before.hash_style}",
        Levels(Level.BREAKING, Level.BREAKING, Level.NONE if both else Level.BREAKING),
        f"Write the chunk hash {after.hash_style}; the same chunk has another key than in {old.release}.",
        _examples(old, new, lambda key: "int" in key["chunk_hash"]),
        detail=("Servers of both releases read it the same way.",) if both else (),
        evidence=sum(one.outcome != other.outcome for one, other in shared(old.evidence, new.evidence, "format_key")),
    )


def _digests(old: Observed, new: Observed, before: KeyString, after: KeyString) -> Iterator[Change]:
    if before.digests == after.digests or before.text_hash:
        return
    examples = _examples(old, new, lambda key: "bytes" in key["chunk_hash"])
    evidence = sum("bytes" in vector.args["key"]["chunk_hash"] for vector in new.evidence.of("format_key"))
    if after.digests == REFUSED:
        yield Change(
            Aspect.KEY_STRING,
            f"Keys whose hash is bytes can no longer be written ({_style(before)} until {old.release})",
            Levels.clients(Level.BREAKING),
            "Do not use a hash function that returns bytes.",
            examples,
            evidence=evidence,
        )
    elif before.digests == REFUSED:
        yield Change(
            Aspect.KEY_STRING,
            f"Keys whose hash is bytes can be written, {_style(after)}; {old.release} refuses them",
            Levels.clients(Level.ADDITIVE),
            "Nothing for integer hashes; write the bytes of a digest in hexadecimal, leading zeros kept."
            if after.digests == "in hexadecimal"
            else f"Nothing for integer hashes; write the bytes of a digest {_style(after)}.",
            examples,
            evidence=evidence,
        )
    elif evidence:
        yield Change(
            Aspect.KEY_STRING,
            f"Hashes that are bytes are written {_style(after)}, not {_style(before)}",
            Levels.clients(Level.BREAKING),
            f"Write the bytes of a digest {_style(after)}.",
            examples,
            evidence=evidence,
        )


def _style(strings: KeyString) -> str:
    return strings.digests or "in a way that no style here matches"


def _dtypes(old: Observed, new: Observed, before: KeyString, after: KeyString) -> Iterator[Change]:
    if "dtype" not in before.parts or "dtype" not in after.parts:
        return
    changed = {dtype: name for dtype, name in before.dtypes.items() if dtype in after.dtypes and after.dtypes[dtype] != name}
    fresh = [dtype for dtype in after.dtypes if dtype not in before.dtypes]
    gone = [dtype for dtype in before.dtypes if dtype not in after.dtypes and _refused(new, dtype)]
    if changed:
        names = listing(f"{dtype} {name} -> {after.dtypes[dtype]}" for dtype, name in changed.items())
        taken = new.reader.dtypes if new.reader else {}
        refused = sorted({name for name in changed.values() if name not in taken})
        yield Change(
            Aspect.KEY_STRING,
            f"Names of dtypes in keys: {names}",
            Levels(Level.BREAKING, Level.BREAKING, Level.BREAKING if refused else Level.BEHAVIOURAL),
            "Write the new names into keys of values of these dtypes; keys of other dtypes stay as they are.",
            _examples(old, new, lambda key: key["dtype"] in changed),
            detail=(f"{new.release} refuses the old name {listing(refused)}.",) if refused else (),
            evidence=len(changed),
        )
    if fresh:
        yield Change(
            Aspect.KEY_STRING,
            f"More dtypes have a name in keys: {listing(f'{dtype} ({after.dtypes[dtype]})' for dtype in fresh)}",
            Levels.all(Level.ADDITIVE),
            "Nothing to keep working; use the names for values of these dtypes.",
            _examples(old, new, lambda key: key["dtype"] in fresh),
            evidence=len(fresh),
        )
    if gone:
        yield Change(
            Aspect.KEY_STRING,
            f"Dtypes without a name in keys: {listing(gone)}",
            Levels(Level.BREAKING, Level.BREAKING, Level.BEHAVIOURAL),
            f"Do not make keys for values of dtype {listing(gone)}.",
            _examples(old, new, lambda key: key["dtype"] in gone),
            evidence=len(gone),
        )


def _refused(observed: Observed, dtype: str) -> bool:
    return any(vector.ok is None and vector.args["key"]["dtype"] == dtype for vector in observed.evidence.of("format_key"))


def _layers(old: Observed, new: Observed, before: KeyString, after: KeyString) -> Iterator[Change]:
    yield from _optional(old, new, "A layer", before.layer, after.layer, lambda key: key["layer"] is not None and not key["tags"])


def _tags(old: Observed, new: Observed, before: KeyString, after: KeyString) -> Iterator[Change]:
    yield from _optional(old, new, "Tags (name%value)", before.tags, after.tags, lambda key: bool(key["tags"]))


def _optional(
    old: Observed, new: Observed, what: str, before: bool | None, after: bool | None, wanted: Wanted
) -> Iterator[Change]:
    """Something that may follow the fixed parts; None where it was not asked for, so that the release has no such concept."""
    if bool(before) == bool(after):
        return
    if after:
        title, level, must = "can follow the fixed parts of a key", Level.ADDITIVE, "Nothing for keys without it."
    elif after is None:
        title, level, must = "is unknown to keys", Level.BREAKING, "Make keys without it."
    else:
        title, level, must = "no longer follows the fixed parts of a key", Level.BREAKING, "Write it as the example shows."
    evidence = sum(wanted(vector.args["key"]) for vector in new.evidence.of("format_key"))
    levels = Levels.all(level)
    yield Change(Aspect.KEY_STRING, f"{what} {title}", levels, must, _examples(old, new, wanted), evidence=max(1, evidence))


def _examples(old: Observed, new: Observed, wanted: Wanted | None = None) -> tuple[Example, ...]:
    """The first key that both write differently; else one that only the newer was asked for."""
    alone = None
    for vector in new.evidence.of("format_key"):
        if wanted and not wanted(vector.args["key"]):
            continue
        before = old.evidence.vectors.get(vector.id)
        if before is None:
            alone = alone or Example(vector.id, None, outcome(vector))
        elif before.outcome != vector.outcome:
            return (Example(vector.id, outcome(before), outcome(vector)),)
    return (alone,) if alone else ()
