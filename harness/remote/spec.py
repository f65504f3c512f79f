"""Which connector is judged, as users write it: ``reference``, ``mutant:NAME``, ``lmcache:fs``, ``module:Class``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from harness.named_class import parse_class, parse_params
from harness.placeholders import BACKEND, FOLDER, filled, names_backend, names_folder
from harness.remote.contract import FORMS, Form
from harness.usage import UsageError
from wire.release import Release

REFERENCE: Final = "reference"
WORDS: Final = "reference, mutant:NAME, lmcache:fs and the like"
"""Besides a class of the user."""
PLUGIN_NAME: Final = "lmconform"
"""Under which name a class stands in ``remote_storage_plugins``; its settings are ``remote_storage_plugin.lmconform.SETTING``."""
EXTRA_CONFIG: Final = "extra_config"
"""The member of ``--params`` that goes into lmcache's ``extra_config`` as it is."""

_TREE: Final = Path(__file__).resolve().parents[2]
_REFERENCE_CLASS: Final = ("harness.reference.remote.connector", "FileConnector")
_REFERENCE_PARAMS: Final[Mapping[str, Any]] = {"folder": FOLDER}
_REFERENCE_BEHIND: Final[Mapping[str, Any]] = {"store": BACKEND}


@dataclass(frozen=True)
class ConnectorSpec:
    """A connector that can be opened in the lmcache of a release."""

    text: str
    """As the user wrote it."""
    module: str = ""
    class_name: str = ""
    url: str | None = None
    """What stands in ``remote_url``; then the class, if any, is the ``ConnectorAdapter`` that understands it."""
    name: str = PLUGIN_NAME
    """The name of the plugin."""
    params: Mapping[str, Any] = field(default_factory=dict)
    extra_config: Mapping[str, Any] = field(default_factory=dict)
    path: tuple[str, ...] = ()
    """Folders where the module is looked for."""
    built_in: bool = False
    """lmcache brings it along."""
    behind: Mapping[str, Any] | None = None
    """Parameters with which it stores behind a backend, where its own do not."""

    def form(self, release: Release) -> Form:
        """How the config of a release names it.

        Raises:
            UsageError: that release has no such form.
        """
        if self.url is not None:
            chosen: Form = "adapter" if self.module else "url"
        elif self.built_in:
            chosen = "builtin"
        else:
            chosen = "plugin" if "plugin" in FORMS[release] else "external"
        if chosen not in FORMS[release]:
            raise UsageError(f"lmcache {release} cannot load {self.text}: it has no {chosen} form of a remote connector")
        return chosen

    @property
    def names_folder(self) -> bool:
        """Whether it stores in a folder of the harness."""
        return names_folder((self.params, self.extra_config, self.url))

    @property
    def names_backend(self) -> bool:
        """Whether it wants the address of a backend."""
        return names_backend((self.params, self.extra_config, self.url))

    @property
    def behind_backend(self) -> ConnectorSpec | None:
        """The connector with its objects behind a backend; None if it has none."""
        if self.names_backend:
            return self
        return None if self.behind is None else replace(self, params=self.behind, behind=None)

    def job(self, release: Release, folder: Path, backend: str | None) -> dict[str, Any]:
        """What the host is told, with the folder and the address filled in."""
        members = {
            "form": self.form(release),
            "name": self.name,
            "module": self.module,
            "class": self.class_name,
            "url": self.url,
            "params": dict(self.params),
            "extra_config": dict(self.extra_config),
        }
        found: dict[str, Any] = filled(members, folder, backend)
        return {**found, "path": list(self.path)}


def parse_connector(text: str, params: str | None = None, url: str | None = None) -> ConnectorSpec:
    """What a user wrote; ``params`` is JSON, ``url`` stands in ``remote_url``.

    Raises:
        UsageError: it names no connector, or the parameters are no JSON object.
    """
    given = _parse_settings(params)
    word, _, rest = text.strip().partition(":")
    if text.strip() == REFERENCE:
        return _ours(ConnectorSpec(text, *_REFERENCE_CLASS, path=(str(_TREE),)), given, url)
    if word == "mutant":
        return _ours(_mutant(text, rest), given, url)
    if word == "lmcache":
        return _with(_built_in(text, rest, url), given, url)
    named = parse_class(text, "connector", WORDS)
    module, place = (named.module or "", Path.cwd()) if named.file is None else (named.file.stem, named.file.parent)
    return _with(ConnectorSpec(text, module, named.name, path=(str(place),)), given, url)


def _ours(spec: ConnectorSpec, given: Mapping[str, Any] | None, url: str | None) -> ConnectorSpec:
    if given is None:
        spec = replace(spec, params=_REFERENCE_PARAMS, behind=_REFERENCE_BEHIND)
    return _with(spec, given, url)


def _with(spec: ConnectorSpec, given: Mapping[str, Any] | None, url: str | None) -> ConnectorSpec:
    found = dict(given if given is not None else spec.params)
    extra = {**spec.extra_config, **found.pop(EXTRA_CONFIG, {})}
    name = str(found.pop("name", spec.name))
    return replace(spec, params=found, extra_config=extra, name=name, url=url if url is not None else spec.url)


def _parse_settings(text: str | None) -> dict[str, Any] | None:
    found = parse_params(text)
    if found is not None and not isinstance(found.get(EXTRA_CONFIG, {}), dict):
        raise UsageError(f"--params must be a JSON object of settings, and its member {EXTRA_CONFIG}, if any, an object too")
    return found


def _built_in(text: str, name: str, url: str | None) -> ConnectorSpec:
    from harness.remote.builtin import BUILT_IN

    if name in BUILT_IN:
        return replace(BUILT_IN[name], text=text)
    if url is None:
        known = ", ".join(f"lmcache:{one}" for one in sorted(BUILT_IN))
        raise UsageError(f"{text!r} is no connector that is known here; write one of: {known}, or add --url")
    return ConnectorSpec(text, url=url)


def _mutant(text: str, name: str) -> ConnectorSpec:
    from harness.mutants.mutant import find_connector_mutant

    module, _, class_name = find_connector_mutant(name).place.partition(":")
    return ConnectorSpec(text, module, class_name, path=(str(_TREE),))
