"""What holds for every format: no text from outside acts in it or breaks it."""

import dataclasses
import json
import unicodedata
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
import xmlschema
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft7Validator
from sarif_kit.validate import validation_errors

from reports.diagnosis import Diagnosis, FieldDifference, ValueDifference
from reports.expectation import ListFile
from reports.formats.context import Context
from reports.formats.table import FORMATS
from reports.record import ClientInfo
from reports.verdict import Verdict

HERE = Path(__file__).parent
HOSTILE = "</title>]]>-->\"'><script>alert(1)</script>\x00\x1b[31m\u202e\ud800\ufffe\x85\u2028 [x](javascript:1) | `` \r\n"
JUNIT = xmlschema.XMLSchema(HERE / "junit-10.xsd")
CTRF = Draft7Validator(json.loads((HERE / "ctrf-0.0.schema.json").read_text()))
STRINGS = st.text(st.characters(), max_size=40) | st.sampled_from([HOSTILE, "", " ", "\ud800", "x" * 5000])
ACTIVE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def wild(run, make_case, header, text):
    """A run in which a client, a list of known failures and a damaged file say this text wherever they can."""
    client = ClientInfo(text, text, text, text, (text,), (text,), text)
    about = dataclasses.replace(
        header, client=client, command_line=(text, text), platform=text, python=text, corpus=text, tool_version=text,
        releases=(text,), targets=(text,), expectations=ListFile(text, "ab" * 32, 1),
    )  # fmt: skip
    diagnosis = Diagnosis(
        text, requirement=text, level="MUST", statement=text, why_it_matters=text, exchange=text, delivery=text,
        fields=(FieldDifference(0, 1, text, text, text, text),), values=(ValueDifference(text, text, {text: [text]}, text),),
        client_answered=text, conformant_answer=text, provenance=text, counterexample=text, rerun=text, client_stderr=text * 3,
    )  # fmt: skip
    cases = [
        make_case(
            f"{text}.{text}", verdict, variant=f"{place}{text}", title=text, requirements=(text,), reason=text, operation=text,
            diagnosis=diagnosis if verdict is not Verdict.PASS else None, release=text, target=text,
        )
        for place, verdict in enumerate(Verdict)
    ]  # fmt: skip
    return run(*cases, about=about, incomplete=text or None)


def strings(value):
    """Every text in a JSON value, names of members too."""
    match value:
        case str():
            yield value
        case list():
            yield from (found for member in value for found in strings(member))
        case dict():
            yield from (found for pair in value.items() for member in pair for found in strings(member))


def check(name, data):
    """That it is what its readers take."""
    text = data.decode("utf-8")
    for found in strings(json.loads(text)) if text.startswith("{") else [text]:
        assert not any(unicodedata.category(character) in ACTIVE for character in found if character != "\n")
    match name:
        case "junit":
            JUNIT.validate(text)
        case "ctrf":
            CTRF.validate(json.loads(text))
        case "sarif":
            assert validation_errors(json.loads(text)) == []
        case "badge-json":
            assert set(json.loads(text)) <= {"schemaVersion", "label", "message", "color", "isError"}
        case "badge-svg":
            tags = {element.tag.partition("}")[2] for element in ET.fromstring(text).iter()}
            assert tags == {"svg", "title", "rect", "path", "g", "text"}
        case "html":
            assert "<script>alert" not in text
        case "markdown" | "text":
            pass
        case _:
            pytest.fail(f"nothing checks {name}")


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=STRINGS)
def test_no_text_breaks_a_format(run, make_case, header, text):
    results = wild(run, make_case, header, text)
    for form in FORMATS.values():
        if form.name not in {"html", "markdown", "text"}:
            check(form.name, form.write(results, Context(label=text, records=text)))


@pytest.mark.parametrize("name", FORMATS)
def test_no_hostile_text_acts_in_a_format(run, make_case, header, name):
    check(name, FORMATS[name].write(wild(run, make_case, header, HOSTILE), Context(label=HOSTILE, records=HOSTILE)))


@pytest.mark.parametrize("name", FORMATS)
def test_a_run_without_a_case_can_be_written(run, name):
    check(name, FORMATS[name].write(run(), Context()))


def test_names_of_files_differ():
    assert len({form.file for form in FORMATS.values()}) == len(FORMATS)
