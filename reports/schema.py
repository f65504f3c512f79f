"""The published schemas of files with a record a line, such as ``results.jsonl``, as a check on single lines."""

from __future__ import annotations

import contextlib
import functools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any, Final

import jsonschema_rs
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError, best_match

from reports.plain import clip
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


class LineSchema:
    """The schema of files in which each line is a record of one of several kinds."""

    def __init__(self, name: str, version: int, records: Sequence[str]) -> None:
        self._name = name
        self._version = version
        self._records = tuple(records)

    def fault_in(self, line: object) -> str | None:
        """What is wrong with a decoded line, as a phrase that names the member; ``None`` if nothing is."""
        if not isinstance(line, dict):
            return "a line must be a JSON object"
        record = line.get("record")
        if record not in self._records:
            return f'member "record" must be one of {", ".join(self._records)}, not {clip(json.dumps(record), 80)}'
        definition = _definition(self._name, self._version, record)
        with contextlib.suppress(TypeError, ValueError):  # what JSON cannot hold is for the other validator to name
            if definition.fast.is_valid(line):
                return None
        return _worded(best_match(definition.explaining.iter_errors(line)))


@dataclass(frozen=True)
class _Definition:
    """The validators of one kind of record: one that decides, and one that explains."""

    fast: jsonschema_rs.Draft202012Validator
    explaining: Draft202012Validator


@functools.cache
def _definition(name: str, version: int, record: str) -> _Definition:
    # Straight to the definition of the record: as strict as the whole schema, and errors do not go through its if/then.
    schema = {"$ref": f"#/$defs/{record}", "$defs": schema_file(name, version)["$defs"]}
    return _Definition(jsonschema_rs.Draft202012Validator(schema), Draft202012Validator(schema))


_RESULTS: Final = LineSchema("results", SCHEMA_VERSION, RECORDS)


def fault_in(line: object) -> str | None:
    """What is wrong with a decoded line of results."""
    return _RESULTS.fault_in(line)


def fault_of_document(document: object, schema: Mapping[str, Any]) -> str | None:
    """What is wrong with a decoded document of another kind, likewise; the fast validator decides and the other explains."""
    with contextlib.suppress(TypeError, ValueError):  # likewise
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


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


JSON_LINE: Final = json.JSONDecoder(parse_constant=_refuse)
"""Decodes a line, and refuses NaN and infinities. One for all lines: ``json.loads`` would make one for each."""
