"""The faults of the MP mock one by one, as its reference page ends with them: ``python -m mockserver.mp.faults.page``."""

from __future__ import annotations

import sys

from mockserver.faults.table import deed, describe, form
from mockserver.mp.faults.table import MP_FAMILIES, MP_FAULTS


def mp_sections() -> str:
    """A section for each family and each fault, in Markdown."""
    found = []
    for family, faults in MP_FAMILIES.items():
        found.append(f"## {family}\n")
        found.extend(_section(fault.fault, fault.example) for fault in faults)
    return "\n".join(found)


def _section(name: str, example: str) -> str:
    paragraphs = [
        f"### {name}",
        f"`{form(name, MP_FAULTS)}`, for example `{example}`",
        deed(name, MP_FAULTS).replace("``", "`"),
        f"*Stands for.* {describe(name, MP_FAULTS)}",
    ]
    return "\n\n".join(paragraphs) + "\n"


if __name__ == "__main__":
    sys.stdout.write(mp_sections())
