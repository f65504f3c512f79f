"""``lmconform``: finds the command, runs it, and turns what it raises into one paragraph and an exit code."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Final

from harness import interruption
from harness.version import TOOL_VERSION


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; without arguments, that of the program, which ends with it.

    Returns:
        0 conformant or done, 1 not conformant, 2 usage or bad input, 3 the harness or its environment failed.
    """
    with interruption.at_once():
        if arguments is None:
            _prepare(sys.argv[1:])
            interruption.leave(_run(sys.argv[1:]))
        return _run(list(arguments))


_NO_WORKERS: Final = ("-h", "--help", "-j", "--jobs", "--only")
"""What options of a run begin with that leave it open whether it will have workers."""


def _prepare(words: list[str]) -> None:
    """Let the process that workers are forked from import what it needs while this one does."""
    if words[:1] == ["run"] and not any(word.startswith(_NO_WORKERS) for word in words):
        from harness.nursery import begin_early

        begin_early()


def _run(words: list[str]) -> int:
    if words == ["--version"]:
        print(f"lmconform {TOOL_VERSION}")
        return 0
    try:
        from harness.cli.app import run_app
    except KeyboardInterrupt:
        print("lmconform: interrupted", file=sys.stderr)
        return 3

    return run_app(words)


if __name__ == "__main__":
    main()
