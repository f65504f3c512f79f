"""The page of what a tap looks for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from docs.generator.table import cell, table
from harness.requirements import load_requirements
from harness.tap.lm.rules import LM_RULES

_INTRODUCTION: Final = """\
# What a tap looks for

Every rule of `lmconform tap` and `lmconform explain` for the `lm://` wire, with its level and the [requirement](requirements.md)
that it rests on. An error breaks the protocol or the conversation. A warning is legal and hardly what is meant. A note is worth
knowing, and changes no exit code. Findings do not depend on how the bytes were cut into segments, but for `reply-split`."""

_HEAD: Final = ("rule", "level", "what is wrong", "requirement", "what to do")


def page() -> str:
    """The whole page."""
    return f"{_INTRODUCTION}\n\n{table(_HEAD, _rows())}\n"


def _rows() -> Iterator[Sequence[str]]:
    known = load_requirements()
    for rule in LM_RULES.values():
        cited = rule.requirement if rule.requirement in known else ""
        yield f"`{rule.name}`", rule.level, cell(rule.summary), cited or "", cell(rule.advice)
