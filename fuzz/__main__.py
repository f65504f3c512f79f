"""``python -m fuzz [TARGET ...] [--seconds N]``: fuzz targets, all without names; exit code 1 when something was found."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from fuzz.campaign import Outcome, Wishes, best_engine, fuzz
from fuzz.examine import examine
from fuzz.families import UnknownTarget, chosen


def main(words: list[str]) -> int:
    """Fuzz what words name.

    Returns:
        0: nothing was found, 1: something was, 2: usage.
    """
    parser = argparse.ArgumentParser(prog="python -m fuzz", description="Random bytes for all that reads what others wrote.")
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="families or targets, such as lm or tap.zmtp; none: all")
    parser.add_argument("--seconds", type=float, default=60.0, metavar="N", help="for each target (default: 60)")
    parser.add_argument("--list", action="store_true", help="show the targets")
    parser.add_argument(
        "--input", type=Path, metavar="FILE", help="execute one input, such as one that was kept, and nothing else"
    )
    parser.add_argument("--findings", type=Path, default=Path("fuzz-findings"), metavar="FOLDER", help="where inputs are kept")
    parser.add_argument(
        "--engine", choices=("atheris", "plain"), help="plain needs nothing but Python; not given: atheris if it is there"
    )
    parser.add_argument("--seed", type=int, default=1, help="another seed gives other inputs (default: 1)")
    parser.add_argument("--memory", type=int, default=2 << 30, metavar="BYTES", help="that a target may hold (default: 2 GiB)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures")
    options = parser.parse_args(words)
    try:
        targets = chosen(options.targets)
    except UnknownTarget as unknown:
        print(unknown, file=sys.stderr)
        return 2
    if options.list:
        for target in targets:
            print(f"{target.name:24}{len(target.seeds())} seeds, up to {target.longest} bytes")
        return 0
    if options.input is not None:
        if len(targets) != 1:
            print("--input goes with one target", file=sys.stderr)
            return 2
        try:
            data = options.input.read_bytes()
        except OSError as error:
            what = "no such file" if isinstance(error, FileNotFoundError) else error.strerror
            print(f"--input {options.input}: {what}; name one that was kept in {options.findings}", file=sys.stderr)
            return 2
        finding = examine(targets[0], data)
        print(finding.words if finding is not None else "nothing was found")
        return int(finding is not None)
    wishes = Wishes(options.seconds, options.findings, options.engine or best_engine(), options.seed, options.memory)
    outcomes = []
    for target in targets:
        outcomes.append(fuzz(target, wishes))
        print(_line(outcomes[-1]), flush=True)
        if options.json is not None:
            options.json.write_text(json.dumps([vars(one) for one in outcomes], indent=1) + "\n", "utf-8")
    found = sum(len(one.findings) for one in outcomes)
    runs = sum(one.executions for one in outcomes)
    print(f"{len(outcomes)} targets, {runs} executions, {found} findings" + (f" in {options.findings}" if found else ""))
    return int(found > 0)


def _line(one: Outcome) -> str:
    counted = f"{one.executions:10} executions {one.seconds:7.1f} s {one.peak_bytes >> 20:6} MiB {len(one.findings):3} findings"
    return f"{one.target:24}{counted}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
