"""What a shell offers: commands, options, and the values of options that are known."""

import os
import subprocess
import sys

import pytest

from harness.cli import completion


def offered(words, shell):
    """What the completion script of a shell gets to the last of some words."""
    told = {
        "bash": {"COMP_WORDS": words, "COMP_CWORD": str(len(words.split(" ")) - 1)},
        "zsh": {"_TYPER_COMPLETE_ARGS": words},
        "fish": {"_TYPER_COMPLETE_ARGS": words, "_TYPER_COMPLETE_FISH_ACTION": "get-args"},
    }[shell]
    done = subprocess.run(
        [sys.executable, "-m", "harness.cli.main"],
        env={**os.environ, **told, "_LMCONFORM_COMPLETE": f"complete_{shell}"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return done.stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_offers_values_of_an_option(shell):
    assert "fixtures,mock" in offered("lmconform run --target fixtures,m", shell)


def test_releases_are_offered_behind_those_that_are_named():
    assert completion.releases("0.5.") == ["0.5.6", "0.5.5", "0.5.4", "0.5.3", "0.5.2", "0.5.1", "0.5.0"]
    assert completion.releases("0.5.6,0.3.1") == [
        f"0.5.6,{release}" for release in ("0.3.15", "0.3.14", "0.3.13", "0.3.12", "0.3.11", "0.3.10.post2", "0.3.10.post1")
    ] + ["0.5.6,0.3.10", "0.5.6,0.3.1.post1", "0.5.6,0.3.1"]
    assert completion.releases("0.5.6,0.5.6") == []
    assert completion.releases("a") == ["all"]


def test_targets_are_those_of_the_side():
    assert completion.client_targets("") == ["fixtures", "mock", "live"]
    assert completion.plugin_targets("al") == ["alone"]
    assert completion.runtimes("d") == ["docker"]
    assert "mp" in completion.protocols("m")
