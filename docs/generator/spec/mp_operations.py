"""Operations of the multiprocess server: number, payloads and result, release by release."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from docs.generator.spec.corpus import captured, captures
from docs.generator.spec.mp_payloads import names_of
from docs.generator.spec.words import code, joint, spanned, spans
from docs.generator.table import table
from wire.mp.operations import (
    FIRST_RELEASE,
    ORDERS,
    RENAMED,
    RETIRED,
    STREAMING,
    TEXT_ACCEPTED,
    TEXT_OPERATIONS,
    Operation,
    OperationTable,
    operation_table,
)
from wire.release import KNOWN_RELEASES, Release, ReleaseRange

FIRST: Final = FIRST_RELEASE.text
_RELEASES: Final = [text for text in KNOWN_RELEASES if Release.parse(text) >= FIRST_RELEASE]
NO_RESULT: Final = "none"
ABSENT: Final = "-"
"""In a cell of the table of numbers: the release has no such operation."""


def tables() -> dict[str, OperationTable]:
    """The operation table of every release that has the protocol."""
    return {text: operation_table(Release.parse(text)) for text in _RELEASES}


def operations() -> list[str]:
    """Every name that any release has, those of the newest release first, in its order."""
    found: dict[str, None] = {}
    for held in reversed(tables().values()):
        found |= dict.fromkeys(operation.name for operation in held.operations)
    return list(found)


def numbers() -> str:
    """What stands in the operation's frame, one column for each range of releases that number alike."""
    columns = [(spanned(span, first=FIRST), operation_table(release)) for span, release in _numbered()]
    rows = [[code(name), *(_number(held, name) for _, held in columns)] for name in operations()]
    return table(("operation", *(head for head, _ in columns)), rows)


def _numbered() -> Iterator[tuple[ReleaseRange, Release]]:
    return joint(ORDERS, TEXT_OPERATIONS, RETIRED, first=FIRST)


def _number(held: OperationTable, name: str) -> str:
    if name not in held:
        return ABSENT
    number = held.named(name).number
    return str(number) if isinstance(number, int) else code(number)


def names() -> str:
    """Rules about what else a release takes or calls so."""
    rows = [
        (f"the name in lower case is taken in place of the number ({spanned(span, first=FIRST)})", "every operation")
        for span, taken in TEXT_ACCEPTED.rows()
        if taken
    ]
    for span, retired in RETIRED.rows():
        rows += [(f"the number is kept and means nothing ({spanned(span, first=FIRST)})", code(name)) for name in retired]
    rows += [("has many replies to one request", code(name)) for name in STREAMING]
    rows += [(f"is the same operation as {code(new)} of later releases", code(old)) for old, new in RENAMED.items()]
    return table(("what", "operations"), rows)


def signatures() -> str:
    """Payloads and result of every operation, with the ranges of releases in which they are the same."""
    head = ("operation", "releases", "payloads", "result", "the server executes it")
    return table(head, _signatures())


def _signatures() -> Iterator[tuple[str, ...]]:
    for name in operations():
        found = [(text, _signature(text, held)) for text, held in _having(name)]
        for (payloads, result, thread), group in groupby(found, key=lambda one: one[1]):
            yield code(name), spans([text for text, _ in group]), payloads, result, thread


def _having(name: str) -> list[tuple[str, Operation]]:
    return [(text, held.named(name)) for text, held in tables().items() if name in held]


def _signature(release: str, operation: Operation) -> tuple[str, str, str]:
    named = zip(names_of(Release.parse(release), operation), operation.payloads, strict=True)
    payloads = ", ".join(f"{name} {code(type_)}" for name, type_ in named) or "none"
    return payloads, NO_RESULT if operation.result is None else code(operation.result), _thread(release, operation.name)


def _thread(release: str, name: str) -> str:
    """Where the server of a release executes an operation, as its own table says."""
    handlers = _handlers(release)
    return _THREADS[handlers[name]] if name in handlers else "not captured"


_THREADS: Final = {"SYNC": "in its message thread", "BLOCKING": "in a pool"}


def _handlers(release: str) -> dict[str, str]:
    if release not in captured("mp"):
        return {}
    found = captures(release, "mp").vector("mp.operations").answer["operations"]
    return {each["name"]: each["handler"] for each in found}


def types() -> str:
    """How types are written, with what stands for each on the wire."""
    rows: Sequence[tuple[str, str]] = (
        ("`int`", "integer, in the shortest of its forms; a boolean is none"),
        ("`bool`", "`c2` or `c3`"),
        ("`str`", "text in UTF-8 (fixstr, str 8, str 16, str 32)"),
        ("`bytes`", "bytes (bin 8, bin 16, bin 32), never a text"),
        ("`float`", "float 64; a decoder takes an integer as well"),
        ("`map`", "a map with any members"),
        ("`any`", "any value"),
        ("`ext`", "extension type 1: a KV tensor"),
        ("`T?`", "a `T` or nil, `c0`"),
        ("`[T]`", "array of any number of `T`"),
        ("`(T, U)`", "array of exactly these"),
        ("`{T: U}`", "map of `T` to `U`"),
        ("any other name", "a record: a map by field name; or an enumeration: one of its texts"),
    )
    return table(("type", "on the wire, in msgpack"), rows)
