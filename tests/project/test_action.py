"""The action for GitHub: its scripts are executed as a runner does, for clients that pass and fail, and for hostile inputs."""

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
RESULTS = "lmconform-results"
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
def recorded(tmp_path):
    """The action on a runner whose ``lmconform`` notes its words, leaves the files that it is asked for, and ends as told.

    ``ENDS_run=1`` is how ``lmconform run`` ends; without it a command ends with 0.
    """
    runner = Recorded(ROOT / "action.yml", tmp_path)
    program = tmp_path / "temp" / "lmconform-venv" / "bin" / "lmconform"
    program.parent.mkdir(parents=True)
    program.write_text(
        f"#!/bin/sh\nprintf '%s\\0' \"$@\" END >> '{runner.notes}'\n"
        "for word; do case $word in --) break;; --out=*) out=${word#--out=};; --summary=*) summary=${word#--summary=};; esac\n"
        "done\n"
        'case $1 in report | diff) echo "told by $1" > "$out";;\n'
        '*) mkdir -p "$out"; : > "$out/report.html"; echo "## THE RUN" > "$summary";; esac\n'
        'eval "exit \\${ENDS_$1:-0}"\n'
    )
    program.chmod(0o755)
    (runner.workspace / "earlier").mkdir()
    return runner


class Recorded(Action):
    """An action whose ``lmconform`` notes its words."""

    @property
    def notes(self):
        return self.home / "words"

    def words(self):
        """The words of each call, in order."""
        calls = self.notes.read_text().split("END\0")[:-1] if self.notes.exists() else []
        return [call.split("\0")[:-1] for call in calls]


def test_a_run_is_compared_with_its_baseline_and_the_difference_stands_before_the_run(recorded):
    ended = recorded.run(JUDGE, {**QUICK, "baseline": "earlier", "fail-on": "broken,short"})
    assert [words for words in recorded.words() if words[0] == "diff"] == [
        ["diff", f"--format={form}", f"--out=lmconform-results/diff.{suffix}", "--fail-on=broken,short", "--", "earlier", RESULTS]
        for form, suffix in (("html", "html"), ("markdown", "md"))
    ]
    assert ended.outputs["diff"] == "lmconform-results/diff.md"
    assert ended.summary == "told by diff\n\n## THE RUN\n"


VERDICTS = {0: "passed", 1: "failed", 2: "not-judged", 3: "undecided"}


@pytest.mark.parametrize(
    ("run", "diff", "fail_on", "code"),
    [
        (1, 0, "broken", 0), (0, 1, "broken", 1), (1, 1, "broken", 1), (0, 3, "broken", 3), (1, 2, "broken", 2),
        (2, 0, "broken", 2), (3, 0, "broken", 3), (3, 1, "broken", 3), (137, 0, "broken", 137),
        (1, 0, "", 1), (0, 1, "", 0), (0, 3, "", 0), (0, 2, "", 2),
    ],
)  # fmt: skip
def test_with_fail_on_the_comparison_decides_what_the_run_could_judge(recorded, run, diff, fail_on, code):
    inputs = {**QUICK, "baseline": "earlier", "fail-on": fail_on}
    ended = recorded.run(JUDGE, inputs, ENDS_run=str(run), ENDS_diff=str(diff))
    assert (ended.code, ended.outputs["verdict"]) == (code, VERDICTS.get(code, "undecided"))
    assert (ended.outputs["exit-code"], ended.outputs["diff-exit-code"]) == (str(code), str(diff))


def test_a_report_that_cannot_be_written_does_not_pass(recorded):
    inputs = {**QUICK, "baseline": "earlier", "fail-on": "broken", "reports": "sarif"}
    assert recorded.run(JUDGE, inputs).code == 0
    assert recorded.run(JUDGE, inputs, ENDS_report="2").code == 2


def test_without_a_baseline_the_verdict_is_that_of_the_run(recorded):
    ended = recorded.run(JUDGE, {**QUICK, "baseline": "nowhere", "fail-on": "broken"}, ENDS_run="1")
    assert (ended.code, "diff" in ended.outputs, len(recorded.words())) == (1, False, 1)
    assert "there is no baseline at nowhere: nothing is compared" in ended.err


@pytest.mark.parametrize(
    "baseline", ["", "lmconform-results", "./lmconform-results/results.jsonl", "lmconform-results/../lmconform-results"]
)
def test_what_cannot_be_a_baseline_is_refused_before_anything_is_judged(recorded, baseline):
    kept = recorded.workspace / RESULTS / "results.jsonl"
    kept.parent.mkdir()
    kept.write_text("of an earlier run")
    ended = recorded.run(JUDGE, {**QUICK, "baseline": baseline, "fail-on": "broken"})
    assert (ended.code, ended.outputs["verdict"], recorded.words()) == (2, "not-judged", [])
    assert "the input baseline" in ended.err


@pytest.mark.parametrize("name", ["baseline", "fail-on", "sarif-location"])
def test_a_hostile_input_of_a_comparison_or_a_report_is_never_executed(recorded, name):
    (recorded.workspace / HOSTILE).mkdir()
    recorded.run(JUDGE, {**QUICK, "baseline": "earlier", "reports": "sarif", name: HOSTILE})
    assert any(HOSTILE in {word, word.partition("=")[2]} for words in recorded.words() for word in words)
    assert not list(recorded.home.rglob("owned"))


def test_the_real_comparison_is_what_decides(action):
    """The one test here in which ``lmconform diff`` itself is asked: of a run that passes, and one that it is worse than."""
    client = ClientInfo("reference", "mine", "1", "Rust")
    header = RunHeader("1", "2026-01-02T03:04:05Z", client, ("0.5.6",), ("fixtures",), (), 0, "CPython", "Linux", "corpus")
    with ResultsWriter(action.workspace / "earlier" / "results.jsonl", header) as writer:
        for name in ("keys.tokens.hashes[0.5.6-fixtures-mp.tokens.none]", "lm.get.left-out[0.5.6-fixtures]"):
            topic, _, case = name.partition("[")[0].rpartition(".")
            writer.add(CaseRecord(name, topic, case, "0.5.6", "fixtures", Verdict.PASS, 0.1, "A client waits."))
    ended = action.run(JUDGE, {**QUICK, "baseline": "earlier/results.jsonl", "fail-on": "not-run"})
    assert (ended.code, ended.outputs["diff-exit-code"]) == (1, "1")
    assert (action.workspace / ended.outputs["diff"]).read_text().startswith("<!-- lmconform diff: Conformance -->")
    assert "<html" in (action.workspace / "lmconform-results" / "diff.html").read_text()
    assert ended.summary.index("NOT WORSE") < ended.summary.index("## CONFORMANT")


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
