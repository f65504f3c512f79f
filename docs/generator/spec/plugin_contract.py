"""What releases ask of storage plugins, from the tables of ``harness.l2``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from docs.generator.spec.words import code, spanned
from docs.generator.table import table
from fixturegen.mp.launch import PLUGIN_KINDS
from harness.l2.contract import KEYS, KeyForm
from harness.l2.interface import DELETES, LISTENING, LISTS, LOOKUP, NOTIFIES_SIZES, STORE_RESULT, USAGE
from harness.l2.words import WORDS
from wire.release import RangeTable

_KEYS: Final[dict[KeyForm, str]] = {
    "plain": "`model@kv_rank@hash`",
    "salted": "`model@kv_rank@hash`, or `model@kv_rank@hash@salt`",
    "grouped": "`model@kv_rank@group@hash`, or `model@kv_rank@group@hash@salt`",
}
_INTERFACE: Final[tuple[tuple[RangeTable[Any], str, dict[Any, str]], ...]] = (
    (
        LOOKUP,
        "`submit_lookup_and_lock_task` takes",
        {
            "keys": "the keys",
            "layout": "the keys and the layout of all objects",
            "group_layouts": "the keys and a layout for each group",
        },
    ),
    (STORE_RESULT, "a completed store gives", {"flag": "a boolean", "result": "an `L2StoreResult`"}),
    (USAGE, "`get_usage` gives", {"none": "- (there is none)", "pair": "a pair of fractions", "bytes": "an `AdapterUsage`"}),
    (
        LISTENING,
        "listeners are told of stored keys",
        {"none": "nothing", "keys": "the keys", "sizes": "the keys and their sizes"},
    ),
    (NOTIFIES_SIZES, "`_notify_keys_stored` and `_notify_keys_deleted` take sizes", {True: "yes", False: "no"}),
    (DELETES, "there is a `delete`", {True: "yes", False: "no"}),
    (LISTS, "there is a `list_l2_keys`", {True: "yes", False: "no"}),
)
_COUNTS: Final = {
    "stored": "that a store wrote",
    "deduplicated": "that a store found there already",
    "skipped": "that a store did not try to write, because the backend was known to be down",
    "dropped": "that a store began and gave up",
    "rejected": "of stores that were refused when they were submitted",
    "loaded": "that a load brought",
    "missed": "that a load did not find",
    "damaged": "that a load, or a look for what to repair, found spoiled",
    "unavailable": "that a load or lookup could not get, because the backend or the disk did not answer",
}


def kinds() -> str:
    """Which kinds of plugins a release loads."""
    rows = [(spanned(span), ", ".join(map(code, names))) for span, names in PLUGIN_KINDS.rows() if names]
    return table(("releases", "kinds of plugins that its server loads"), rows)


def keys() -> str:
    """The key strings that a ``native_plugin`` is given."""
    rows = [(spanned(span), _KEYS[form]) for span, form in KEYS.rows() if form != "none"]
    return table(("releases", "a key that a `native_plugin` is given"), rows)


def interface() -> str:
    """What changed in the interface of kind ``plugin``."""
    return table(("of the interface", "releases", "is so"), _interface())


def _interface() -> Iterator[tuple[str, str, str]]:
    for rule, what, words in _INTERFACE:
        for span, value in rule.rows():
            yield what, spanned(span), words[value]


def counts() -> str:
    """The words under which objects are counted."""
    return table(("word", "counts objects"), [(code(word), _COUNTS[word]) for word in WORDS])
