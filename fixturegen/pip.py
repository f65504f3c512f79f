"""Calls of pip: installs and downloads that are bounded in time and explain their failures."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

from fixturegen import leash
from fixturegen.errors import EnvironmentUnavailable
from fixturegen.settings import PIP_SETTING, TORCH_SETTING, pip_arguments

FOR_PYTHON = ("--only-binary", ":all:", "--implementation", "cp", "--python-version", "3.11")
"""Wheels for the pinned interpreter, whatever interpreter runs pip."""


def pip(python: str, command: str, arguments: Sequence[str], *, what: str, timeout: float) -> None:
    """Run a command of pip with an interpreter; ``what`` says in words what for.

    Raises:
        EnvironmentUnavailable: it failed, or did not end within ``timeout`` seconds.
    """
    words = [python, "-m", "pip", "--disable-pip-version-check", "--no-input", command, *pip_arguments(), *arguments]
    try:
        done = leash.run(words, timeout=timeout)
    except subprocess.TimeoutExpired:
        raise EnvironmentUnavailable(f"could not {what}: pip did not end within {timeout:.0f} s") from None
    if done.returncode != 0:
        errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or done.stderr.splitlines()[-5:]
        raise EnvironmentUnavailable(
            f"could not {what}: {' '.join(errors)}\n"
            f"settings that may help: {TORCH_SETTING} (another torch requirement), {PIP_SETTING} (an extra index; PyTorch's "
            "install page names its index of CPU builds)"
        )
