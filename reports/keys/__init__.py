"""What ``lmconform keys`` found: the record, and its two renderings."""

from reports.keys.record import (
    Cause,
    Comparison,
    Explanation,
    KeyRow,
    KeysReport,
    NamedChunk,
    PartRow,
)
from reports.keys.text import keys_lines
from reports.keys.tree import keys_tree

__all__ = ["Cause", "Comparison", "Explanation", "KeyRow", "KeysReport", "NamedChunk", "PartRow", "keys_lines", "keys_tree"]
