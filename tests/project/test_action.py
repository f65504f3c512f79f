"""The action for GitHub: its scripts are executed as a runner does, for clients that pass and fail, and for hostile inputs."""

import dataclasses
import json
import re
import sys
import sysconfig
from pathlib import Path

import pytest
from composite import Action

from harness.version import TOOL_VERSION
from reports.record import CaseRecord, ClientInfo, RunHeader
from reports.results import ResultsWriter, read_results
from reports.verdict import Verdict

ROOT = Path(__file__).resolve().parents[2]
INSTALL, JUDGE, KEEP = "Install lmconform", "Judge", "Keep the reports"
QUICK = {"client": "reference", "lmcache": "0.5.6", "target": "fixtures", "arguments": "--only=keys.tokens.*\n--jobs=1"}
FAILING = {
    **QUICK,
    "client": "mutant:frame-big-endian",
    "arguments": "--only=lm.request.encode[*.sent.get]\n--only=keys.tokens.*\n--jobs=1",
}
SUBJECTS = ("client", "server", "plugin", "connector")
HOSTILE = "x\"; touch owned; $(touch owned) `touch owned` ' ; touch owned #\ntouch owned\nverdict=passed\n${{ github.token }}"


@pytest.fixture
def action(tmp_path):
    """The action on a runner on which lmconform is installed already: the Python of these tests has it."""
    found = Action(ROOT / "action.yml", tmp_path)
    (tmp_path / "temp" / "lmconform-venv").symlink_to(sys.prefix)
    return found


def test_a_step_installs_the_checkout_of_the_action_itself(tmp_path):
    """Everything that lmconform needs is here already; only the tool that builds it is fetched."""
    python = tmp_path / "python"
    python.write_text(
        f'#!/bin/sh\n"{sys.executable}" "$@"\n'
        f'echo "{sysconfig.get_path("purelib")}" > "$(echo "$4"/lib/python3.*/site-packages)/here.pth"\n'
    )
    python.chmod(0o755)
    package = tmp_path / "workspace" / "my package"
    package.mkdir(parents=True)
    (package / "pyproject.toml").write_text(
        '[project]\nname = "mine"\nversion = "1"\n[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"\n'
    )
    (package / "mine.py").write_text("")
    runner = Action(ROOT / "action.yml", tmp_path)
    ended = runner.run(INSTALL, {"packages": "./my package\n"}, {"steps.python.outputs.python-path": str(python)})
    assert (ended.code, ended.out) == (0, ""), ended.err
    inside = next((tmp_path / "temp" / "lmconform-venv" / "lib").glob("python3.*")) / "site-packages"
    for name in ("cases/corpus/index.json", "harness/spec/lm.md", "reports/run/templates/run.html.j2", "mine.py"):
        assert (inside / name).exists(), name
    ended = runner.run(JUDGE, QUICK)
    assert ended.code == 0, ended.err
    assert f"lmconform {TOOL_VERSION}" in ended.summary


def test_a_client_that_passes(action):
    ended = action.run(JUDGE, QUICK)
    assert (ended.code, ended.err) == (0, "")
    assert ended.outputs == {
        "verdict": "passed",
        "exit-code": "0",
        "report": "lmconform-results/report.html",
        "results": "lmconform-results/results.jsonl",
        "junit": "lmconform-results/junit.xml",
    }
    assert all((action.workspace / ended.outputs[name]).is_file() for name in ("report", "results", "junit"))
    assert ended.summary.startswith("## CONFORMANT\n")


def test_a_client_that_fails_fails_the_step_and_keeps_its_reports(action):
    ended = action.run(JUDGE, FAILING)
    assert ended.code == 1
    assert (ended.outputs["verdict"], ended.outputs["exit-code"]) == ("failed", "1")
    assert (action.workspace / ended.outputs["report"]).is_file()
    assert ended.summary.startswith("## NOT CONFORMANT\n")
    assert "lm.request.encode[0.5.6-fixtures-lm.request.sent.get]" in ended.summary


def test_a_list_of_known_failures_lets_it_pass(action):
    (action.workspace / "known failures.toml").write_text(
        '[[expectation]]\ncases = "lm.request.encode"\noutcome = "fail"\nerror = "*differ*"\nreason = "r"\nexpires = 2999-01-01\n'
    )
    ended = action.run(JUDGE, {**FAILING, "expectations": "known failures.toml"})
    assert (ended.code, ended.outputs["verdict"]) == (0, "passed")
    assert ended.summary.startswith("## NO NEW FAILURE\n")


def test_shards_are_merged_by_the_action_too(action):
    shards = [action.run(JUDGE, {**FAILING, "shard": f"{index}/2", "results": f"all shards/{index}"}) for index in (1, 2)]
    assert sorted(shard.code for shard in shards) == [0, 1]
    ended = action.run(JUDGE, {"merge": "all shards"})
    assert (ended.code, ended.outputs["verdict"]) == (1, "failed")
    assert len(read_results(action.workspace / ended.outputs["results"]).cases) == 11
    ended = action.run(JUDGE, {"merge": "all shards/1"})
    assert (ended.code, ended.outputs["verdict"]) == (3, "undecided")
    assert "shard 2/2 is missing" in ended.summary


def test_other_formats_are_written_where_they_are_wanted(action):
    ended = action.run(JUDGE, {**FAILING, "reports": "sarif\nctrf=found.json\nbadge-svg\n", "sarif-location": "src/mine.py:7"})
    assert (ended.code, ended.outputs["sarif"], ended.outputs["ctrf"]) == (1, "lmconform-results/results.sarif", "found.json")
    assert (action.workspace / "lmconform-results" / "badge.svg").is_file()
    (run,) = json.loads((action.workspace / ended.outputs["sarif"]).read_text())["runs"]
    place = run["results"][0]["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == ("src/mine.py", 7)
    link = run["tool"]["driver"]["rules"][0]["helpUri"]
    assert link.startswith("https://forge.example/OWNER/lmcache-conformance/blob/v1/docs/spec/lm.md#lm-")


@pytest.fixture
def judged(tmp_path):
    """The action on a runner whose ``lmconform run`` leaves results that are there already: of one case, which failed."""
    runner = Action(ROOT / "action.yml", tmp_path)
    prepared = tmp_path / "prepared"
    client = ClientInfo("stdio:./mine", "mine", "1", "Rust")
    header = RunHeader("1", "2026-01-02T03:04:05Z", client, ("0.5.6",), ("mock",), (), 0, "CPython", "Linux", "corpus")
    case = CaseRecord("lm.get.a[0.5.6-mock]", "lm.get", "a", "0.5.6", "mock", Verdict.FAIL, 0.1, "A client waits.")
    for folder, verdict in (
        (prepared, Verdict.FAIL),
        (runner.workspace / "good", Verdict.PASS),
        (runner.workspace / "bad", Verdict.FAIL),
    ):
        with ResultsWriter(folder / "results.jsonl", header) as writer:
            writer.add(dataclasses.replace(case, verdict=verdict))
    (prepared / "report.html").touch()
    program = tmp_path / "temp" / "lmconform-venv" / "bin" / "lmconform"
    program.parent.mkdir(parents=True)
    program.write_text(
        f'#!/bin/sh\n[ "$1" = run ] || PYTHONPATH={ROOT} exec {sys.executable} -m harness.cli.main "$@"\n'
        "for word; do case $word in --out=*) out=${word#--out=};; --summary=*) summary=${word#--summary=};; esac; done\n"
        f'mkdir -p "$out"; cp {prepared}/* "$out"; echo "## NOT CONFORMANT" > "$summary"; exit 1\n'
    )
    program.chmod(0o755)
    return runner


def test_what_a_baseline_has_as_well_fails_only_where_nothing_else_was_asked_for(judged):
    same = judged.run(JUDGE, {**QUICK, "baseline": "bad", "fail-on": "broken,new-failures"})
    assert (same.code, same.outputs["verdict"], same.outputs["diff-exit-code"]) == (0, "passed", "0"), same.err
    assert (judged.workspace / same.outputs["diff"]).read_text().startswith("<!-- lmconform diff: Conformance -->")
    assert (judged.workspace / "lmconform-results" / "diff.html").is_file()
    assert same.summary.index("NO DIFFERENCE") < same.summary.index("NOT CONFORMANT")
    told = judged.run(JUDGE, {**QUICK, "baseline": "bad"})
    assert (told.code, told.outputs["diff-exit-code"]) == (1, "0")


def test_a_run_that_is_worse_than_its_baseline_fails(judged):
    ended = judged.run(JUDGE, {**QUICK, "baseline": "good/results.jsonl", "fail-on": "broken"})
    assert (ended.code, ended.outputs["verdict"], ended.outputs["diff-exit-code"]) == (1, "failed", "1")
    assert "WORSE" in ended.summary


def test_without_a_baseline_the_verdict_is_that_of_the_run(judged):
    ended = judged.run(JUDGE, {**QUICK, "baseline": "nowhere", "fail-on": "broken"})
    assert (ended.code, "diff" in ended.outputs) == (1, False)
    assert "there is no baseline at nowhere: nothing is compared" in ended.err
    ended = judged.run(JUDGE, {**QUICK, "fail-on": "broken"})
    assert (ended.code, ended.outputs["verdict"]) == (2, "not-judged")
    assert "give the input baseline" in ended.err


def test_a_baseline_that_cannot_be_read_does_not_pass(judged):
    (judged.workspace / "broken.jsonl").write_text("nonsense\n")
    ended = judged.run(JUDGE, {**QUICK, "baseline": "broken.jsonl"})
    assert (ended.code, ended.outputs["verdict"]) == (2, "not-judged")
    assert "broken.jsonl, line 1: not JSON" in ended.err


@pytest.mark.parametrize("name", ["baseline", "fail-on", "sarif-location"])
def test_a_hostile_input_of_a_comparison_or_a_report_is_never_executed(judged, name):
    ended = judged.run(JUDGE, {**QUICK, "baseline": "bad", "reports": "sarif", name: HOSTILE})
    assert ended.outputs["verdict"] in {"not-judged", "failed"}
    assert not list(judged.home.rglob("owned"))


@pytest.mark.parametrize("word", ["--help", "--summary=elsewhere.md"])
@pytest.mark.parametrize("inputs", [QUICK, {"merge": "shards"}], ids=["run", "merge"])
def test_a_command_that_judges_nothing_does_not_pass(action, word, inputs):
    ended = action.run(JUDGE, {**inputs, "arguments": f"{inputs.get('arguments', '')}\n{word}"})
    assert (ended.code, ended.outputs["verdict"]) == (2, "not-judged")
    assert ended.summary.startswith("## NOTHING WAS JUDGED\n")


def test_where_nothing_is_judged_no_report_is_named_and_the_summary_says_so(action):
    assert action.run(JUDGE, QUICK).code == 0
    ended = action.run(JUDGE, {**QUICK, "lmcache": "9.9.9"})
    assert ended.code == 2
    assert ended.outputs == {"verdict": "not-judged", "exit-code": "2"}
    assert ended.summary.startswith("## NOTHING WAS JUDGED\n")
    assert "lmcache 9.9.9 is not in the corpus" in ended.err


def test_without_a_client_the_step_fails(action):
    ended = action.run(JUDGE, {"lmcache": "0.5.6"})
    assert (ended.code, ended.outputs["verdict"]) == (2, "not-judged")


@pytest.mark.parametrize(
    "name",
    [
        "client",
        "protocol",
        "lmcache",
        "target",
        "expectations",
        "shard",
        "merge",
        "arguments",
        "server",
        "plugin",
        "params",
        "reports",
    ],
)
def test_a_hostile_input_is_never_executed(action, name):
    inputs = {"lmcache": "0.5.6"} if name in {"server", "plugin", "merge"} else QUICK
    ended = action.run(JUDGE, {**inputs, name: HOSTILE})
    assert ended.code == 2
    assert ended.outputs == {"verdict": "not-judged", "exit-code": "2"}
    assert not list(action.home.rglob("owned"))


def test_a_server_is_judged_by_the_action_too(action):
    inputs = {"server": "mock", "lmcache": "0.5.6", "protocol": "lm"}
    ended = action.run(JUDGE, {**inputs, "arguments": "--only=servers.wire.headers-in-one-piece\n--jobs=1"})
    assert (ended.code, ended.outputs["verdict"]) == (0, "passed"), ended.err
    assert read_results(action.workspace / ended.outputs["results"]).header.side == "server"


def test_a_plugin_is_judged_by_the_action_too(action):
    ended = action.run(JUDGE, {"plugin": "reference", "lmcache": "0.5.6", "arguments": "--only=l2.deleting.*\n--jobs=1"})
    assert (ended.code, ended.outputs["verdict"]) == (0, "passed"), ended.err
    assert read_results(action.workspace / ended.outputs["results"]).header.side == "plugin"


@pytest.mark.parametrize("inputs", [{**QUICK, "server": "mock"}, {"plugin": "reference", "connector": "reference"}])
def test_a_job_judges_one_thing(action, inputs):
    ended = action.run(JUDGE, inputs)
    assert (ended.code, ended.outputs["verdict"]) == (2, "not-judged")
    assert f"the inputs {' '.join(name for name in inputs if name in SUBJECTS)} name several things to judge" in ended.err


def test_a_hostile_folder_is_a_folder(action):
    ended = action.run(JUDGE, {**QUICK, "results": HOSTILE.replace("/", " ")})
    assert ended.code == 0, ended.err
    assert ended.outputs["verdict"] == "passed"
    assert ended.outputs["report"] == f"{HOSTILE}/report.html"
    assert (action.workspace / ended.outputs["report"]).is_file()
    assert not list(action.home.rglob("owned"))


def test_hostile_packages_are_names_of_packages_and_no_options(tmp_path):
    pip = tmp_path / "python"
    pip.write_text(
        '#!/bin/sh\n[ "$2" != venv ] || { mkdir -p "$4/bin"; cp "$0" "$4/bin/python"; }\nprintf "%s|" "$@" > "$NOTES"\n'
    )
    pip.chmod(0o755)
    runner = Action(ROOT / "action.yml", tmp_path)
    known = {"steps.python.outputs.python-path": str(pip)}
    ended = runner.run(
        INSTALL, {"packages": f"--index-url=https://evil.example\n{HOSTILE}"}, known, NOTES=str(tmp_path / "notes")
    )
    assert ended.code == 0
    words = (tmp_path / "notes").read_text().split("|")
    assert words[words.index("--") + 1 :] == [str(ROOT), "--index-url=https://evil.example", *HOSTILE.split("\n"), ""]
    assert not list(tmp_path.rglob("owned"))


def test_a_runner_takes_nothing_that_is_printed_for_a_command(action):
    lines = action.run(JUDGE, QUICK).out.splitlines()
    stop = re.fullmatch(r"::stop-commands::([0-9a-f-]{36})", lines[0])
    assert stop
    assert lines[-1] == f"::{stop[1]}::"
    assert len(lines) > 10


@pytest.mark.parametrize("code", [0, 1, 2, 3, 137])
def test_every_exit_code_is_passed_on_with_its_verdict(tmp_path, code):
    runner = Action(ROOT / "action.yml", tmp_path)
    program = tmp_path / "temp" / "lmconform-venv" / "bin" / "lmconform"
    program.parent.mkdir(parents=True)
    program.write_text(
        f'#!/bin/sh\nfor word; do case $word in --summary=*) : > "${{word#--summary=}}";; esac; done\nexit {code}\n'
    )
    program.chmod(0o755)
    ended = runner.run(JUDGE, QUICK)
    assert ended.code == code
    verdict = {0: "passed", 1: "failed", 2: "not-judged"}.get(code, "undecided")
    assert ended.outputs == {"verdict": verdict, "exit-code": str(code)}


def test_no_script_holds_an_expression(action):
    scripts = [step["run"] for step in action.steps if "run" in step]
    assert len(scripts) == 2
    assert not any("${{" in script for script in scripts)


def test_reports_are_kept_also_after_a_failure(action):
    condition = action.step(KEEP)["if"]
    assert condition == "always() && inputs.artifact != '' && steps.judge.outputs.report != ''"
    assert action.steps[-1] is action.step(KEEP)


def test_every_input_is_used_and_every_output_is_written(action):
    text = (ROOT / "action.yml").read_text()
    runs = text.partition("\nruns:\n")[2]
    assert {name for name in action.document["inputs"] if f"inputs.{name}" in runs} == set(action.document["inputs"])
    read = {
        re.fullmatch(r"\$\{\{ steps\.judge\.outputs\.([a-z-]+) \}\}", output["value"])[1]
        for output in action.document["outputs"].values()
    }
    assert read == set(re.findall(r"^ *output ([a-z-]+) ", runs, flags=re.MULTILINE))
