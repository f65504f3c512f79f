"""The page of what a tap looks for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from docs.generator.table import cell, table
from harness.requirements import load_requirements
from harness.tap.finding import Rule
from harness.tap.lm.rules import LM_RULES
from harness.tap.mp.rules import RULES as MP_RULES

_INTRODUCTION: Final = """\
# What a tap looks for

Every rule of `lmconform tap` and `lmconform explain`, with its level and the [requirement](requirements.md) that it rests on.
An error breaks the protocol or the conversation. A warning is legal and hardly what is meant. A note is worth
knowing, and changes no exit code. Findings do not depend on how the bytes were cut into segments, but for `reply-split`."""

_WIRES: Final[Mapping[str, Mapping[str, Rule]]] = {"The `lm://` wire": LM_RULES, "The multiprocess wire": MP_RULES}
_HEAD: Final = ("rule", "level", "what is wrong", "requirement", "what to do")


def page() -> str:
    """The whole page."""
    parts = [_INTRODUCTION]
    for title, rules in _WIRES.items():
        parts += [f"## {title}", table(_HEAD, _rows(rules))]
    return "\n\n".join(parts) + "\n"


def _rows(rules: Mapping[str, Rule]) -> Iterator[Sequence[str]]:
    known = load_requirements()
    for rule in rules.values():
        cited = rule.requirement if rule.requirement in known else ""
        yield f"`{rule.name}`", rule.level, cell(rule.summary), cited or "", cell(rule.advice)
