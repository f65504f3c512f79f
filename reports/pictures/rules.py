"""The rules of the wires as lanes: each table of ``wire`` that changes with the releases, in a few words for each of its rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

from reports.pictures.frames import metadata_history, reply_history, request_history
from reports.pictures.lanes import Lane, Segment
from reports.pictures.releases import KNOWN, runs
from wire.chunks import CHUNK_CHAINS, ChunkChain
from wire.keys import KEY_GRAMMARS, KeyGrammar
from wire.lm.enums import FORMATS
from wire.lm.profile import HIGHEST_FORMATS, SHORT_SHAPES, STRICT_ENUMS
from wire.mp.objects import OBJECT_GROUPS, SALTS, TOKEN_MODE
from wire.mp.operations import FIRST_RELEASE, TEXT_ACCEPTED, operation_table
from wire.mp.records import KEY_RECORD, RECORDS
from wire.mp.registration import DATA_ONLY
from wire.release import RangeTable, Release

T = TypeVar("T")
Rule = Callable[[Release], str]


@dataclass(frozen=True)
class Chapter:
    """Lanes that belong together."""

    title: str
    lanes: tuple[Lane, ...]


def of_table(table: RangeTable[T], words: Callable[[T], str]) -> Rule:
    """The words for what a table says of a release."""
    return lambda release: words(table[release])


def made(title: str, rule: Rule, *, topic: str = "", first: Release | None = None) -> Lane:
    """A lane over all known releases; those before ``first`` have nothing of it."""
    found = [(str(release), "" if first is not None and release < first else rule(release)) for release in KNOWN]
    return Lane(title, tuple(Segment(releases, str(label)) for releases, label in runs(found)), topic)


def frames() -> Chapter:
    """What ``lm://`` frames look like and what their numbers mean."""
    sizes: list[Lane] = []
    for history in (request_history(), reply_history(), metadata_history()):
        segments = [
            Segment(generation.releases, f"{generation.layout.least} bytes{_more(history.kind, generation.layout.size)}")
            for generation in history.generations
        ]
        sizes.append(Lane(history.title, tuple(segments), f"frame.{history.kind}"))
    formats = {number: name for name, number in FORMATS.items()}
    return Chapter(
        "lm:// frames",
        (
            *sizes,
            made("Memory formats", of_table(HIGHEST_FORMATS, lambda top: f"0 to {top} ({formats[top]})"), topic="formats"),
            made(
                "Unknown commands and codes",
                of_table(STRICT_ENUMS, lambda strict: "refused" if strict else "pass as numbers"),
                topic="enums",
            ),
            made(
                "Shapes",
                of_table(SHORT_SHAPES, lambda short: "1 to 4 dimensions, filled up with zeros" if short else "4 dimensions"),
                topic="shapes",
            ),
        ),
    )


def _more(kind: str, size: int) -> str:
    least = {"metadata": metadata_history().generations[0].layout.size}.get(kind, size)
    return f", {size - least} more for each further group" if size != least else ""


_STYLES: Final[Mapping[str, str]] = {
    "text": "text",
    "decimal": "decimal",
    "decimal-read-as-hex": "decimal, read in base 16",
    "hex": "hexadecimal",
}


def _pattern(grammar: KeyGrammar) -> str:
    return "@".join(
        [*(["fmt"] if grammar.prefix else []), "model@world@worker@hash", *(["dtype"] if grammar.dtype_names else [])]
    )


def _dtypes(grammar: KeyGrammar) -> str:
    if grammar.dtype_names is None:
        return "none"
    own = len(set(grammar.dtype_names.values())) == len(grammar.dtype_names)
    return "all differ" if own else "float8 types share names"


def _tags(grammar: KeyGrammar) -> str:
    if not grammar.tags:
        return "none"
    return "lost when read" if grammar.tags_become_settings else "@name%value"


def keys() -> Chapter:
    """How key strings are spelled."""
    return Chapter(
        "Key strings",
        (
            made("Parts", of_table(KEY_GRAMMARS, _pattern), topic="keys.parts"),
            made("Hash", of_table(KEY_GRAMMARS, lambda one: _STYLES[one.hash_style]), topic="keys.hash"),
            made("Hash that is a digest", of_table(KEY_GRAMMARS, _digests), topic="keys.digests"),
            made("Names of dtypes", of_table(KEY_GRAMMARS, _dtypes), topic="keys.dtypes"),
            made("Tags", of_table(KEY_GRAMMARS, _tags), topic="keys.tags"),
            made(
                "Keys of layers",
                of_table(KEY_GRAMMARS, lambda one: "taken by servers" if one.server_layers else "servers drop the connection"),
                topic="keys.layers",
            ),
        ),
    )


def _digests(grammar: KeyGrammar) -> str:
    if grammar.hash_style == "text":
        return "its digits"
    return "all digits" if grammar.digests else "cannot be written"


_THIRDS: Final[Mapping[str, str]] = {
    "text chain": "sha256(digits of the previous, tokens)",
    "absent": "H(previous, tokens)",
    "none": "H(previous, tokens, None)",
    "empty tuple": "H(previous, tokens, ())",
}


def _folds(chain: ChunkChain) -> str:
    return "digests become 64-bit integers" if chain.folds else "digests stay whole"


def hashes() -> Chapter:
    """What names a chunk."""
    return Chapter(
        "Chunk hashes",
        (
            made("Hash of a chunk", of_table(CHUNK_CHAINS, lambda chain: _THIRDS[chain.third]), topic="chunks.chain"),
            made("Digests in the chain", of_table(CHUNK_CHAINS, _folds), topic="chunks.folds"),
            made(
                "Last chunk, not full",
                of_table(CHUNK_CHAINS, lambda chain: "stored by default" if chain.saves_unfull_chunk else "left out by default"),
                topic="chunks.unfull",
            ),
        ),
    )


def multiprocess() -> Chapter:
    """What the multiprocess protocol says."""
    first = FIRST_RELEASE
    return Chapter(
        "Multiprocess server",
        (
            made("Operations", lambda release: str(len(operation_table(release).operations)), topic="mp.operations", first=first),
            made(
                "Operation in a frame",
                of_table(TEXT_ACCEPTED, lambda text: "its number or its name" if text else "its number"),
                topic="mp.numbers",
                first=first,
            ),
            made(
                "Keys of chunks",
                of_table(TOKEN_MODE, lambda tokens: "tokens, which the server hashes" if tokens else "the hash of each chunk"),
                topic="mp.keys",
                first=first,
            ),
            made("Key record", _key_record, topic="mp.records", first=first),
            made("Names of objects", _object_name, topic="mp.objects", first=Release.parse("0.4.2")),
            made(
                "KV tensors cross as",
                of_table(DATA_ONLY, lambda data: "maps" if data else "pickles"),
                topic="mp.registration",
                first=first,
            ),
        ),
    )


def _key_record(release: Release) -> str:
    return f"{len(RECORDS[KEY_RECORD[release]][release])} fields"


def _object_name(release: Release) -> str:
    parts = ["model", "rank", *(["group"] if OBJECT_GROUPS[release] else []), "hash"]
    return "@".join(parts) + ("[@salt]" if SALTS[release] else "")


def chapters() -> tuple[Chapter, ...]:
    """All rules."""
    return frames(), keys(), hashes(), multiprocess()
