"""What the site shows is what there is: cases, lists, the measured map, and what its reasons rest on."""

import gzip
import json
from pathlib import Path

import pytest

from fixturegen.corpus import captured_releases, corpus_fingerprint
from harness.expectations.file import SHIPPED
from harness.patterns import matches
from harness.site import known, measured
from harness.site.catalogue import all_cases
from harness.site.known import known_lists
from harness.site.measured import compatibility, read_matrix
from harness.usage import UsageError
from reports.compat.document import to_json
from reports.compat.grouping import reasons
from reports.site.citations import of_fate, of_reason
from reports.site.markdown import sections
from reports.site.notes import finding_page
from tests.small_site import gathered
from wire.release import Release

CASES = Path(__file__).resolve().parents[3] / "cases"


def releases(*texts):
    return [Release.parse(text) for text in texts]


def test_cases_are_those_of_the_modules():
    found = {case.name: case for case in all_cases()}
    written = sum(path.read_text().count("\ndef test_") for path in CASES.rglob("test_*.py"))
    assert len(found) == written
    assert found["lm.segments.split-header"].cites[0].startswith("LM-")
    assert found["lm.segments.split-header"].runs == ("client",)


def test_every_list_that_is_shipped_is_told_of():
    assert set(known._ABOUT) == set(SHIPPED)


def test_every_pattern_of_a_list_means_a_case():
    cases = all_cases()
    for found in known_lists(cases):
        for entry in found.entries:
            for pattern in entry.patterns:
                assert any(matches(pattern.partition("[")[0], name) for name in entry.cases), (found.name, pattern)
                assert all(case.partition(".")[0] in found.groups for case in entry.cases), (found.name, pattern)


def test_the_map_that_comes_along_was_measured_on_the_real_servers_with_these_captures():
    shipped = read_matrix(measured.SHIPPED)
    assert shipped.target == "live"
    assert shipped.clients == shipped.servers == tuple(map(str, captured_releases()))
    assert shipped.corpus == corpus_fingerprint(captured_releases()), "measure again: docs/reference/site.md says how"
    assert shipped.count("not-run") == 0


def test_every_reason_of_the_maps_rests_on_requirements_and_findings_that_there_are():
    found = gathered()
    places = {
        f"{document.name}#{section.anchor}" for document in found.findings for section in sections(document) if section.anchor
    }
    cited = {reason.text: of_reason(reason.text) for reason in reasons(read_matrix(measured.SHIPPED))}
    cited |= {fate.what: of_fate(fate) for pair in found.collisions.pairs for fate in pair.troubles}
    assert [text for text, citation in cited.items() if not citation.requirements] == []
    assert {one for citation in cited.values() for one in citation.requirements} <= set(found.requirements)
    assert {citation.finding for citation in cited.values() if citation.finding} <= places
    assert finding_page("keys") == "findings/keys.html"


def test_only_the_releases_that_were_asked_for_are_shown():
    found = compatibility(releases("0.5.6", "0.4.4"), None, pytest.fail)
    assert found.clients == found.servers == ("0.4.4", "0.5.6")
    assert set(found.cells) == {(one, other) for one in found.clients for other in found.servers}


def test_with_other_captures_the_pairs_are_played_against_mocks(tmp_path):
    path = tmp_path / "compat.json"
    path.write_text(json.dumps(to_json(read_matrix(measured.SHIPPED)) | {"corpus": "0" * 16}))
    said = []
    found = compatibility(releases("0.5.6"), None, said.append, shipped=path)
    assert found.target == "mock"
    assert "playing all pairs against mocks" in said[0]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"[]", "not a matrix"),
        (b"{", "Expecting"),
        (b"\x1f\x8bno gzip", "lmconform compat"),
        (gzip.compress(b'{"version": 1}'), "required"),
        (b"[" * 100_000, "lmconform compat"),
    ],
    ids=["a-list", "cut", "no-gzip", "another-document", "deep"],  # a compressed file holds the time
)
def test_a_file_that_is_no_map_is_refused(tmp_path, data, expected):
    path = tmp_path / "compat.json"
    path.write_bytes(data)
    with pytest.raises(UsageError, match=expected):
        compatibility(releases("0.5.6"), path, pytest.fail)


def test_a_map_that_lacks_a_release_is_refused(tmp_path):
    path = tmp_path / "compat.json"
    path.write_text(json.dumps(to_json(compatibility(releases("0.5.5", "0.5.6"), None, pytest.fail))))
    with pytest.raises(UsageError, match=r"nothing is said of lmcache 0\.4\.4"):
        compatibility(releases("0.4.4", "0.5.6"), path, pytest.fail)
