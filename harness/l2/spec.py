"""Which plugin is judged, as users write it: ``reference``, ``mutant:NAME``, ``lmcache:ADAPTER`` or a class."""

from __future__ import annotations

import difflib
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal, get_args

from harness.usage import UsageError

Kind = Literal["native_plugin", "plugin"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
DEFAULT_KIND: Final[Kind] = "native_plugin"
REFERENCE: Final = "reference"
FOLDER: Final = "{dir}"
BACKEND: Final = "{backend}"
FORMS: Final = "reference, mutant:NAME, lmcache:ADAPTER, package.module:Class, path/to/file.py:Class"
_TREE: Final = Path(__file__).resolve().parents[2]
_REFERENCE_CLASS: Final = ("harness.reference.l2.plugin", "ReferencePlugin")
_REFERENCE_PARAMS: Final[Mapping[str, Any]] = MappingProxyType({"folder": FOLDER})


@dataclass(frozen=True)
class PluginSpec:
    """A plugin that can be opened: where its class is, what it is made with, and in which interpreter."""

    text: str
    """As the user wrote it."""
    kind: Kind
    module: str
    """A dotted name, or the path of a file that ends in ``.py``."""
    class_name: str
    params: Mapping[str, Any]
    """With ``{dir}`` and ``{backend}`` in their places."""
    paths: tuple[str, ...] = ()
    """What is put in front of the interpreter's search path."""
    python: str = field(default_factory=lambda: sys.executable)
    real: bool = False
    """The interpreter is one of the pinned environment, with the lmcache of the release that is judged."""

    @property
    def names_folder(self) -> bool:
        """Whether it stores in a folder of the harness."""
        return _mentions(self.params, FOLDER)

    @property
    def names_backend(self) -> bool:
        """Whether it wants the address of a backend."""
        return _mentions(self.params, BACKEND)

    def params_for(self, folder: Path, backend: str | None = None) -> dict[str, Any]:
        """The parameters with a folder and an address put in."""
        values = {FOLDER: str(folder)} | ({BACKEND: backend} if backend is not None else {})
        filled: dict[str, Any] = _filled(dict(self.params), values)
        return filled

    def with_params(self, **params: Any) -> PluginSpec:
        """The same plugin with some parameters changed."""
        return replace(self, params={**self.params, **params})


def parse_plugin(text: str, kind: str | None = None, params: str | None = None) -> PluginSpec:
    """What a user wrote; ``params`` is JSON.

    Raises:
        UsageError: it names no plugin, or a kind that does not exist, or the parameters are no JSON object.
    """
    asked = next((one for one in KINDS if one == kind), None)
    if asked is None and kind is not None:
        raise UsageError(f"unknown type of plugin {kind!r}; write one of {', '.join(KINDS)}")
    given = _parse_params(params)
    word, _, rest = text.strip().partition(":")
    if text.strip() == REFERENCE:
        _only(text, asked, "native_plugin")
        module, name = _REFERENCE_CLASS
        return PluginSpec(text, "native_plugin", module, name, _REFERENCE_PARAMS if given is None else given, (str(_TREE),))
    if word == "mutant":
        _only(text, asked, "native_plugin")
        return _mutant(text, rest, given)
    if word == "lmcache":
        _only(text, asked, "plugin")
        if not rest:
            raise UsageError(f"{text!r} names no adapter of lmcache; write lmcache:fs, lmcache:mock, lmcache:resp or the like")
        return PluginSpec(text, "plugin", "lmcache", rest, given or {}, real=True)
    module, _, name = text.strip().rpartition(":")
    if not module or not name.isidentifier():
        raise UsageError(f"{text!r} names no plugin; write one of: {FORMS}{_suggestion(text.strip())}")
    chosen = asked or DEFAULT_KIND
    if module.endswith(".py"):
        path = Path(module).expanduser()
        if not path.is_file():
            raise UsageError(f"there is no file {path}, as {text!r} says; paths are relative to {Path.cwd()}")
        module = str(path.resolve())
    elif "/" in module:
        raise UsageError(f"{text!r}: {module} is no module; write package.module:Class, or the path of a file that ends in .py")
    return PluginSpec(text, chosen, module, name, given or {}, (str(Path.cwd()),), real=chosen == "plugin")


def _only(text: str, asked: Kind | None, kind: Kind) -> None:
    if asked not in {None, kind}:
        raise UsageError(f"{text!r} is of type {kind}; leave --type out, or write --type {kind}")


def _parse_params(text: str | None) -> dict[str, Any] | None:
    if text is None:
        return None
    try:
        found = json.loads(text)
    except ValueError as error:
        raise UsageError(
            f'--params must be a JSON object, such as \'{{"folder": "{FOLDER}"}}\'; {text!r} is none: {error}'
        ) from None
    if not isinstance(found, dict):
        raise UsageError(
            f"--params must be a JSON object, whose members are the arguments of the class; got a {type(found).__name__}"
        )
    return found


def _mutant(text: str, name: str, given: dict[str, Any] | None) -> PluginSpec:
    from harness.mutants import mutant

    known: Mapping[str, Any] = mutant.load_l2_mutants()
    if name not in known:
        close = difflib.get_close_matches(name, list(known), n=1)
        guess = f" (did you mean {close[0]}?)" if close else ""
        raise UsageError(f"no mutant of a plugin is called {name!r}{guess}; 'lmconform mutants --list' shows them all")
    module, _, class_name = known[name].place.partition(":")
    params = _REFERENCE_PARAMS if given is None else given
    return PluginSpec(text, "native_plugin", module, class_name, params, (str(_TREE),))


def _suggestion(text: str) -> str:
    if text.endswith(".py"):
        return f" (with the name of the class: {text}:MyPlugin)"
    head, _, tail = text.rpartition(".")
    return f" (a class of a module: {head}:{tail})" if ":" not in text and head and tail[:1].isupper() else ""


def _mentions(value: Any, word: str) -> bool:
    if isinstance(value, str):
        return word in value
    if isinstance(value, Mapping):
        return any(_mentions(one, word) for one in value.values())
    return isinstance(value, list | tuple) and any(_mentions(one, word) for one in value)


def _filled(value: Any, words: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        for word, text in words.items():
            value = value.replace(word, text)
        return value
    if isinstance(value, Mapping):
        return {name: _filled(one, words) for name, one in value.items()}
    return [_filled(one, words) for one in value] if isinstance(value, list | tuple) else value
