"""The JSON Schema files of the client protocol, read once and with their references put in place."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any, Final, Literal

Side = Literal["args", "ok"]

DIRECTORY: Final = Path(__file__).resolve().parent.parent / "schemas" / "client-v1"
BYTES_REFERENCE: Final = "values.schema.json#/$defs/bytes"
BYTES_LIST_REFERENCE: Final = "values.schema.json#/$defs/bytesList"


@functools.cache
def line_schema(name: Literal["request", "answer"]) -> dict[str, Any]:
    """The schema of a whole line."""
    schema: dict[str, Any] = _inlined(_document(name), name)
    return schema


@functools.cache
def member_schema(op: str, side: Side) -> dict[str, Any] | None:
    """The schema of the arguments or of the result of an operation; None for an operation that the contract lacks."""
    if not _known(op):
        return None
    schema: dict[str, Any] = _inlined(_document(op)["$defs"][side], op)
    return schema


@functools.cache
def bytes_members(op: str, side: Side) -> frozenset[str]:
    """The members of ``args`` or ``ok`` that hold bytes; all of them stand at the top."""
    return _members(op, side, BYTES_REFERENCE)


@functools.cache
def bytes_list_members(op: str, side: Side) -> frozenset[str]:
    """The members that hold an array of bytes, likewise."""
    return _members(op, side, BYTES_LIST_REFERENCE)


def _members(op: str, side: Side, reference: str) -> frozenset[str]:
    if not _known(op):
        return frozenset()
    properties = _document(op)["$defs"][side].get("properties", {})
    return frozenset(name for name, schema in properties.items() if schema.get("$ref") == reference)


@functools.cache
def _operations() -> frozenset[str]:
    names = {path.name.removesuffix(".schema.json") for path in DIRECTORY.glob("*.schema.json")}
    return frozenset(names - {"values", "request", "answer"})


def _known(op: str) -> bool:
    return op in _operations()


@functools.cache
def _document(name: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((DIRECTORY / f"{name}.schema.json").read_text(encoding="utf-8"))
    return document


def _inlined(node: Any, home: str) -> Any:
    """The node without ``$ref``: looking references up at each validation would cost more than the rest of it."""
    if isinstance(node, list):
        return [_inlined(item, home) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        file, _, pointer = node["$ref"].partition("#/")
        target_home = file.removesuffix(".schema.json") or home
        target: Any = _document(target_home)
        for step in pointer.split("/"):
            target = target[step]
        return _inlined(target, target_home)
    return {name: _inlined(value, home) for name, value in node.items()}
