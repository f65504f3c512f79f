"""The pages that are generated, and what makes each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from docs.generator import command_line, drawings, plugin_faults, requirements, result_schema, tap_rules
from docs.generator.machine import guide, kaitai, wireshark, wireshark_mp
from docs.generator.spec.pages import PAGES as SPECIFICATION

PAGES: Final[Mapping[str, Callable[[], str]]] = {
    "docs/reference/command-line.md": command_line.page,
    "docs/reference/results.md": result_schema.page,
    "docs/reference/requirements.md": requirements.page,
    "docs/reference/plugin-faults.md": plugin_faults.page,
    "docs/reference/tap-rules.md": tap_rules.page,
    **SPECIFICATION,
    **drawings.files(),
    **kaitai.pages(),
    wireshark.LM: wireshark.lm_dissector,
    wireshark_mp.MP: wireshark_mp.mp_dissector,
    guide.PAGE: guide.page,
}
"""Path in the repository to what makes it."""
