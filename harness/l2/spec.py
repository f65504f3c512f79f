"""Which plugin is judged, as users write it: ``reference``, ``mutant:NAME``, ``lmcache:ADAPTER`` or a class."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal, get_args

from harness.l2.shipped import SHIPPED
from harness.named_class import parse_class, parse_params
from harness.placeholders import BACKEND, FOLDER, filled, names_backend, names_folder
from harness.usage import UsageError

Kind = Literal["native_plugin", "plugin"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
DEFAULT_KIND: Final[Kind] = "native_plugin"
REFERENCE: Final = "reference"
FORMS: Final = "reference, mutant:NAME, lmcache:ADAPTER"
"""Besides a class of the user."""
_TREE: Final = Path(__file__).resolve().parents[2]
_REFERENCE_CLASSES: Final[Mapping[Kind, str]] = MappingProxyType(
    {
        "native_plugin": "harness.reference.l2.plugin:ReferencePlugin",
        "plugin": "harness.reference.l2.adapter:ReferenceAdapter",
    }
)
_REFERENCE_PARAMS: Final[Mapping[str, Any]] = MappingProxyType({"folder": FOLDER})
_REFERENCE_BEHIND: Final[Mapping[Kind, Mapping[str, Any]]] = MappingProxyType(
    {"native_plugin": {"gateway": BACKEND, "wait": 1.0}}
)


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
    environment: Mapping[str, str] | None = None
    """Variables of its process; those of this one if None."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """What the program that holds it has to know besides; see :mod:`harness.l2.pinned`."""
    behind: Mapping[str, Any] | None = None
    """For cases about a backend the parameters to use instead, where ``params`` name none; known of our own plugins alone."""

    @property
    def names_folder(self) -> bool:
        """Whether it stores in a folder of the harness."""
        return names_folder(self.params)

    @property
    def names_backend(self) -> bool:
        """Whether it wants the address of a backend."""
        return names_backend(self.params)

    @property
    def behind_backend(self) -> PluginSpec | None:
        """The plugin with its objects behind a backend; None if it has none."""
        if self.names_backend:
            return self
        return None if self.behind is None else replace(self, params=self.behind, behind=None)

    def params_for(self, folder: Path, backend: str | None = None) -> dict[str, Any]:
        """The parameters with a folder and an address put in."""
        found: dict[str, Any] = filled(dict(self.params), folder, backend)
        return found


def parse_plugin(text: str, kind: str | None = None, params: str | None = None) -> PluginSpec:
    """What a user wrote; ``params`` is JSON.

    Raises:
        UsageError: it names no plugin, or a kind that does not exist, or the parameters are no JSON object.
        ClientUnavailable: there is no such mutant.
    """
    asked = next((one for one in KINDS if one == kind), None)
    if asked is None and kind is not None:
        raise UsageError(f"unknown type of plugin {kind!r}; write one of {', '.join(KINDS)}")
    given = parse_params(params)
    word, _, rest = text.strip().partition(":")
    if text.strip() == REFERENCE:
        return _ours(text, asked or DEFAULT_KIND, _REFERENCE_CLASSES[asked or DEFAULT_KIND], given)
    if word == "mutant":
        return _mutant(text, rest, asked, given)
    if word == "lmcache":
        _only(text, asked, "plugin")
        if not rest:
            raise UsageError(f"{text!r} names no adapter of lmcache; write lmcache:fs, lmcache:mock, lmcache:resp or the like")
        known = SHIPPED[rest].params if rest in SHIPPED else {}
        return PluginSpec(text, "plugin", "lmcache", rest, known if given is None else given, real=True)
    named = parse_class(text, "plugin", FORMS)
    chosen = asked or DEFAULT_KIND
    module = named.module or str(named.file)
    return PluginSpec(text, chosen, module, named.name, given or {}, (str(Path.cwd()),), real=chosen == "plugin")


def _only(text: str, asked: Kind | None, kind: Kind) -> None:
    if asked not in {None, kind}:
        raise UsageError(f"{text!r} is of type {kind}; leave --type out, or write --type {kind}")


def _ours(text: str, kind: Kind, place: str, given: dict[str, Any] | None) -> PluginSpec:
    module, _, name = place.partition(":")
    params, behind = (_REFERENCE_PARAMS, _REFERENCE_BEHIND.get(kind)) if given is None else (given, None)
    return PluginSpec(text, kind, module, name, params, (str(_TREE),), real=kind == "plugin", behind=behind)


def _mutant(text: str, name: str, asked: Kind | None, given: dict[str, Any] | None) -> PluginSpec:
    from harness.mutants.mutant import find_plugin_mutant

    found = find_plugin_mutant(name)
    kind = next(one for one in KINDS if one == found.kind)
    _only(text, asked, kind)
    return _ours(text, kind, found.place, given)
