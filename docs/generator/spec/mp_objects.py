"""Names of objects, and what a server takes a range of tokens for."""

from __future__ import annotations

from collections.abc import Iterator

from docs.generator.spec.mp_operations import FIRST
from docs.generator.spec.words import code, joint, spanned
from docs.generator.table import table
from wire.mp.objects import HASHES_NOTHING, LOOKUP_HEEDS_END, OBJECT_GROUPS, SALTS, TOKEN_MODE, kv_rank


def names() -> str:
    """The parts of an object's name."""
    return table(("releases", "name of an object", "with a salt"), _names())


def _names() -> Iterator[tuple[str, str, str]]:
    first = next(span.first for span, tokens in TOKEN_MODE.rows() if tokens)
    for span, release in joint(OBJECT_GROUPS, SALTS, first=first.text):
        parts = ["model_name", "kv_rank", *(["group"] if OBJECT_GROUPS[release] else []), "chunk_hash"]
        salted = code("@".join([*parts, "cache_salt"])) if SALTS[release] else "there is none"
        yield spanned(span, first=FIRST), code("@".join(parts)), salted


def parts() -> str:
    """How each part is written."""
    example = f"{kv_rank(4, 3):08x}"
    rows = [
        ("`model_name`", "as it is; a name with `@` names no object (0.4.4 and later)"),
        (
            "`kv_rank`",
            f"eight hexadecimal digits, two each for world size, rank, world size and rank again: `{example}` for rank 3 of 4",
        ),
        ("`group`", "hexadecimal, without leading zeros; 0 unless the registration has more object groups than one"),
        ("`chunk_hash`", "64 hexadecimal digits: the [token hash](keys.md#token-hashes), 32 bytes"),
        ("`cache_salt`", "as it is; where it is empty the `@` before it is left out, too"),
    ]
    return table(("part", "written"), rows)


def ranges() -> str:
    """What becomes of the ends of a range."""
    heeds = next(span for span, value in LOOKUP_HEEDS_END.rows() if value)
    deaf = next(span for span, value in LOOKUP_HEEDS_END.rows() if not value)
    hashes = next(span for span, value in HASHES_NOTHING.rows() if value)
    refuses = next(span for span, value in HASHES_NOTHING.rows() if not value)
    rows = [
        ("`start`", "not looked at: a lookup begins at the first token", "begins there"),
        (
            "`end` before the last token",
            f"{spanned(deaf, first=FIRST)}: not looked at, all whole chunks of the tokens are locked; {heeds}: ends there",
            "ends there",
        ),
        ("`end` inside a chunk", "the chunk is left out", "no answer"),
        (
            "`end` behind the last token",
            "the whole chunks of the tokens",
            f"{spanned(hashes, first=FIRST)}: the rest of the tokens is hashed as if it were a chunk; {refuses}: no answer",
        ),
    ]
    return table(("of `start` and `end`", "LOOKUP", "operations that move bytes, and FREE_LOOKUP_LOCKS"), rows)
