"""A class of the user as it stands on a command line: ``module:Class`` or ``file.py:Class``, and its parameters in JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from harness.placeholders import FOLDER
from harness.presence import is_file
from harness.usage import UsageError

FORMS: Final = "package.module:Class, path/to/file.py:Class"


@dataclass(frozen=True)
class NamedClass:
    """Where a class is; exactly one of ``module`` and ``file`` is given."""

    name: str
    module: str | None = None
    """A dotted name."""
    file: Path | None = None
    """Absolute; it exists."""


def parse_class(text: str, what: str, other_forms: str) -> NamedClass:
    """Read it; ``what`` it is and the ``other_forms`` that the option has are for the message.

    Raises:
        UsageError: it has neither form, or there is no such file.
    """
    module, _, name = text.strip().rpartition(":")
    if not module or not name.isidentifier():
        raise UsageError(f"{text!r} names no {what}; write one of: {other_forms}, {FORMS}{_suggestion(text.strip())}")
    if module.endswith(".py"):
        try:
            file = Path(module).expanduser()
        except RuntimeError:
            raise UsageError(
                f"{text!r}: there is no user whose home {module.partition('/')[0]} could be; write the whole path"
            ) from None
        if not is_file(file):
            raise UsageError(f"there is no file {file}, as {text!r} says; paths are relative to {Path.cwd()}")
        return NamedClass(name, file=file.resolve())
    if "/" in module:
        raise UsageError(
            f"{text!r} names no {what}: {module} is no module; write package.module:Class, or the path of a file that ends in .py"
        )
    return NamedClass(name, module)


def parse_params(text: str | None) -> dict[str, Any] | None:
    """The JSON object behind ``--params``; None stays None.

    Raises:
        UsageError: it is no JSON object.
    """
    if text is None:
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f'--params must be a JSON object, such as \'{{"folder": "{FOLDER}"}}\'; {text!r} is none: {error}'
        ) from None
    if not isinstance(found, dict):
        raise UsageError(
            f"--params must be a JSON object, whose members are the arguments of the class; got a {type(found).__name__}"
        )
    return found


def _suggestion(text: str) -> str:
    if text.endswith(".py"):
        return f" (with the name of the class: {text}:MyClass)"
    head, _, tail = text.rpartition(".")
    return f" (a class of a module: {head}:{tail})" if ":" not in text and head and tail[:1].isupper() else ""
