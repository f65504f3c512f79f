"""Defects in key strings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.mutants.mutant import mutant
from harness.reference.lm import LmConnection, ReferenceClient


@mutant(
    "key-cut-to-the-field",
    stands_for="strncpy or a slice into the 150 bytes of the key field: two long model names then share one key.",
)
class CutsKeys(ReferenceClient):
    """Cuts a key that is too long for its field."""

    def _key(self, link: LmConnection, key: Mapping[str, Any]) -> str:
        return super()._key(link, key).encode()[:150].decode(errors="ignore")
