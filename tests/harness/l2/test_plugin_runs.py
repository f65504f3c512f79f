"""Runs that judge a storage plugin, from the command line to the records."""

import pytest

from harness.l2.keys import L2Key
from tests.harness.l2.conftest import TINY
from wire.release import Release

HASH = bytes.fromhex("5f" * 4)


@pytest.fixture
def plugin_run(judged):
    """Judges a class of ``tiny_plugin.py``."""

    def run(name, *only, **options):
        return judged(f"{TINY}:{name}", *only, side="plugin", target="alone", jobs=1, **{"require": "must", **options})

    return run


def test_a_right_plugin_passes(plugin_run):
    run = plugin_run("Tiny", "l2.native-descriptor.methods", "l2.native-batches.key-twice")
    assert run.code == 0
    assert set(run.verdicts().values()) == {"pass"}


def test_what_a_must_asks_for_and_is_not_there_fails_the_run(plugin_run):
    run = plugin_run("NoLookup", "l2.native-descriptor.methods")
    assert run.code == 1
    assert run.case.verdict == "fail"
    assert run.case.diagnosis.requirement == "PLUG-NAT-001"
    assert "submit_batch_exists" in run.case.diagnosis.summary


def test_what_falls_short_of_a_should_counts_only_when_that_is_required(plugin_run):
    cases = ("l2.native-completions.types-of-completions", "l2.native-descriptor.methods")
    lenient, strict = plugin_run("Lists", *cases), plugin_run("Lists", *cases, require="should")
    assert (lenient.code, sorted(lenient.verdicts().values())) == (0, ["pass", "shortfall"])
    assert (strict.code, sorted(strict.verdicts().values())) == (1, ["fail", "pass"])


def test_what_a_plugin_lacks_is_unsupported(plugin_run):
    run = plugin_run("Tiny", "l2.native-completions.results-of-deletes", "l2.native-descriptor.methods")
    assert run.code == 0
    assert "unsupported" in run.verdicts().values()


def test_a_plugin_that_dies_is_a_crash_with_its_last_words(plugin_run):
    run = plugin_run("Exits", "l2.native-descriptor.silent-once-drained")
    assert (run.code, run.case.verdict) == (1, "crash")
    assert "exit status 7" in run.case.diagnosis.summary
    assert "last words" in run.case.diagnosis.client_stderr


@pytest.mark.parametrize("case", ["memory-of-the-server", "source-of-a-store-afterwards", "target-of-a-load-afterwards"])
def test_a_load_that_fails_is_told_with_what_the_plugin_said(plugin_run, case):
    run = plugin_run("LoadsNothing", f"l2.native-buffers.{case}", lmcache="0.5.6")
    assert {found.verdict for found in run.results.cases} == {"fail"}
    assert all("the disk has no more inodes" in found.diagnosis.summary for found in run.results.cases)


@pytest.mark.parametrize(
    ("release", "text"),
    [
        ("0.4.3", "org/model@000000ff@5f5f5f5f"),
        ("0.4.6", "org/model@000000ff@5f5f5f5f@s"),
        ("0.5.6", "org/model@000000ff@b@5f5f5f5f@s"),
    ],
)
def test_keys_have_the_form_of_the_release(release, text):
    assert L2Key("org/model", HASH, kv_rank=255, group=11, salt="s").text(Release.parse(release)) == text
