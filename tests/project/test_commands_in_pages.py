"""Commands that pages show: each exists, with the options that it is given."""

import fnmatch
import itertools
import re
import shlex

import pytest
import typer

from docs.generator.links import ROOT, pages
from docs.generator.requirements import citing_cases
from harness.cli.app import app
from mockserver.faults import parse_plan
from mockserver.mp.faults import parse_mp_plan

CASES = sorted({name for names in citing_cases().values() for name in names})
COMMANDS = typer.main.get_command(app).commands
LINE = re.compile(r"^(?: {4}|\$ )(?:[A-Z_]+=\S+ )*(?:\./)?lmconform ([^#\n]*)", re.MULTILINE)
INLINE = re.compile(r"`(?:\./)?lmconform ([a-z][^`\n]*)`")

SHOWN = [
    pytest.param(shown, id=f"{page.relative_to(ROOT)}: {shown.strip()}")
    for page in pages()
    if page.name != "command-line.md"
    for shown in [*LINE.findall(page.read_text()), *INLINE.findall(page.read_text())]
]


def options(name):
    below = getattr(COMMANDS[name], "commands", {}).values()
    parameters = [one for command in (COMMANDS[name], *below) for one in command.params]
    return {"--help", "-h"} | {option for one in parameters for option in (*one.opts, *one.secondary_opts)}


def test_there_are_commands_to_look_at():
    assert len(SHOWN) > 60


@pytest.mark.parametrize("shown", SHOWN)
def test_a_command_and_its_options_exist(shown):
    name, *words = shlex.split(shown) or [""]
    if name.startswith("-") or name == "COMMAND":
        return
    assert name in COMMANDS
    given = {word.strip("[]").partition("=")[0] for word in words if re.match(r"\[?-", word)}
    assert given - options(name) == set()


def values_of(option, *names):
    """What an option is given on the pages, in commands of these names; not where a page shows its form, as ``NAME[...]``."""
    for _, words in shown_commands(*names):
        yield from (value for word, value in itertools.pairwise(words) if word == option and not value.startswith("NAME"))


def shown_commands(*names):
    for parameter in SHOWN:
        name, *words = shlex.split(parameter.values[0]) or [""]
        if name in names:
            yield name, words


@pytest.mark.parametrize("pattern", sorted(set(values_of("--only", "run", "list", "mutants"))))
def test_a_pattern_of_cases_means_some(pattern):
    assert fnmatch.filter(CASES, pattern.partition("[")[0])


@pytest.mark.parametrize("words", [words for _, words in shown_commands("serve") if "--fault" in words], ids=" ".join)
def test_the_faults_of_a_command_are_understood(words):
    given = [value for word, value in itertools.pairwise(words) if word == "--fault" and not value.startswith("NAME")]
    (parse_mp_plan if "mp" in words else parse_plan)(given)
