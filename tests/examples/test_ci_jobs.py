"""The jobs for CI that are shown: the services can read them, and everything that they name exists."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import typer
import yaml

from harness.cli.app import app
from harness.sharding import parse_shard
from harness.usage import parse_releases, parse_targets

ROOT = Path(__file__).resolve().parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
WORKFLOWS = sorted((ROOT / "examples" / "github").glob("*.yml"))
GITLAB = ROOT / "examples" / "gitlab" / ".gitlab-ci.yml"
COMMANDS = typer.main.get_command(app).commands
GUIDE = ROOT / "docs" / "guides" / "ci.md"


def steps_with_the_action(path):
    document = yaml.safe_load(path.read_text())
    steps = [step for job in document["jobs"].values() for step in job["steps"]]
    return [step for step in steps if "lmcache-conformance@" in step.get("uses", "")]


OURS = [
    pytest.param(step, id=f"{path.stem}-{number}")
    for path in WORKFLOWS
    for number, step in enumerate(steps_with_the_action(path))
]


@pytest.mark.parametrize(
    ("schema", "files"),
    [("github-actions", [ROOT / "action.yml"]), ("github-workflows", WORKFLOWS), ("gitlab-ci", [GITLAB])],
    ids=["action", "workflows", "gitlab"],
)
def test_the_schema_of_the_service_accepts_it(schema, files):
    words = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}", *files]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_there_are_jobs_that_use_the_action():
    assert len(OURS) == 10


@pytest.mark.parametrize("step", OURS)
def test_a_job_gives_the_action_inputs_that_it_has(step):
    inputs = step["with"]
    assert inputs.keys() <= ACTION["inputs"].keys()
    assert sum(bool(inputs.get(name)) for name in ("client", "server", "plugin", "connector", "merge")) == 1
    if "$" not in inputs.get("lmcache", "all"):
        assert parse_releases(inputs.get("lmcache", "all"))
    assert parse_targets(inputs.get("target", "mock"))


def test_the_shortest_gate_has_ten_lines():
    lines = [line for line in (ROOT / "examples" / "github" / "judge.yml").read_text().splitlines() if not line.startswith("#")]
    assert len(lines) == 10


def test_the_releases_of_the_matrix_are_captured():
    job = yaml.safe_load((ROOT / "examples" / "github" / "releases.yml").read_text())["jobs"]["lmcache"]
    assert len(parse_releases(",".join(job["strategy"]["matrix"]["lmcache"]))) >= 3


def test_the_jobs_of_a_matrix_keep_their_results_under_different_names():
    for path in WORKFLOWS:
        for job in yaml.safe_load(path.read_text())["jobs"].values():
            matrix = job.get("strategy", {}).get("matrix", {})
            names = [step["with"]["artifact"] for step in job["steps"] if "artifact" in step.get("with", {})]
            assert all(f"matrix.{variable} " in name for variable in matrix for name in names)
            assert bool(matrix) == bool(names)


def test_all_shards_are_made_and_their_results_are_found_by_the_job_that_merges_them():
    jobs = yaml.safe_load((ROOT / "examples" / "github" / "shards.yml").read_text())["jobs"]
    numbers = jobs["shard"]["strategy"]["matrix"]["shard"]
    (made,) = (step["with"] for step in jobs["shard"]["steps"] if "with" in step)
    assert made["shard"] == f"${{{{ matrix.shard }}}}/{len(numbers)}"
    assert numbers == list(range(1, len(numbers) + 1))
    fetched, merged = (step["with"] for step in jobs["verdict"]["steps"])
    assert re.fullmatch(fetched["pattern"].replace("*", r"\d+"), made["artifact"].replace("${{ matrix.shard }}", "1"))
    assert fetched["path"] == merged["merge"]
    assert (jobs["verdict"]["needs"], jobs["verdict"]["if"]) == ("shard", "always()")


def test_the_plan_of_the_full_matrix_names_releases_that_a_run_takes_and_as_many_shards_as_are_made(tmp_path):
    jobs = yaml.safe_load((ROOT / "examples" / "github" / "matrix.yml").read_text())["jobs"]
    (plan,) = (step["run"] for step in jobs["plan"]["steps"] if "id" in step)
    written = outputs_of(plan, tmp_path)
    assert written.keys() == jobs["plan"]["outputs"].keys()
    releases = parse_releases(written["lmcache"])
    numbers = json.loads(written["shards"])
    assert numbers == list(range(1, int(written["count"]) + 1))
    assert 2 * len(numbers) - 1 <= len(releases) <= 2 * len(numbers)
    assert parse_shard(f"{numbers[-1]}/{written['count']}")


def test_every_part_of_the_full_matrix_is_fetched_by_the_verdict_of_its_client():
    jobs = yaml.safe_load((ROOT / "examples" / "github" / "matrix.yml").read_text())["jobs"]
    (made,) = (step["with"] for step in jobs["shard"]["steps"] if "shard" in step.get("with", {}))
    fetched, merged = (step["with"] for step in jobs["verdict"]["steps"])
    clients = jobs["shard"]["strategy"]["matrix"]["client"]
    assert clients == jobs["verdict"]["strategy"]["matrix"]["client"]
    for name in clients:
        artifact = made["artifact"].replace("${{ matrix.client }}", name).replace("${{ matrix.shard }}", "3")
        assert re.fullmatch(fetched["pattern"].replace("${{ matrix.client }}", name).replace("*", r"\d+"), artifact)
        assert not any(other != name and other.startswith(f"{name}-shard") for other in clients)
    assert fetched["path"] == merged["merge"]
    assert made["shard"] == "${{ matrix.shard }}/${{ needs.plan.outputs.count }}"
    assert jobs["verdict"]["if"] == "always()"


def outputs_of(script, folder):
    """What a step writes for other jobs, executed here with this lmconform."""
    outputs = folder / "outputs"
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    words = [shutil.which("bash"), "-euo", "pipefail", "-c", script]
    subprocess.run(words, env={**os.environ, "GITHUB_OUTPUT": str(outputs), "PATH": path}, check=True, timeout=120)
    return dict(line.split("=", 1) for line in outputs.read_text().splitlines())


def test_the_commands_for_gitlab_and_their_options_exist():
    document = yaml.safe_load(GITLAB.read_text())
    calls = [shlex.split(line) for job in ("judge", "verdict") for line in document[job]["script"]]
    assert [Path(call[0]).name for call in calls] == ["lmconform"] * 2
    assert [call[1] for call in calls] == ["run", "merge"]
    for _, name, *words in calls:
        known = {option for parameter in COMMANDS[name].params for option in parameter.opts}
        assert {word for word in words if word.startswith("-")} <= known
    folder = calls[0][calls[0].index("--out") + 1]
    assert folder.startswith(f"{document['judge']['artifacts']['paths'][0]}/")
    assert document["verdict"]["artifacts"]["reports"]["junit"] == f"{calls[1][-1]}/junit.xml"


def test_the_guide_shows_the_jobs_as_they_are():
    text = GUIDE.read_text()
    for path in (ROOT / "examples" / "github" / "judge.yml", ROOT / "examples" / "github" / "shards.yml", GITLAB):
        assert without_comments(path.read_text()) in text, path.name


def without_comments(text):
    lines = [line for line in text.splitlines(keepends=True) if not line.lstrip().startswith("#")]
    return "".join(lines).strip("\n")
