"""The commands by name, each imported when it is needed: what only shows their names and first sentences imports none of them."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
from collections.abc import Callable, Iterator, MutableMapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import typer
from typer.core import TyperCommand, TyperGroup

Guard = Callable[[Callable[..., object]], Callable[..., object]]


@dataclass(frozen=True)
class Entry:
    """Where a command is: a module of this package and the function whose docstring is its help."""

    module: str
    function: str = "command"
    settings: dict[str, Any] = field(default_factory=dict)

    def help(self) -> str:
        """Its help text, read from the source."""
        found = importlib.util.find_spec(f"harness.cli.{self.module}")
        assert found is not None
        assert found.origin is not None
        for node in ast.parse(Path(found.origin).read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and node.name == self.function:
                return inspect.cleandoc(ast.get_docstring(node) or "")
        raise LookupError(f"{found.origin} has no function {self.function}")

    def command(self, name: str, guarded: Guard) -> Any:
        """The command itself, imported now; one with commands below it says so by a function ``group``."""
        module = importlib.import_module(f"harness.cli.{self.module}")
        if hasattr(module, "group"):
            made = typer.main.get_command(module.group(guarded))
            made.name = name
            return made
        alone = typer.Typer(rich_markup_mode=None, add_completion=False)
        alone.command(name, **self.settings)(guarded(getattr(module, self.function)))
        return typer.main.get_command(alone)


ENTRIES: Final = {
    "run": Entry("run"),
    "server": Entry("server"),
    "plugin": Entry("plugin"),
    "connector": Entry("connector"),
    "merge": Entry("merge"),
    "report": Entry("report"),
    "diff": Entry("diff"),
    "list": Entry("list_cases"),
    "releases": Entry("list_releases"),
    "smoke": Entry("smoke"),
    "bench": Entry("bench"),
    "serve": Entry("serve"),
    "keys": Entry("keys"),
    "capture": Entry("capture"),
    "verify": Entry("verify"),
    "dissector": Entry("dissector"),
    "drift": Entry("drift"),
    "site": Entry("site"),
    "compat": Entry("compat"),
    "explain": Entry("explain"),
    "mutants": Entry("mutants"),
    "test": Entry("test", settings={"context_settings": {"allow_extra_args": True, "ignore_unknown_options": True}}),
    "tap": Entry("tap", "record"),
}
"""In the order in which the help shows them."""


class Commands(MutableMapping[str, Any]):
    """The commands as typer keeps them, made on first use."""

    def __init__(self, guarded: Guard) -> None:
        self._guarded = guarded
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            self._made[name] = ENTRIES[name].command(name, self._guarded)
        return self._made[name]

    def __setitem__(self, name: str, command: Any) -> None:
        self._made[name] = command

    def __delitem__(self, name: str) -> None:
        raise TypeError(f"{name} stays")

    def __contains__(self, name: object) -> bool:
        return name in ENTRIES

    def __iter__(self) -> Iterator[str]:
        return iter(ENTRIES)

    def __len__(self) -> int:
        return len(ENTRIES)


def group_of(guarded: Guard) -> type[TyperGroup]:
    """The class of the group of all commands, which import nothing before one of them is asked for."""

    class Group(TyperGroup):
        def __init__(self, **settings: Any) -> None:
            super().__init__(**{**settings, "commands": {}})
            self.commands = Commands(guarded)

        def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002  # a group of typer is asked so
            return list(self.commands)

        def format_commands(self, ctx: Any, formatter: Any) -> None:
            texts: dict[str, Any] = {name: TyperCommand(name, help=entry.help()) for name, entry in ENTRIES.items()}
            TyperGroup(commands=texts).format_commands(ctx, formatter)

    return Group
