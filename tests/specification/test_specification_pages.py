"""The specification as a whole: tables come from programs, ids are never given twice, and programs can read it."""

import itertools
import json
import re

import jsonschema
import pytest
from specification_reader import MP_RELEASES, PAGES, captured

from docs.generator.links import ROOT, anchors
from docs.generator.spec import pages, versions
from docs.generator.spec.annotated import Part, annotated, framed, read_back
from docs.generator.spec.example_messages import _LOOKUP_FORMS
from docs.generator.spec.marks import blocks_of
from harness.requirements import load_requirements
from wire.release import Release

BY_HAND = {
    "index.md": 4,  # pages, words, terms and parts of ids: prose in columns
    "lm.md": 1,  # peers in the field
    "mp.md": 4,  # peers in the field, messages, flows, members of a context
    "servers.md": 1,  # levels
    "plugins.md": 3,  # ids, and what follows from mistakes
}
"""Tables that no program makes, because they hold words of people and no numbers of the wire."""


def tables_outside_of_marks(text):
    outside, inside = [], False
    for line in text.splitlines():
        inside = inside or line.startswith("<!-- generated:")
        if line == "<!-- end -->":
            inside = False
        elif not inside:
            outside.append(line)
    return sum(line.startswith("|---") for line in outside)


@pytest.mark.parametrize("page", sorted(path.name for path in PAGES.glob("*.md")))
def test_a_table_is_made_by_a_program_unless_it_is_prose(page):
    assert tables_outside_of_marks((PAGES / page).read_text(encoding="utf-8")) == BY_HAND.get(page, 0)


def test_every_block_that_can_be_written_stands_on_exactly_one_page():
    found = [block.name for path in PAGES.glob("*.md") for block in blocks_of(path.read_text(encoding="utf-8"))]
    assert sorted(found) == sorted(pages.BLOCKS)


def test_no_id_is_gone_or_given_again():
    now, before = load_requirements(), versions.published().requirements
    assert set(before) - set(now) == set(versions.WITHDRAWN), (
        "a requirement that is withdrawn goes into WITHDRAWN, with its reason"
    )
    assert not set(now) & set(versions.WITHDRAWN)


def test_what_changed_since_the_last_version_is_listed(monkeypatch):
    now = load_requirements()
    first, second, *_ = now
    held = {one.id: versions.digest(one) for one in now.values()}
    changed = held | {first: "0" * 16, "LM-GONE-001": "0" * 16}
    del changed[second]
    monkeypatch.setattr(versions, "published", lambda: versions.Published("0.1", changed))
    monkeypatch.setattr(versions, "WITHDRAWN", {"LM-GONE-001": "Nobody kept it."})
    listed = versions.since()
    assert f"| changed | {first} |" in listed
    assert f"| new | {second} |" in listed
    assert "| withdrawn | LM-GONE-001 |  |  | Nobody kept it. |" in listed
    assert len(listed.splitlines()) == 2 + 3


def test_a_digest_is_about_the_demand_and_not_about_its_reason():
    one = next(iter(load_requirements().values()))
    other = type(one)(**{**vars(one), "why": "Another reason."})
    third = type(one)(**{**vars(one), "statement": "Another demand."})
    assert versions.digest(one) == versions.digest(other) != versions.digest(third)


@pytest.fixture(scope="module")
def index():
    return json.loads((PAGES / "requirements.json").read_text(encoding="utf-8"))


def test_the_index_for_programs_keeps_its_schema(index):
    schema = json.loads((ROOT / "reports" / "schemas" / "requirements-v1.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(index)


def test_the_index_for_programs_has_every_requirement_with_anchors_that_lead_to_it(index):
    requirements = load_requirements()
    assert [one["id"] for one in index["requirements"]] == list(requirements)
    by_hand = (ROOT / "docs" / "reference" / "requirements.md").read_text(encoding="utf-8")
    for one in index["requirements"]:
        assert one["anchor"] in anchors(PAGES / one["page"])
        assert f'<a id="{one["stable_anchor"]}"></a>[{one["id"]}]' in by_hand
        assert bool(one["cases"]) != bool(one["untestable"]), one["id"]
        assert one["known"][0] == one["first"]


def test_the_lookups_that_are_shown_are_all_the_forms_that_there_ever_were():
    def form(release):
        vector = next(
            each for each in captured(release, "mp_encode_request", "mp") if each["id"] == "mp.request.encode.lookup.plain"
        )
        return [frame["hex"] for frame in vector["ok"]["frames"][1:]]

    forms = [next(group) for _, group in itertools.groupby(MP_RELEASES, key=form)]
    assert forms == [str(span.first) for span, _ in _LOOKUP_FORMS.rows()]


def test_what_is_annotated_can_be_read_back():
    parts = [Part(b"\x01\x02", "number", "513"), Part(b"ab" * 20, "text"), Part(b" " * 97, "", "spaces")]
    assert read_back(annotated(parts)) == [b"\x01\x02" + b"ab" * 20 + b" " * 97]
    assert read_back(framed([("frame 0", parts[:1]), ("frame 1", parts[1:])])) == [b"\x01\x02", b"ab" * 20 + b" " * 97]


def test_what_a_peer_sent_cannot_leave_its_block():
    shown = annotated([Part(b"```", "key", "```\n# head \u202e")])
    assert shown.count("```") == 3
    assert len(shown.splitlines()) == 4


def test_every_range_in_a_table_names_releases_that_there_are():
    known = {str(release) for release in map(Release.parse, re.findall(r"\d\.\d\.\d+(?:\.post\d+)?", " ".join(MP_RELEASES)))}
    known |= {path.name for path in (ROOT / "cases" / "corpus").iterdir() if path.is_dir()}
    for path in PAGES.glob("*.md"):
        for block in blocks_of(path.read_text(encoding="utf-8")):
            for first, last in re.findall(r"\| (0\.\d\.\d+(?:\.post\d+)?) to (0\.\d\.\d+(?:\.post\d+)?) \|", block.text):
                if "vllm" not in block.name:
                    assert {first, last} <= known, (path.name, block.name)
