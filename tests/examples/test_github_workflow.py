"""The workflow that looks for new releases: it can be read, its shell can be parsed, and its commands and options exist."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
import typer
import yaml

from harness.cli.app import app

WORKFLOW = Path(__file__).resolve().parents[2] / "examples" / "github" / "new-release.yml"
DOCUMENT = yaml.safe_load(WORKFLOW.read_text())
(JOB,) = DOCUMENT["jobs"].values()
SCRIPTS = [step["run"] for step in JOB["steps"] if "run" in step]
CALLS = [
    shlex.split(call)
    for script in SCRIPTS
    for call in re.findall(r"^\s*\./lmconform (.*?)(?: > .*| \|\| .*)?$", script, re.MULTILINE)
]
COMMANDS = typer.main.get_command(app).commands


def test_it_runs_once_a_week_and_when_asked_for():
    # YAML 1.1 takes the key "on" for true.
    assert set(DOCUMENT[True]) == {"schedule", "workflow_dispatch"}
    (schedule,) = DOCUMENT[True]["schedule"]
    assert re.fullmatch(r"\d+ \d+ \* \* \d", schedule["cron"])


def test_it_may_do_what_it_does_and_no_more():
    assert DOCUMENT["permissions"] == {"contents": "write", "pull-requests": "write"}


def test_it_captures_and_then_compares():
    assert [call[0] for call in CALLS] == ["capture", "drift", "verify"]
    assert CALLS[0] == ["capture", "latest", "--format", "json"]
    assert CALLS[1][1:3] == ["$OLD", "$NEW"]


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call[0])
def test_its_commands_and_their_options_exist(call):
    name, *words = call
    known = {option for parameter in COMMANDS[name].params for option in parameter.opts}
    assert {word for word in words if word.startswith("-")} <= known


@pytest.mark.parametrize("script", SCRIPTS, ids=range(len(SCRIPTS)))
def test_its_shell_can_be_parsed(script):
    plain = re.sub(r"\$\{\{.*?\}\}", "value", script)
    done = subprocess.run([shutil.which("bash"), "-n"], input=plain, text=True, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_later_steps_run_only_where_there_is_a_release():
    later = JOB["steps"][[step.get("id") for step in JOB["steps"]].index("capture") + 1 :]
    assert {step["if"] for step in later} == {"steps.capture.outputs.new != ''"}


def test_outputs_that_are_read_are_written():
    text = WORKFLOW.read_text()
    read = set(re.findall(r"steps\.(\w+)\.outputs\.(\w+)", text))
    written = {(step["id"], name) for step in JOB["steps"] if "id" in step for name in re.findall(r'echo "(\w+)=', step["run"])}
    assert read <= written
