import dataclasses
import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from reports.formats.badge import FILLS, LONGEST, badge_json, badge_svg, text_width
from reports.formats.context import Context
from reports.parts import Shard
from reports.verdict import Verdict

SCHEMA = Draft202012Validator(json.loads(Path(__file__).with_name("endpoint-badge.schema.json").read_text()))
SVG = "{http://www.w3.org/2000/svg}"


def written(results, context=None):
    badge = json.loads(badge_json(results, context))
    SCHEMA.validate(badge)
    return badge


@pytest.mark.parametrize(
    ("verdicts", "message", "colour"),
    [
        ([Verdict.PASS], "conformant with 0.5.5, 0.5.6", "brightgreen"),
        ([Verdict.PASS, Verdict.KNOWN_FAILURE], "1 known failure, none new", "brightgreen"),
        ([Verdict.PASS, Verdict.FAIL, Verdict.CRASH], "2 of 3 cases failed", "red"),
        ([Verdict.UNSUPPORTED], "nothing shown", "red"),
        ([Verdict.PASS, Verdict.HARNESS_ERROR], "undecided", "lightgrey"),
        ([], "no case ran", "lightgrey"),
    ],
)
def test_a_badge_says_the_verdict(run, make_case, verdicts, message, colour):
    badge = written(run(*(make_case(verdict=verdict, variant=str(place)) for place, verdict in enumerate(verdicts))))
    assert (badge["label"], badge["message"], badge["color"]) == ("lmcache conformance", message, colour)


def test_a_run_that_did_not_end_is_an_error_and_never_green(run, make_case):
    badge = written(run(make_case(), incomplete="there is no footer"))
    assert (badge["message"], badge["color"], badge["isError"]) == ("incomplete", "lightgrey", True)


def test_a_shard_speaks_for_itself(run, make_case, header):
    about = dataclasses.replace(header, shard=Shard(2, 4))
    assert written(run(make_case(), about=about))["message"] == "shard 2/4 passed"


def test_the_label_can_be_chosen_and_is_clipped(run, make_case):
    assert written(run(make_case()), Context(label="mine"))["label"] == "mine"
    assert len(written(run(make_case()), Context(label="x" * 500))["label"]) < LONGEST + 40


def test_the_picture_says_the_same_to_those_who_do_not_see_it(run, make_case):
    picture = ET.fromstring(badge_svg(run(make_case()), Context(label="<&\"'>")))
    said = "<&\"'>: conformant with 0.5.5, 0.5.6"
    assert (picture.get("role"), picture.get("aria-label")) == ("img", said)
    assert [title.text for title in picture.iter(f"{SVG}title")] == [said]


def test_the_picture_is_as_wide_as_its_texts(run, make_case):
    picture = ET.fromstring(badge_svg(run(make_case())))
    lengths = [int(text.get("textLength")) for text in picture.iter(f"{SVG}text")]
    assert lengths == [text_width(text.text) for text in picture.iter(f"{SVG}text")]
    assert int(picture.get("width")) == sum(lengths) + 4 * 6


def luminance(colour):
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("fill", [*FILLS.values(), "#32383f"])
def test_white_text_can_be_read_on_each_colour(fill):
    assert 1.05 / (luminance(fill) + 0.05) >= 4.5


def test_text_in_scripts_of_full_width_takes_more_room():
    assert text_width("日本") == 22
    assert text_width("e\u0301") == text_width("e")
    assert text_width("iiii") < text_width("eeee") < text_width("MMMM")
