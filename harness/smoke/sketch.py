"""Sketches of good answers, made from the schemas of the contract."""

from __future__ import annotations

from typing import Any

from harness.clients.schema_files import member_schema


def answer_shape(op: str) -> Any:
    """The ``ok`` of an operation as an author would sketch it: every member that must be there."""
    schema = member_schema(op, "ok")
    return {} if schema is None else _sketch(schema)


def _sketch(schema: Any) -> Any:
    if "hex" in schema.get("properties", {}):
        return {"hex": "..."}
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type", "object")
    kind = kind if isinstance(kind, str) else kind[0]
    if kind == "object":
        properties = schema.get("properties", {})
        return {name: _sketch(properties.get(name, {})) for name in schema.get("required", [])}
    if kind == "array":
        return [_sketch(schema.get("items", {}))]
    return {"string": "...", "integer": 0, "boolean": True, "null": None}[kind]
