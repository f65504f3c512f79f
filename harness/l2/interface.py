"""What each release asks of an L2 adapter of kind ``plugin``, as tables read from ``lmcache.v1.distributed.l2_adapters.base``.

The first release that loads such plugins is 0.4.2 (``plugin_l2_adapter``).
"""

from __future__ import annotations

from typing import Final, Literal

from wire.release import RangeTable, Release

Lookup = Literal["keys", "layout", "group_layouts"]
StoreResult = Literal["flag", "result"]
Usage = Literal["none", "pair", "bytes"]
Listening = Literal["none", "keys", "sizes"]

LOOKUP: Final = RangeTable[Lookup](
    "what submit_lookup_and_lock_task takes", ("0.4.2", "keys"), ("0.5.0", "layout"), ("0.5.3", "group_layouts")
)
"""The keys alone; or also the layout of the objects, for all of them or by object group."""

STORE_RESULT: Final = RangeTable[StoreResult]("what a completed store task gives", ("0.4.2", "flag"), ("0.4.6", "result"))
"""A boolean, or an ``L2StoreResult``, which the server asks ``is_successful()`` and ``bytes_transferred()``."""

USAGE: Final = RangeTable[Usage]("what get_usage gives", ("0.4.2", "none"), ("0.4.3", "pair"), ("0.4.5", "bytes"))
"""Nothing; a pair of fractions, which are the adapter's business; or an ``AdapterUsage``, whose bytes the interface counts."""

LISTENING: Final = RangeTable[Listening](
    "what listeners are told of stored keys", ("0.4.2", "none"), ("0.4.3", "keys"), ("0.4.7", "sizes")
)

NOTIFIES_SIZES: Final = RangeTable(
    "releases whose _notify_keys_stored and _notify_keys_deleted take sizes", ("0.4.2", False), ("0.4.5", True)
)
DELETES: Final = RangeTable("releases whose interface has delete", ("0.4.2", False), ("0.4.3", True))
LISTS: Final = RangeTable("releases whose interface has list_l2_keys", ("0.4.2", False), ("0.5.0", True))


def interface_of(release: Release) -> dict[str, str]:
    """What the program that holds an adapter must know of a release."""
    return {"lookup": LOOKUP[release], "store_result": STORE_RESULT[release], "usage": USAGE[release]}
