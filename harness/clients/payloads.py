"""Bytes in the JSON form of the contract: hexadecimal in the line, or a file in the scratch directory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from harness.clients.contract import ContractViolation
from harness.clients.schema_files import Side, bytes_members
from harness.clients.scratch import take

HEX_LIMIT: Final = 64 * 1024
"""The most bytes that travel inside a line."""


def to_json(values: Mapping[str, Any], leave: Callable[[bytes], str]) -> dict[str, Any]:
    """The members with bytes encoded; ``leave`` writes a file and answers its name."""
    return {name: _encoded(value, leave) if isinstance(value, bytes) else value for name, value in values.items()}


def from_json(op: str, side: Side, values: Mapping[str, Any], directory: Path) -> dict[str, Any]:
    """The members with bytes decoded; files are read and deleted. The values fit the schema already.

    Raises:
        ContractViolation: a file is not what the line says.
    """
    decoded = dict(values)
    for name in bytes_members(op, side) & decoded.keys():
        decoded[name] = _decoded(f"{side}.{name}", decoded[name], directory)
    return decoded


def _encoded(data: bytes, leave: Callable[[bytes], str]) -> dict[str, Any]:
    if len(data) <= HEX_LIMIT:
        return {"hex": data.hex()}
    return {"file": leave(data), "length": len(data)}


def _decoded(member: str, value: Mapping[str, Any], directory: Path) -> bytes:
    if "hex" in value:
        return bytes.fromhex(value["hex"])
    try:
        return take(directory, value["file"], value["length"])
    except ContractViolation as violation:
        raise violation.inside(member) from None
