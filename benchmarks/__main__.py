"""All benchmarks, or some: one command, one table, ratios within one run."""

from __future__ import annotations

import argparse
import fnmatch
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from benchmarks.groups import GROUPS, Group, group
from benchmarks.measure import Outcome, measured
from benchmarks.table import around, markdown, put

ROUNDS: Final = 5
SECONDS: Final = 0.5


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the tables and return 0, or 1 when a target is missed.

    A wrong option ends the program with 2, as argparse does.
    """
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        groups = [group(name) for name in options.group] or list(GROUPS)
        if options.out is not None:
            around(options.out)
    except ValueError as error:
        parser.error(str(error))
    if options.rounds < 1 or not 0 < options.seconds < 3600:
        parser.error("--rounds is at least 1, and --seconds more than 0 and less than 3600")
    tables: list[str] = []
    missed = 0
    for one in groups:
        outcomes = _outcomes(one, options)
        if outcomes:
            tables.append(markdown(one.title, outcomes))
            print("\n" + tables[-1], flush=True)
        missed += sum(not judged.met for outcome in outcomes for judged in outcome.judged)
    if not tables and not options.list:
        parser.error(f"--only {options.only!r} matches no comparison of these groups; --list shows them")
    if options.out is not None and tables:
        put(options.out, "\n".join(tables))
    return 1 if missed else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "python -m benchmarks", description="Measure side by side what the harness does and what others do."
    )
    parser.add_argument("group", nargs="*", help=f"which groups: {', '.join(one.name for one in GROUPS)}; all if none is named")
    parser.add_argument("--only", default="*", metavar="GLOB", help="only comparisons whose name matches")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="rounds of each comparison (default: %(default)s)")
    parser.add_argument(
        "--seconds", type=float, default=SECONDS, help="how long each contender runs in a round, about (default: %(default)s)"
    )
    parser.add_argument("--out", type=Path, metavar="PAGE", help="put the tables between the marks of this page, too")
    parser.add_argument(
        "--list", action="store_true", help="list the comparisons: starts what the groups need, and measures nothing"
    )
    return parser


def _outcomes(one: Group, options: argparse.Namespace) -> list[Outcome]:
    with one.opened() as comparisons:
        chosen = [comparison for comparison in comparisons if fnmatch.fnmatchcase(comparison.name, options.only)]
        if options.list:
            for comparison in chosen:
                print(f"{one.name}: {comparison.name} ({', '.join(contender.name for contender in comparison.contenders)})")
            return []
        return [measured(comparison, options.rounds, options.seconds, _tell) for comparison in chosen]


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
