"""Measures what real servers make of plugins that misbehave: ``python -m harness.l2.served RELEASE... [--write]``.

Without ``--write`` what comes is compared with what stands in ``measured.json``: status 1 where it differs.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from fixturegen.environment import open_environment
from harness.l2.served.faults import FAULTS, Fault
from harness.l2.served.measured import read_measured, write_measured
from harness.l2.served.outcome import FaultyServer, Outcome
from harness.l2.served.server import PluginPlace
from wire.release import Release

INNER: Final = ("harness.reference.l2.plugin", "ReferencePlugin")
"""The plugin that is made to misbehave."""


def measure(release: Release, faults: list[Fault], folder: Path) -> Iterator[tuple[Fault, Outcome]]:
    """The outcome of each fault, as it comes; the environment is the venv runtime."""
    place = PluginPlace("native_plugin", *INNER, {"folder": str(folder / "store")})
    server = FaultyServer(open_environment("venv"), release, place, folder)
    try:
        for fault in faults:
            yield fault, server.outcome(fault)
    finally:
        server.end()


def main(words: list[str]) -> int:
    """Run it; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m harness.l2.served", description=__doc__)
    parser.add_argument("releases", nargs="+", type=Release.parse)
    parser.add_argument("--fault", action="append", choices=[fault.text for fault in FAULTS], help="one of them; may be repeated")
    parser.add_argument("--write", action="store_true", help="put what comes into measured.json")
    asked = parser.parse_args(words)
    faults = [fault for fault in FAULTS if not asked.fault or fault.text in asked.fault]
    known = {release: dict(outcomes) for release, outcomes in read_measured().items()}
    differs = False
    for release in asked.releases:
        expected = known.setdefault(release, {})
        with tempfile.TemporaryDirectory(prefix="lmconform-l2-") as folder:
            for fault, outcome in measure(release, faults, Path(folder)):
                note = ""
                if not asked.write and expected.get(fault.text) != outcome:
                    differs = True
                    before = expected.get(fault.text)
                    note = f"   expected {dict(before.unusual)}" if before is not None else "   not measured before"
                print(f"{release}  {fault.text}  {dict(outcome.unusual)}{note}", flush=True)
                if asked.write:
                    expected[fault.text] = outcome
                    write_measured(known)
    return int(differs)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
