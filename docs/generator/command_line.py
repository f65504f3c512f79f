"""The page of commands and options: what ``--help`` says, written down once more by a program."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any, Final

import typer

from docs.generator.table import cell, table
from harness.cli.app import app

_INTRODUCTION: Final = """\
# Command line

Every command with its options, as `lmconform COMMAND --help` shows them. In a clone of the repository the command is
`./lmconform`, which sets up `.venv` on first use; where the package is installed with pip it is `lmconform`.

`lmconform --install-completion` teaches the current shell (bash, zsh, fish) commands, options, captured releases, targets, wires
and runtimes; open a new shell afterwards.

| exit code | meaning |
|---|---|
| 0 | conformant, nothing found, done |
| 1 | something was found: the client is not conformant, releases differ, a check failed |
| 2 | usage or bad input: nothing was judged |
| 3 | the harness, its environment or the mock failed: nothing is claimed about the client |

Where a command has other words for them, they stand below."""


_METAVARS: Final = {"str": "TEXT", "list[str]": "TEXT", "path": "PATH", "TEXT": "TEXT", "PATH": "PATH"}
"""What versions of typer call a type, and what the page calls it; anything else is a choice such as ``text|json``."""

_PLACEHOLDER: Final = re.compile(r" (?:<([^>]+)>|\[([^\]]+)\]|(TEXT|PATH))$")
_EXTRA: Final = re.compile(r"  \[(default: .*|required)\]$")
_HEAD: Final = ("option", "meaning")


def page() -> str:
    """The whole page."""
    root: Any = typer.main.get_command(app)
    parts = [_INTRODUCTION, _section("lmconform", root, usage="lmconform COMMAND ...")]
    for name, command in root.commands.items():
        parts.append(_section(name, command, usage=_usage(name, command)))
        below = getattr(command, "commands", {})
        parts += [_section(f"{name} {word}", one, usage=_usage(f"{name} {word}", one)) for word, one in below.items()]
    return "\n\n".join(parts) + "\n"


def _section(title: str, command: Any, *, usage: str) -> str:
    rows = list(_rows(command))
    options = [table(_HEAD, rows)] if rows else []
    return "\n\n".join([f"## {title}", f"    {usage}", inspect.cleandoc(command.help), *options])


def _usage(name: str, command: Any) -> str:
    arguments = [_argument(parameter) for parameter in command.params if _is_argument(parameter)]
    return " ".join([f"lmconform {name} [OPTIONS]", *arguments])


def _rows(command: Any) -> Iterator[tuple[str, str]]:
    for parameter in command.params:
        record = parameter.get_help_record(_context(command))
        if record is not None and "completion" not in record[0]:
            names, meaning = record
            extra = _EXTRA.search(meaning)
            told = cell(_EXTRA.sub("", meaning)) + (f" ({cell(extra[1])})" if extra else "")
            placeholder = _PLACEHOLDER.search(names)
            if _is_argument(parameter):
                names = _argument(parameter)
            elif placeholder:
                kind = next(text for text in placeholder.groups() if text)
                names = names.replace(placeholder[0], f" {_METAVARS.get(kind, 'NAME')}")
                choices = kind.split("|")
                told += f" One of {', '.join(choices)}." if any(choice not in told for choice in choices[1:]) else ""
            yield f"`{names}`", told


def _is_argument(parameter: Any) -> bool:
    return type(parameter).__name__ == "TyperArgument"


def _argument(parameter: Any) -> str:
    return parameter.metavar or f"{parameter.name.upper()}..."


def _context(command: Any) -> Any:
    return command.make_context(command.name or "lmconform", [], resilient_parsing=True)
