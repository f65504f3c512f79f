"""Executes the shell steps of a composite action as a runner does: each script by bash, with the variables that a step has."""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import yaml

KEPT = ("PATH", "HOME", "LANG", "PIP_", "SSL_")
"""Variables of this machine that steps see."""


CONTEXT = {
    "github.server_url": "https://forge.example",
    "github.action_repository": "OWNER/lmcache-conformance",
    "github.action_ref": "v1",
}
"""What a runner knows of itself, as far as the action asks."""


def evaluated(text, known):
    """Expressions of a workflow replaced by what they stand for; one that is not known is a KeyError."""
    return re.sub(r"\$\{\{ (.*?) \}\}", lambda found: known[found[1]], str(text))


def read_commands(path):
    """What a step wrote to its file of outputs: ``name=value`` lines, and values between delimiters."""
    found, lines = {}, iter(path.read_text().splitlines())
    for line in lines:
        name, delimiter = line.split("<<", 1) if re.match(r"[^=]*<<", line) else (None, None)
        if name is None:
            name, found[name] = line.split("=", 1)
            continue
        value = []
        while (line := next(lines)) != delimiter:
            value.append(line)
        found[name] = "\n".join(value)
    return found


@dataclass
class Ended:
    """A step that ended."""

    code: int
    out: str
    err: str
    outputs: dict
    summary: str


@dataclass
class Action:
    """The action, on a runner whose folders are below ``home``."""

    path: Path
    home: Path
    document: dict = field(init=False)

    def __post_init__(self):
        self.document = yaml.safe_load(self.path.read_text())
        for name in ("temp", "workspace"):
            (self.home / name).mkdir(parents=True, exist_ok=True)

    @property
    def steps(self):
        return self.document["runs"]["steps"]

    @property
    def workspace(self):
        return self.home / "workspace"

    def step(self, name):
        (found,) = (step for step in self.steps if step.get("name") == name)
        return found

    def run(self, name, inputs=None, known=None, **variables):
        """Execute a step under inputs, of which the rest have their defaults."""
        step = self.step(name)
        defaults = {f"inputs.{key}": str(value["default"]) for key, value in self.document["inputs"].items()}
        given = {f"inputs.{key}": value for key, value in (inputs or {}).items()}
        assert given.keys() <= defaults.keys()
        values = {
            key: evaluated(text, {**CONTEXT, **defaults, **given, **(known or {})}) for key, text in step.get("env", {}).items()
        }
        script, output, summary = (self.home / word for word in ("script.sh", "output", "summary"))
        script.write_text(step["run"])
        for file in (output, summary):
            file.write_text("")
        assert step["shell"] == "bash"
        done = subprocess.run(
            [shutil.which("bash"), "--noprofile", "--norc", "-eo", "pipefail", script],
            cwd=self.workspace, capture_output=True, text=True, timeout=300, check=False, stdin=subprocess.DEVNULL,
            env={
                **{name: value for name, value in os.environ.items() if name.startswith(KEPT)},
                "RUNNER_TEMP": str(self.home / "temp"), "GITHUB_OUTPUT": str(output), "GITHUB_STEP_SUMMARY": str(summary),
                "GITHUB_ACTION_PATH": str(self.path.parent), "GITHUB_WORKSPACE": str(self.workspace), "CI": "true",
                **variables, **values,
            },
        )  # fmt: skip
        return Ended(done.returncode, done.stdout, done.stderr, read_commands(output), summary.read_text())
