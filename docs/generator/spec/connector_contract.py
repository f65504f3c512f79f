"""What releases ask of remote connectors, from the tables of ``harness.remote.contract``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from docs.generator.spec.words import code, spanned
from docs.generator.table import table
from harness.remote import contract as held
from wire.release import RangeTable

_YES_NO: Final = {True: "yes", False: "no"}
_FORMS: Final[dict[held.Form, str]] = {
    "plugin": "its class in `remote_storage_plugins`",
    "adapter": "a `ConnectorAdapter` in `remote_storage_plugins`",
    "external": "an `external://` URL",
    "builtin": "a plugin that lmcache has the adapter of",
    "url": "a URL",
}
_RULES: Final[tuple[tuple[RangeTable[Any], str], ...]] = (
    (held.METADATA_AT_START, "the base class is made with config and metadata"),
    (held.CHUNK_META, "there is the setting `save_chunk_meta`"),
    (held.REMOVES, "there is a `remove_sync`"),
    (held.CONTAINS_COUNTS, "`batched_contains` gives the number of leading keys; before, a boolean for each key"),
    (held.PUT_MANY_GIVES_BACK, "the wrapper gives objects back after `batched_put`, as it always does after `put`"),
    (held.KEY_HAS_DTYPE, "keys have a dtype"),
    (held.KEY_HAS_TAGS, "keys have tags"),
)


def methods() -> str:
    """Every method with the releases that ask for it, and how it is called."""
    return table(("method", "must be there", "is called where `support_` says so", "is"), _methods())


def _methods() -> Iterator[tuple[str, ...]]:
    names = [name for _, held_names in (*held.ABSTRACT.rows(), *held.OPTIONAL.rows()) for name in held_names]
    for name in dict.fromkeys(names):
        awaited = "a coroutine function" if name in held.COROUTINES else "no coroutine function"
        yield code(name), _in(held.ABSTRACT, name), _in(held.OPTIONAL, name), awaited


def _in(rows: RangeTable[tuple[str, ...]], name: str) -> str:
    first = next((span.first for span, names in rows.rows() if name in names), None)
    if first is None:
        return "-"
    return "all" if first.text == "0.3.1" else f"{first} and later"


def forms() -> str:
    """How a configuration names a connector."""
    rows = [(spanned(span), "; ".join(_FORMS[form] for form in forms)) for span, forms in held.FORMS.rows()]
    return table(("releases", "a configuration names it by"), rows)


def rules() -> str:
    """What else depends on the release."""
    return table(("what", "releases", "is so"), _rules())


def _rules() -> Iterator[tuple[str, str, str]]:
    for rule, what in _RULES:
        for span, value in rule.rows():
            yield what, spanned(span), _YES_NO[value]
    for span, names in held.SUPPORTED_BY_BASE.rows():
        yield "the base class has an answer of its own for", spanned(span), ", ".join(map(code, sorted(names))) or "none"
    for span, names in held.FAILURE_DROPS.rows():
        words = ", ".join(map(code, sorted(names))) or "none"
        yield "a failure after which `RemoteBackend` forgets its connection", spanned(span), words
