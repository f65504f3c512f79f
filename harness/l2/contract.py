"""What releases ask of plugins of kind ``native_plugin``, as tables.

Read from ``native_plugin_l2_adapter`` and ``native_connector_l2_adapter`` below ``lmcache.v1.distributed.l2_adapters`` of each
release. Everything else is the same from 0.4.3 to 0.5.6: the six methods, the optional delete, the memory, the descriptor.
"""

from __future__ import annotations

from typing import Final, Literal

from wire.release import RangeTable

KeyForm = Literal["none", "plain", "salted", "grouped"]

KEYS: Final = RangeTable[KeyForm](
    "keys of a native plugin", ("0.3.1", "none"), ("0.4.3", "plain"), ("0.4.4", "salted"), ("0.4.7", "grouped")
)
"""No plugins; ``model@kv_rank@hash``; ``model@kv_rank@hash[@salt]``; ``model@kv_rank@group@hash[@salt]``."""
