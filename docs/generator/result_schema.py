"""The page of the results file: its JSON Schema as tables."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from docs.generator.links import ROOT
from docs.generator.table import marked_up, table

SCHEMA: Final = ROOT / "reports" / "schemas" / "results-v1.schema.json"
_INTRODUCTION: Final = """\
# The results file

`lmconform run --out FOLDER` writes `FOLDER/results.jsonl`, the only source of every report; `junit.xml` beside it is made
from the same records. {description}

The tables below are made from [results-v1.schema.json](../../reports/schemas/results-v1.schema.json), which decides. A
sketch of a file, with most members left out:

    {{"record": "header", "schema_version": 1, "releases": ["0.5.6"], "targets": ["fixtures", "mock"], ...}}
    {{"record": "case", "id": "lm.segments.split-header[0.5.6-mock-1]", "verdict": "fail", "seconds": 0.308495, ...}}
    ...
    {{"record": "footer", "counts": {{"pass": 1, "fail": 35, "unsupported": 43, ...}}, "exit_code": 1, "complete": true, ...}}

The other documents that commands write have schemas of their own: [bench](../../reports/schemas/bench-v1.schema.json),
[compat](../../reports/schemas/compat-v1.schema.json),
[diff](../../reports/schemas/diff-v1.schema.json),
[drift](../../reports/schemas/drift-v1.schema.json) and [mutants](../../reports/schemas/mutants-v1.schema.json). So does
[requirements.json](../spec/requirements.json): [requirements](../../reports/schemas/requirements-v1.schema.json)."""


def page() -> str:
    """The whole page."""
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    parts = [_INTRODUCTION.format(description=schema["description"])]
    for name, definition in schema["$defs"].items():
        parts += [f"## {name}", *([definition["description"]] if "description" in definition else []), _body(definition)]
    return "\n\n".join(parts) + "\n"


def _body(definition: Mapping[str, Any]) -> str:
    if "properties" not in definition:
        return f"{_type(definition)[:1].upper()}{_type(definition)[1:]}."
    return table(("member", "value", "meaning"), _rows(definition))


def _rows(definition: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    required = definition.get("required", ())
    for name, value in definition["properties"].items():
        description = "" if value is True else value.get("description", "")
        yield f"`{name}`{'' if name in required else ', optional'}", _type(value), marked_up(description)


def _type(value: Any) -> str:
    """What a value may be, in words."""
    if value is True:
        return "anything"
    if "$ref" in value:
        name = value["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "const" in value:
        return f"`{json.dumps(value['const'])}`"
    if "enum" in value:
        return ", ".join(f"`{json.dumps(one)}`" for one in value["enum"])
    if "anyOf" in value:
        return " or ".join(_type(one) for one in value["anyOf"])
    kinds = value["type"] if isinstance(value["type"], list) else [value["type"]]
    return " or ".join(_bounded(kind, value) for kind in kinds)


def _bounded(kind: str, value: Mapping[str, Any]) -> str:
    if kind == "array" and "items" in value:
        return f"array of {_type(value['items'])}"
    if kind == "object" and "additionalProperties" in value:
        return f"object: {_type(value['propertyNames'])} to {_type(value['additionalProperties'])}"
    if "pattern" in value and kind == "string":
        return f"string, `{value['pattern']}`"
    return f"{kind}, at least {value['minimum']}" if "minimum" in value and kind != "null" else kind
