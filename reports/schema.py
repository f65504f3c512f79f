"""The published schema of ``results.jsonl``, as a check on single lines."""

from __future__ import annotations

import contextlib
import functools
import json
from collections.abc import Mapping
from importlib import resources
from typing import Any

import jsonschema_rs
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError, best_match

from reports.record import SCHEMA_VERSION

RECORDS = ("header", "case", "footer")


@functools.cache
def schema_file(name: str, version: int) -> dict[str, Any]:
    """The JSON Schema that is shipped for a version of a document."""
    text = (resources.files("reports") / "schemas" / f"{name}-v{version}.schema.json").read_text("utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def results_schema() -> dict[str, Any]:
    """The JSON Schema of one line."""
    return schema_file("results", SCHEMA_VERSION)


def fault_in(line: object) -> str | None:
    """What is wrong with a decoded line, as a phrase that names the member; ``None`` if nothing is."""
    if not isinstance(line, dict):
        return "a line must be a JSON object"
    record = line.get("record")
    if record not in RECORDS:
        return f'member "record" must be one of {", ".join(RECORDS)}, not {json.dumps(record)}'
    with contextlib.suppress(TypeError, ValueError):  # what JSON cannot hold is for the other validator to name
        if _fast_validator(record).is_valid(line):
            return None
    return _worded(best_match(_validator(record).iter_errors(line)))


def fault_of_document(document: object, schema: Mapping[str, Any]) -> str | None:
    """What is wrong with a decoded document of another kind, likewise; the fast validator decides and the other explains."""
    if jsonschema_rs.Draft202012Validator(dict(schema)).is_valid(document):
        return None
    return _worded(best_match(Draft202012Validator(schema).iter_errors(document))) or "not what its schema asks for"


def _worded(error: ValidationError | None) -> str | None:
    if error is None:
        return None
    place = error.json_path.removeprefix("$").removeprefix(".")
    said = error.message  # what it is about stands at its beginning, what is wrong with it at its end
    message = said if len(said) <= 200 else f"{said[:100]} ... {said[-100:]}"
    return f"member {place}: {message}" if place else message


@functools.cache
def _fast_validator(record: str) -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(_definition(record))


@functools.cache
def _validator(record: str) -> Draft202012Validator:
    return Draft202012Validator(_definition(record))


def _definition(record: str) -> dict[str, Any]:
    # Straight to the definition of the record: as strict as the whole schema, and errors do not go through its if/then.
    return {"$ref": f"#/$defs/{record}", "$defs": results_schema()["$defs"]}
