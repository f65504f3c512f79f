"""The page about the machine-readable specification."""

from __future__ import annotations

from typing import Final

from docs.generator.machine.generations import generations
from docs.generator.machine.kaitai import FOLDER, name_of_file
from reports.documents import templates

PAGE: Final = f"{FOLDER}/index.md"


def page() -> str:
    """The whole page."""
    template = templates("docs.generator.machine", html=False).get_template("index.md.j2")
    return template.render(generations=generations(), file_of=name_of_file)
