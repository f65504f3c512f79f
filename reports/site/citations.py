"""What the reasons of the maps rest on: requirements of the specification and findings, by how a reason reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from reports.collisions.fates import Fate
from reports.collisions.harm import Harm


@dataclass(frozen=True)
class Citation:
    """What to read about a reason."""

    requirements: tuple[str, ...]
    finding: str = ""
    """Page and anchor below ``findings/``, such as ``keys#digest-folded``."""


_OF_REASONS: Final[Sequence[tuple[str, Citation]]] = (
    ("bytes and the server reads", Citation(("LM-REQ-001", "LM-REQ-002"))),
    ("bytes of reply came", Citation(("LM-REPLY-001", "LM-REPLY-002"))),
    ("nothing can be stored there", Citation(("LM-PUT-001",))),
    ("it wants ", Citation(("KEY-FMT-001", "KEY-FMT-002", "KEY-FMT-003", "LM-SRV-008"))),
    ("only tags behind the hash", Citation(("KEY-FMT-002", "KEY-FMT-008", "LM-SRV-008"))),
    ("its keys have nothing behind the hash", Citation(("KEY-FMT-001", "KEY-FMT-008"))),
    ("it takes no layer keys", Citation(("KEY-FMT-008", "LM-ID-005"))),
    ("its keys know no dtype of that name", Citation(("KEY-FMT-007", "LM-SRV-008"), "keys#fp8-name")),
    ("is beyond its table", Citation(("LM-REQ-007", "LM-REQ-012"))),
    ("the value is described otherwise", Citation(("LM-REQ-009", "LM-REQ-010", "LM-SRV-003"))),
    ("fmt prefix", Citation(("KEY-FMT-002", "KEY-FMT-003"))),
    ("dtype in key", Citation(("KEY-FMT-001", "KEY-FMT-002"))),
    ("dtype name", Citation(("KEY-FMT-007",), "keys#fp8-name")),
    ("hash spelling", Citation(("KEY-FMT-004", "KEY-FMT-005", "KEY-FMT-006"), "keys#decimal-read-as-hex")),
    ("text chain", Citation(("KEY-CHUNK-001", "KEY-CHUNK-002"))),
    ("chain: ", Citation(("KEY-CHUNK-002", "KEY-CHUNK-003", "KEY-CHUNK-004"), "keys#third-element")),
    ("fold: ", Citation(("KEY-CHUNK-005", "KEY-CHUNK-006"), "keys#digest-folded")),
    ("save_unfull_chunk", Citation(("KEY-CHUNK-007",), "keys#partial-chunk-saved")),
    ("world size", Citation(("KEY-DEPLOY-005",), "keys#mla-world-size")),
    ("hash(None)", Citation(("KEY-CHUNK-003", "KEY-CHUNK-010"), "keys#hash-of-none-address")),
    ("two keys of the client are one to the server", Citation(("LM-ID-002", "LM-ID-004", "KEY-PARSE-004"))),
    ("one key text, two meanings", Citation(("KEY-PARSE-002", "LM-ID-002"), "keys#decimal-read-as-hex")),
    ("hash function", Citation(("KEY-DEPLOY-003",), "keys#algorithm-fallback")),
    ("chunk size", Citation(("KEY-CHUNK-007",))),
)
"""Part of the reason, in the order in which they are looked for."""


def of_reason(reason: str) -> Citation:
    """What a reason of the ``lm://`` map rests on; nothing for one that this table does not know."""
    return next((found for part, found in _OF_REASONS if part in reason), Citation(()))


def of_fate(fate: Fate) -> Citation:
    """What the fate of an operation rests on."""
    if "is loaded" in fate.detail:
        return Citation(("MP-REG-001", "MP-REG-002"), "mp-collisions#class-moved")
    if "num_kv_readers" in fate.detail:
        return Citation(("MP-KEY-003",), "mp-collisions#readers-missing")
    return _OF_HARMS.get(fate.grade.harm, Citation(("MP-REQ-001",)))


_OF_HARMS: Final = {
    Harm.DESTROYS: Citation(("MP-REQ-001", "MP-SRV-007"), "mp-collisions#chunk-size-clears"),
    Harm.CORRUPTS: Citation(("MP-REQ-001", "MP-REQ-002")),
    Harm.LEAKS: Citation(("MP-REQ-001", "MP-LOCK-001"), "mp-collisions#locks-left"),
    Harm.KILLS: Citation(("MP-SRV-004", "MP-REQ-004"), "mp-collisions#start-kills"),
    Harm.MISLEADS: Citation(("MP-REQ-001", "MP-REPLY-003"), "mp-collisions#wrong-answers"),
    Harm.STRANDS: Citation(("MP-REPLY-003",), "mp-collisions#wrong-answers"),
    Harm.HANGS: Citation(("MP-REQ-002", "MP-SRV-003")),
}
