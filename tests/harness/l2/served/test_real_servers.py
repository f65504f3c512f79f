"""Plugins in real servers: the keys and the memory that they are given, and some of what was measured, measured again."""

import json
import subprocess
import sys
from collections import Counter

import pytest

from fixturegen.environment import open_environment
from fixturegen.mp.launch import import_root
from harness.l2.keys import L2Key
from harness.l2.served import faulty
from harness.l2.served.__main__ import INNER, measure
from harness.l2.served.engine import prompt
from harness.l2.served.faults import NONE, Fault
from harness.l2.served.measured import read_measured
from harness.l2.served.outcome import Outcome
from harness.l2.served.server import PluginPlace, served

pytestmark = pytest.mark.live

QUICK = ("get-raises", "exists-raises", "set-is-not-ok", "get-is-not-ok", "exists-result-too-short", "get-damages")
"""Faults after which the server need not be started again."""
SELECTED = ("start", "never-stored", "both-tiers", "salts", "several-at-once", "damaged")
"""Cases that one server is enough for; the environments ``l2-live-RELEASE`` of tox have all of them."""


def test_a_server_does_with_a_plugin_that_misbehaves_what_was_measured(pinned_mp_release, tmp_path):
    known = read_measured()[pinned_mp_release]
    found = dict(measure(pinned_mp_release, [NONE, *map(Fault, QUICK)], tmp_path))
    assert found == {NONE: Outcome(), **{Fault(name): known[name] for name in QUICK}}


def test_the_reference_plugin_passes_cases_inside_the_newest_server(pinned_mp_release, tmp_path):
    only = [word for name in SELECTED for word in ("--only", f"l2.in-server.{name}[*")]
    words = ["plugin", "reference", "--lmcache", str(pinned_mp_release), "--target", "live", *only]
    command = [sys.executable, "-m", "harness.cli.main", *words, "--out", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(SELECTED)} pass" in done.stdout


@pytest.fixture(scope="module")
def journal(pinned_mp_release, tmp_path_factory):
    """What a plugin was called with: a store, a lookup and a load of two prompts, and the end of the server."""
    folder = tmp_path_factory.mktemp("journal")
    (folder / "switch").touch()
    inner = {"module": INNER[0], "class_name": INNER[1], "params": {"folder": str(folder / "store")}}
    params = {"switch": str(folder / "switch"), "journal": str(folder / "journal"), **inner}
    place = PluginPlace("native_plugin", faulty.__name__, faulty.Faulty.__name__, params)
    environment = open_environment("venv")
    with served(environment, pinned_mp_release, place, folder, imports=(import_root("harness"),)) as server:
        with server.engine() as engine:
            for salt in ("", "tenant-é"):
                wanted = prompt(2, salt)
                engine.store(wanted)
                server.written_through()
                engine.clear()
                assert engine.load(wanted).data == engine.contents(wanted)
            model = engine.model
        assert server.stop() in {0, -15}
    return model, [json.loads(line) for line in (folder / "journal").read_text().splitlines()]


def test_keys_have_the_form_that_cases_use(journal, pinned_mp_release):
    model, lines = journal
    keys = {key for line in lines for key in line["keys"]}
    assert len(keys) == 4
    for key in keys:
        name, rank, group, digest, *salt = key.split("@")
        assert name == model
        parts = L2Key(name, bytes.fromhex(digest), int(rank, 16), int(group, 16), *salt)
        assert parts.text(pinned_mp_release) == key
        assert len(parts.hash) == 32
    assert Counter(key.count("@") for key in keys) == {3: 2, 4: 2}


def test_memory_is_bytes_in_one_dimension_that_are_not_of_the_plain_format(journal):
    # "view[:] = data" raises for such a view; view.cast("B")[:] = data does not.
    _, lines = journal
    assert {tuple(view) for line in lines for view in line["memory"]} == {("<B", 1, False, 1024)}


def test_stores_and_lookups_come_from_a_thread_each_and_the_end_from_the_main_thread(journal):
    _, lines = journal
    threads = {}
    for line in lines:
        threads.setdefault(line["op"], set()).add(line["thread"])
    assert {op: len(names) for op, names in threads.items()} == {"set": 1, "exists": 1, "get": 1, "close": 1}
    assert threads["exists"] == threads["get"] != threads["set"]
    assert threads["close"] == {"MainThread"}
