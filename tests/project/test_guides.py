"""Guides show what commands really print."""

import re
import shlex
from pathlib import Path

import pytest

from harness.cli.main import main

GUIDES = Path(__file__).resolve().parents[2] / "docs" / "guides"
BLOCK = re.compile(r"^```console\n\$ (lmconform (?:keys|drift) .*?)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHOWN = [
    pytest.param(command, shown, id=f"{guide.stem}-{number}")
    for guide in sorted(GUIDES.glob("*.md"))
    for number, (command, shown) in enumerate(BLOCK.findall(guide.read_text()), 1)
]


def test_there_is_something_to_compare():
    assert len(SHOWN) >= 5


@pytest.mark.parametrize(("command", "shown"), SHOWN)
def test_a_command_prints_what_its_guide_shows(capfd, monkeypatch, command, shown):
    monkeypatch.setenv("COLUMNS", "100")
    main(shlex.split(command)[1:])
    printed = capfd.readouterr().out
    for part in shown.split("...\n"):
        assert part in printed
