"""The faults one by one, as ``docs/reference/faults.md`` ends with them: ``python -m mockserver.faults.page`` prints them."""

from __future__ import annotations

import sys

from mockserver.faults.table import FAMILIES, deed, describe, form, picks


def sections() -> str:
    """A section for each family and each fault, in Markdown."""
    found = []
    for family, faults in FAMILIES.items():
        found.append(f"## {family}\n")
        found.extend(_section(fault.fault, fault.example) for fault in faults)
    return "\n".join(found)


def _section(name: str, example: str) -> str:
    paragraphs = [f"### {name}", f"`{form(name)}`, for example `{example}`", deed(name).replace("``", "`")]
    if "command" not in picks(name):
        paragraphs.append(f"Of the keys that pick it takes only {' and '.join(f'`{key}`' for key in picks(name))}.")
    paragraphs.append(f"*Stands for.* {describe(name)}")
    return "\n\n".join(paragraphs) + "\n"


if __name__ == "__main__":
    sys.stdout.write(sections())
