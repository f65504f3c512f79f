"""Operations whose answers are compared as they are: defaults, token hashes, payload layouts, and any that is new here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from fixturegen.vector import Vector
from reports.drift.model import Aspect, Change, Example, Findings, Level, Levels
from reports.drift.observe.evidence import shared
from reports.drift.observe.observed import Observed
from reports.drift.words import alike, outcome, value
from reports.words import count, listing, verb

UNDERSTOOD: Final = frozenset(
    {
        "encode_request", "decode_request", "encode_reply", "decode_reply", "encode_metadata", "decode_metadata",
        "format_key", "parse_key", "parse_key_as_server", "chain_inputs", "chunk_keys", "deployment_keys", "defaults",
    }
)  # fmt: skip
"""Operations that other modules, or this one by name, take apart."""
DEFAULT_LEVELS: Final[Mapping[str, Levels]] = {
    "chunk_size": Levels.clients(Level.BREAKING),
    "algorithm": Levels.clients(Level.BREAKING),
}
"""Defaults without which no key is found; every other one is behavioural."""
_DEFAULT_WORDS: Final = {
    ("save_unfull_chunk", False): "Neither store nor ask for a last chunk that is not full, unless the deployment sets it.",
    ("save_unfull_chunk", True): "Store and ask for a last chunk that is not full, unless the deployment sets it otherwise.",
}
_TOPICS: Final[Mapping[str, tuple[Aspect, str, Levels]]] = {
    "token_hashes": (Aspect.TOKEN_HASHES, "Hashes of tokens as the multiprocess server makes them", Levels.all(Level.BREAKING)),
    "pack_layout": (Aspect.LAYOUTS, "The bytes of a payload", Levels.clients(Level.BREAKING)),
    "unpack_layout": (Aspect.LAYOUTS, "The blocks that a payload is spread over", Levels.clients(Level.BREAKING)),
}


def compare(old: Observed, new: Observed) -> Findings:
    """Defaults by name; every other operation answer by answer."""
    found = Findings()
    found.add(list(_defaults(old, new)))
    found.accounted |= {vector.id for vector in new.evidence.of("defaults")}
    for op in new.evidence.corpus.vectors:
        if op not in UNDERSTOOD:
            more = compare_operation(old, new, op)
            found.add(more.changes)
            found.notes += more.notes
            found.accounted |= more.accounted
    return found


def compare_operation(old: Observed, new: Observed, op: str) -> Findings:
    """The answers of one operation, as far as both releases were asked the same."""
    differing = [pair for pair in shared(old.evidence, new.evidence, op) if _differ(*pair)]
    found = Findings(accounted={after.id for _, after in differing})
    if differing:
        found.changes.append(_change(old, new, op, differing))
    other = sum(before.args != after.args for before, after in shared(old.evidence, new.evidence, op))
    if other:
        found.notes.append(
            f"{count(other, 'input')} of {op} {verb(other, 'is', 'are')} not the same in both captures, so not compared."
        )
    return found


def _differ(before: Vector, after: Vector) -> bool:
    if before.args != after.args or (before.ok is None and after.ok is None):
        return False
    return not alike(dict(before.outcome), dict(after.outcome))


def _defaults(old: Observed, new: Observed) -> Iterator[Change]:
    for before, after in shared(old.evidence, new.evidence, "defaults"):
        if before.ok is None or after.ok is None:
            if before.ok is not after.ok:
                yield _whole_defaults(before, after)
            continue
        for name in [*before.ok, *(name for name in after.ok if name not in before.ok)]:
            one, other = before.ok.get(name), after.ok.get(name)
            if alike(one, other):
                continue
            fallback = (
                f"Use {value(other)} where the deployment sets nothing." if name in after.ok else "Do not rely on this default."
            )
            yield Change(
                Aspect.DEFAULTS,
                f"Default of {name}: {_default(one)} -> {_default(other)}",
                DEFAULT_LEVELS.get(name, Levels.clients(Level.BEHAVIOURAL)),
                _DEFAULT_WORDS.get((name, other), fallback) if isinstance(other, bool) else fallback,
                (Example(after.id, outcome(before), outcome(after)),),
            )


def _default(found: Any) -> str:
    return "not there" if found is None else value(found)


def _whole_defaults(before: Vector, after: Vector) -> Change:
    return Change(
        Aspect.DEFAULTS,
        "Defaults cannot be read in both releases",
        Levels.clients(Level.BREAKING),
        "Set chunk size, algorithm and the treatment of partial chunks explicitly.",
        (Example(after.id, outcome(before), outcome(after)),),
    )


def _change(old: Observed, new: Observed, op: str, differing: list[tuple[Vector, Vector]]) -> Change:
    aspect, what, levels = _TOPICS.get(op, (Aspect.OTHER, f"Answers of {op}", Levels.all(Level.BREAKING)))
    before, after = differing[0]
    total = sum(1 for _ in shared(old.evidence, new.evidence, op))
    names = listing((vector.id for _, vector in differing), 4)
    return Change(
        aspect,
        f"{what} differ: {len(differing)} of {total} captured inputs",
        levels,
        f"Do as {new.release} does; the example shows one input, {'the others are' if len(differing) > 1 else 'the only one'} "
        f"{names if len(differing) > 1 else ''}".rstrip()
        + ".",
        (Example(after.id, outcome(before), outcome(after)),),
        evidence=len(differing),
    )
