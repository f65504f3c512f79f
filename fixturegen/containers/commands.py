"""Commands of this machine that build and download, with a deadline."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence

from fixturegen.containers.last_words import last_words
from fixturegen.errors import EnvironmentUnavailable


def bounded(command: Sequence[str], what: str, seconds: float, variables: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a command to its end; ``what`` begins a message about it, such as "downloading torch".

    Raises:
        EnvironmentUnavailable: it does not start, or is not done in time. Its exit status is the caller's to judge.
    """
    try:
        return subprocess.run(
            command,
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds,
            env=variables,
        )
    except subprocess.TimeoutExpired as error:
        written = error.stderr.decode(errors="replace") if isinstance(error.stderr, bytes) else ""
        raise EnvironmentUnavailable(f"{what}: not done after {seconds:g} s{last_words(written)}") from None
    except OSError as error:
        raise EnvironmentUnavailable(f"{what}: cannot start {command[0]}: {error}") from error
