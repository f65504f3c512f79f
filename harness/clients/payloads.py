"""Bytes in the JSON form of the contract: hexadecimal in the line, or a file in the scratch directory."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from harness.clients.contract import ContractViolation
from harness.clients.schema_files import Side, bytes_list_members, bytes_members
from harness.clients.scratch import take

HEX_LIMIT: Final = 64 * 1024
"""The most bytes that travel inside a line."""
_SHORT: Final = 64
_EMPTY_END: Final = '"}}'
"""How members end in JSON of which the last is bytes."""
ENCODER: Final = json.JSONEncoder(separators=(",", ":"))
"""One for all lines: ``json.dumps`` makes one for each where anything is not as usual."""


def to_json(values: Mapping[str, Any], leave: Callable[[bytes], str]) -> dict[str, Any]:
    """The members with bytes encoded; ``leave`` writes a file and answers its name."""
    return {name: _member(value, leave) for name, value in values.items()}


def members_text(values: Mapping[str, Any], leave: Callable[[bytes], str]) -> str:
    """The members as JSON in ASCII without spaces, bytes encoded.

    Long hexadecimal digits at the end are put there as they are: they need no escape, and looking for one takes as long as all
    else of a call.
    """
    encoded = to_json(values, leave)
    name, last = next(reversed(values.items()), ("", None)) if type(values) is dict else ("", None)
    if not isinstance(last, bytes) or not _SHORT < len(last) <= HEX_LIMIT:
        return ENCODER.encode(encoded)
    digits = encoded[name]["hex"]
    encoded[name] = {"hex": ""}
    return f"{ENCODER.encode(encoded).removesuffix(_EMPTY_END)}{digits}{_EMPTY_END}"


def from_json(op: str, side: Side, values: Mapping[str, Any], directory: Path) -> dict[str, Any]:
    """The members with bytes decoded; files are read and deleted. The values fit the schema already.

    Raises:
        ContractViolation: a file is not what the line says.
    """
    decoded = dict(values)
    single, several = bytes_members(op, side), bytes_list_members(op, side)
    for name in single & decoded.keys() if single else ():
        decoded[name] = _decoded(f"{side}.{name}", decoded[name], directory)
    for name in several & decoded.keys() if several else ():
        numbered = enumerate(decoded[name])
        decoded[name] = [_decoded(f"{side}.{name}[{index}]", value, directory) for index, value in numbered]
    return decoded


def _member(value: Any, leave: Callable[[bytes], str]) -> Any:
    """A member with its bytes encoded: bytes, or an array of them."""
    if isinstance(value, bytes):
        return _encoded(value, leave)
    if isinstance(value, list) and any(isinstance(item, bytes) for item in value):
        return [_encoded(item, leave) if isinstance(item, bytes) else item for item in value]
    return value


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
