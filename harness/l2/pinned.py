"""Plugins that need the real lmcache: the same specification with the interpreter and the modules of a release."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from fixturegen.environment import PROBES
from fixturegen.errors import EnvironmentUnavailable
from fixturegen.venv import VenvEnvironment
from harness.client import ClientUnavailable
from harness.l2.interface import interface_of
from harness.l2.spec import PluginSpec
from wire.release import Release, ReleaseRange

PARTS: Final = PROBES / "l2"
"""Modules that touch lmcache, for the pinned interpreter."""
ADAPTERS: Final = ReleaseRange.parse("0.4.2 and later")
"""Releases that load adapters of kind ``plugin``."""


def at_release(spec: PluginSpec, release: Release) -> PluginSpec:
    """A plugin as it is opened in a release; one that needs no lmcache stays as it is.

    Raises:
        ClientUnavailable: the release has no such plugins, or its environment cannot be made.
    """
    if not spec.real:
        return spec
    if release not in ADAPTERS:
        raise ClientUnavailable(f"plugin {spec.text}: lmcache {release} has no adapters of type plugin; {ADAPTERS} have")
    try:
        python, variables = VenvEnvironment().interpreter(release)
    except EnvironmentUnavailable as error:
        raise ClientUnavailable(f"plugin {spec.text} needs the real lmcache {release}: {error}") from error
    options = {"lmcache": str(PARTS), "interface": interface_of(release)}
    return replace(spec, python=python, environment=variables, options=options)
