"""A campaign keeps what it finds, survives what a target does to its process, and says so by its exit code."""

import json
import random
import subprocess
import sys
import textwrap

import pytest

from fuzz.__main__ import main
from fuzz.campaign import Wishes, fuzz
from fuzz.examine import Finding, examine
from fuzz.mutation import mutated
from fuzz.one import keep
from fuzz.target import Target

SEEDS = (b'{"a": [1, 2.5, "x"]}\n{"b": null}', b"lm.get 0.5.6 \xff\x00\x00\x00\x10", b"")


def raised(error):
    def run(_):
        raise error

    return run


def target(run, refusals=(ValueError,)):
    return Target("lm.it", run, refusals, lambda: [b""])


def forever(_):
    while True:
        pass


def test_what_a_target_documents_is_no_finding():
    assert examine(target(raised(ValueError("no number"))), b"") is None
    assert examine(target(len), b"") is None


@pytest.mark.parametrize(
    ("run", "kind"),
    [
        (raised(KeyError("x")), "raised"),
        (raised(ValueError("")), "silent"),
        (raised(MemoryError()), "memory"),
        (raised(SystemExit(1)), "raised"),
        (forever, "slow"),
    ],
)
def test_anything_else_is(run, kind):
    assert examine(target(run), b"", bound=0.05).kind == kind


def test_changes_of_an_input_are_the_same_for_the_same_seed_and_no_longer_than_asked():
    one, two = ([mutated(SEEDS[n % 3], random.Random(n), 64, SEEDS) for n in range(300)] for _ in range(2))
    assert one == two
    assert max(map(len, one)) <= 64
    assert len(set(one)) > 200


def test_the_same_finding_is_kept_once(tmp_path):
    known = {}
    first = keep(tmp_path, "lm.it", Finding("raised", "KeyError at a.py:1", "words \udc80"), b"data", known=known)
    assert (tmp_path / first).read_bytes() == b"data"
    assert "KeyError at a.py:1" in (tmp_path / f"{first}.txt").read_text()
    assert keep(tmp_path, "lm.it", Finding("raised", "KeyError at a.py:1", "more"), b"other", known=known) == ""


def test_a_campaign_counts_and_finds_nothing_in_a_sound_target(tmp_path):
    from fuzz.families import find

    found = fuzz(find("lm.reply"), Wishes(30, tmp_path, "plain", runs=300))
    assert (found.executions, list(found.findings)) == (300, [])
    assert found.peak_bytes > 0


FAMILY = """
import fuzz.families, fuzz.targets, sys, types
from fuzz.target import Target
def die(data):
    import os
    if len(data) > 3:
        os.kill(os.getpid(), 9)
def grow(data):
    grow.held = getattr(grow, "held", []) + [open("/dev/null")]
module = types.ModuleType("fuzz.targets.lm")
module.TARGETS = (
    Target("lm.dies", die, (), lambda: [b"abc", b"abcd"]),
    Target("lm.leaks", grow, (), lambda: [b"x"]),
    Target("lm.raises", lambda data: {}[data], (), lambda: [b"x"]),
)
sys.modules["fuzz.targets.lm"] = module
"""


@pytest.mark.parametrize(("name", "kind"), [("lm.dies", "killed"), ("lm.leaks", "leak"), ("lm.raises", "raised")])
def test_what_ends_a_process_or_stays_open_is_kept_with_its_input(tmp_path, monkeypatch, name, kind):
    # The process of the target reads this before anything else.
    (tmp_path / "sitecustomize.py").write_text(textwrap.dedent(FAMILY))
    root = str(__import__("pathlib").Path(__file__).parents[2])
    code = (
        "import sitecustomize; from fuzz.campaign import Wishes, fuzz; from fuzz.families import find; from pathlib import Path\n"
        f"found = fuzz(find({name!r}), Wishes(20, Path({str(tmp_path)!r}) / 'kept', 'plain', runs=400))\n"
        "import json; print(json.dumps(list(found.findings)))"
    )
    environment = {"PYTHONPATH": f"{tmp_path}:{root}", "PATH": "/usr/bin:/bin"}
    words = [sys.executable, "-c", code]
    done = subprocess.run(words, capture_output=True, text=True, env=environment, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    names = json.loads(done.stdout.splitlines()[-1])
    assert {name.split("-")[1] for name in names} == {kind}
    assert all((tmp_path / "kept" / name).exists() for name in names)
    if kind == "killed":
        assert (tmp_path / "kept" / names[0]).read_bytes() == b"abcd"


def test_the_command_lists_targets_and_refuses_unknown_ones():
    def run(*words):
        return subprocess.run([sys.executable, "-m", "fuzz", *words], capture_output=True, text=True, timeout=120, check=False)

    listed = run("lm", "--list")
    assert listed.returncode == 0
    assert listed.stdout.startswith("lm.request ")
    unknown = run("lm.nothing")
    assert (unknown.returncode, "there is no target" in unknown.stderr) == (2, True)


def test_an_input_that_is_not_there_is_told_and_ends_with_2(tmp_path, capsys):
    assert main(["lm.key", "--input", str(tmp_path / "no")]) == 2
    assert capsys.readouterr().err == f"--input {tmp_path / 'no'}: no such file; name one that was kept in fuzz-findings\n"
