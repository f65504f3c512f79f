"""Adapters of kind ``plugin`` with the real lmcache: the interface of each release, ours, and those that lmcache ships."""

import ast
import os
import time
from pathlib import Path

import pytest

from fixturegen.venv import VenvEnvironment
from harness.l2 import interface
from harness.l2.keys import L2Keys
from harness.l2.session import PluginSession
from harness.l2.spec import parse_plugin
from harness.runner import RunOptions, run_matrix
from reports.results import read_results
from reports.verdict import ExitCode, Verdict
from wire.release import KNOWN_RELEASES, Release

pytestmark = pytest.mark.live

FIRST = Release.parse("0.4.2")
PASSED = ("l2.adapter-contract.three-descriptors*", "l2.semantics.batch-of-many*")
FAILED = {
    "fs": (
        "l2.adapter-eviction.locked-objects-stay*",
        "l2.semantics.other-size*-alone--100]",
        "l2.identity.keys*-separators]",
        "l2.integrity.damaged-while-open*-flip-middle]",
        "l2.integrity.damaged-while-open*-cut-half]",
    ),
    "mock": ("l2.adapter-eviction.locked-objects-stay*",),
}
"""Cases that cost no waiting; the environments ``l2-real-RELEASE`` of tox have all of them, and more adapters."""


def methods(release, module, name):
    """The arguments and the annotated result of each method of a class, read from the source of a release."""
    tree = next(iter(sorted(VenvEnvironment()._cache.glob(f"lmcache-{release}-*/lmcache"))), None)
    if tree is None:
        return None
    source = ast.parse((tree / "v1" / "distributed" / module).read_text())
    found = next((node for node in ast.walk(source) if isinstance(node, ast.ClassDef) and node.name == name), None)
    return {
        node.name: ([one.arg for one in node.args.args[1:]], ast.unparse(node.returns) if node.returns else "")
        for node in (found.body if found is not None else ())
        if isinstance(node, ast.FunctionDef)
    }


@pytest.mark.parametrize("release", [one for one in map(Release.parse, KNOWN_RELEASES) if one >= FIRST], ids=str)
def test_the_tables_of_the_interface_are_those_of_the_source(pinned_release, release):
    base = methods(release, "l2_adapters/base.py", "L2AdapterInterface")
    if base is None:
        pytest.skip(f"the wheel of lmcache {release} is not unpacked")
    lookup = {"keys": ["keys"], "layout": ["keys", "layout_desc"], "group_layouts": ["keys", "group_layout_descs"]}
    assert base["submit_lookup_and_lock_task"][0] == lookup[interface.LOOKUP[release]]
    result = {"flag": "dict[L2TaskId, bool]", "result": "dict[L2TaskId, L2StoreResult]"}
    assert base["pop_completed_store_tasks"][1] == result[interface.STORE_RESULT[release]]
    usage = {"none": None, "pair": "tuple[float, float]", "bytes": "AdapterUsage"}
    assert base.get("get_usage", (None, None))[1] == usage[interface.USAGE[release]]
    assert ("delete" in base) == interface.DELETES[release]
    assert ("list_l2_keys" in base) == interface.LISTS[release]
    assert ("sizes" in base.get("_notify_keys_stored", ([],))[0]) == interface.NOTIFIES_SIZES[release]
    listener = methods(release, "internal_api.py", "L2AdapterListener").get("on_l2_keys_stored")
    told = {"none": None, "keys": ["keys"], "sizes": ["keys", "sizes"]}
    assert (listener and listener[0]) == told[interface.LISTENING[release]]


@pytest.fixture
def session(pinned_mp_release):
    """The reference adapter."""
    made = PluginSession(parse_plugin("reference", "plugin"), release=pinned_mp_release)
    yield made
    made.stop()


def test_an_adapter_is_a_child_of_the_harness_and_can_be_killed(session, pinned_mp_release):
    plugin = session.open()
    status = Path(f"/proc/{plugin.pid}/status").read_text()
    assert f"PPid:\t{os.getpid()}" in status
    assert os.getsid(plugin.pid) == plugin.pid
    plugin.kill()
    assert not plugin.alive
    key = L2Keys(pinned_mp_release).one()
    again = plugin.reopen()
    assert again.pid != plugin.pid
    assert again.lookup([key]) == [False]


def test_lmcache_is_imported_once(session):
    session.open()
    began = time.monotonic()
    session.open()
    assert time.monotonic() - began < 5


def run(client, tmp_path, release, **options):
    """The exit code and the results of a run of one adapter."""
    code = run_matrix(
        RunOptions(
            side="plugin",
            client=client,
            kind="plugin",
            lmcache=str(release),
            target="alone",
            folder=tmp_path,
            jobs=1,
            **options,
        )
    )
    return code, read_results(tmp_path / "results.jsonl")


def test_the_reference_adapter_keeps_the_contract(pinned_mp_release, tmp_path):
    code, results = run("reference", tmp_path, pinned_mp_release, only=("l2.adapter-*",))
    assert code == ExitCode.CONFORMANT
    assert {case.verdict for case in results.cases} <= {Verdict.PASS, Verdict.UNSUPPORTED}
    assert results.counts[Verdict.PASS] >= 20


@pytest.mark.parametrize("adapter", FAILED)
def test_what_an_adapter_of_lmcache_fails_is_listed_and_nothing_else_is(pinned_mp_release, adapter, tmp_path):
    code, results = run(
        f"lmcache:{adapter}",
        tmp_path,
        pinned_mp_release,
        only=(*PASSED, *FAILED[adapter]),
        expectations=Path(f"lmcache-l2-{adapter}"),
    )
    assert code == ExitCode.CONFORMANT
    assert results.counts[Verdict.PASS] == len(PASSED)
    assert results.counts[Verdict.KNOWN_FAILURE] == len(FAILED[adapter]) == len(results.cases) - len(PASSED)
