"""Guides show what commands really print."""

import re
import shlex
from pathlib import Path

import pytest

from harness.cli.main import main

GUIDES = Path(__file__).resolve().parents[2] / "docs" / "guides"
BLOCK = re.compile(r"^```console\n\$ (lmconform (?:keys|drift|releases) .*?)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHOWN = [
    pytest.param(command, shown, id=f"{guide.stem}-{number}")
    for guide in sorted(GUIDES.glob("*.md"))
    for number, (command, shown) in enumerate(BLOCK.findall(guide.read_text()), 1)
]


ROOT = GUIDES.parents[1]
QUOTED = re.compile(r"^```(?:python|markdown)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
QUOTES = {
    "add-a-case": ("docs/spec/lm.md", "cases/lm/test_roundtrip.py", "harness/mutants/operations.py"),
}


@pytest.mark.parametrize(("guide", "sources"), QUOTES.items())
def test_what_a_guide_quotes_stands_in_the_source_tree(guide, sources):
    quotes = QUOTED.findall((GUIDES / f"{guide}.md").read_text())
    assert len(quotes) == len(sources)
    for quote, source in zip(quotes, sources, strict=True):
        assert quote in (ROOT / source).read_text()


def test_there_is_something_to_compare():
    assert len(SHOWN) >= 5


@pytest.mark.parametrize(("command", "shown"), SHOWN)
def test_a_command_prints_what_its_guide_shows(capfd, monkeypatch, command, shown):
    monkeypatch.setenv("COLUMNS", "100")
    main(shlex.split(command)[1:])
    printed = capfd.readouterr().out
    for part in shown.split("...\n"):
        assert part in printed
