"""What was measured of real servers whose plugins misbehave, release by release: ``measured.json``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from harness.l2.served.faults import FAULTS
from harness.l2.served.outcome import Outcome
from wire.release import Release

FILE: Final = Path(__file__).resolve().with_name("measured.json")
"""For each release and each fault what is not as with a plugin without fault."""

Measured = Mapping[Release, Mapping[str, Outcome]]


def read_measured(path: Path = FILE) -> Measured:
    """Outcomes by release and by the text of a fault; a release may have been measured for some of them alone."""
    found: Mapping[str, Mapping[str, Mapping[str, Any]]] = json.loads(path.read_text())
    return {
        Release.parse(release): {fault: Outcome(**unusual) for fault, unusual in outcomes.items()}
        for release, outcomes in found.items()
    }


def write_measured(measured: Measured, path: Path = FILE) -> None:
    """Write the file; faults in the order of their table, a line for each."""
    lines = []
    for release in sorted(measured):
        outcomes = measured[release]
        faults = [fault.text for fault in FAULTS if fault.text in outcomes]
        members = ",\n".join(f"    {json.dumps(fault)}: {json.dumps(dict(outcomes[fault].unusual))}" for fault in faults)
        lines.append(f"  {json.dumps(str(release))}: {{\n{members}\n  }}")
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")
