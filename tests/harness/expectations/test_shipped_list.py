"""The list that comes with lmconform: what lmcache's own clients are known to fail."""

import re
from pathlib import Path

import pytest

from harness.expectations.file import SHIPPED, TODO, read_expectations
from harness.patterns import matches
from harness.runner import collect_cases
from harness.usage import UsageError
from wire.release import Release

ROOT = Path(__file__).parents[3]
ONE_OF_EACH_KIND = ("0.3.1", "0.3.4", "0.3.6", "0.3.12", "0.5.1", "0.5.6")


@pytest.fixture(scope="module")
def shipped():
    return read_expectations(Path("lmcache"))


def test_the_list_is_found_by_its_name_from_any_folder(shipped, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert read_expectations(Path("lmcache")) == shipped
    assert shipped.path == SHIPPED["lmcache"] == ROOT / "cases" / "expectations" / "lmcache.toml"


def test_a_file_of_that_name_comes_first(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("lmcache").write_text("not a list", encoding="utf-8")
    with pytest.raises(UsageError, match="not TOML"):
        read_expectations(Path("lmcache"))


def test_another_name_stands_for_a_file_only(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="no such file"):
        read_expectations(Path("vllm"))


def test_each_reason_names_a_finding_that_is_told(shipped):
    page = (ROOT / "docs" / "findings" / "lmcache-client.md").read_text(encoding="utf-8")
    told = set(re.findall(r"^## (F[0-9]+): ", page, flags=re.MULTILINE))
    named = {number for entry in shipped.entries for number in re.findall(r"\bF[0-9]+\b", entry.reason.partition(":")[0])}
    assert named == told
    assert not [entry.number for entry in shipped.entries if not entry.reason.startswith("F") or TODO in entry.reason]


def test_each_pattern_means_a_case_of_a_release_that_its_entry_means(shipped):
    ids = [listed.id for listed in collect_cases(lmcache=",".join(ONE_OF_EACH_KIND), target="fixtures,mock,live", only=())]
    by_release = {text: [one for one in ids if f"[{text}-" in one] for text in ONE_OF_EACH_KIND}
    for entry in shipped.entries:
        meant = [one for text in ONE_OF_EACH_KIND if entry.means_release(Release.parse(text)) for one in by_release[text]]
        for pattern in entry.cases:
            assert any(matches(pattern, one) or one.partition("[")[0] == pattern for one in meant), (entry.number, pattern)
