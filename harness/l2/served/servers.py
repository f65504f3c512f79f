"""The real servers that have the plugin under test: one for each release, started on first use, ended together."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from fixturegen.environment import PinnedEnvironment, open_environment
from fixturegen.errors import CaptureError, EnvironmentUnavailable
from fixturegen.mp.launch import NO_DATA_PATH, Launch, import_root
from fixturegen.mp.server import tail
from harness.failure import TargetUnavailable
from harness.l2.served.server import OF_LMCACHE, PluginPlace, ServedPlugin, served
from harness.l2.spec import PluginSpec
from wire.release import Release

AGAIN: Final = 2.0
"""Seconds that a server gets to come to rest after a case, before it is started again for the next one."""


class PluginRefused(Exception):
    """A server does not start with the plugin, and starts without it; the message ends with its log."""


@dataclass
class PluginServers:
    """Servers by release; a case finds one that answers and has nothing to do."""

    spec: PluginSpec
    new_folder: Callable[[], Path]
    backend: str | None = None
    """The address of the plugin's backend."""
    runtime: str = "venv"
    _stacks: dict[Release, contextlib.ExitStack] = field(default_factory=dict)
    _running: dict[Release, ServedPlugin] = field(default_factory=dict)
    _failed: dict[Release, Exception] = field(default_factory=dict)
    _environment: PinnedEnvironment | None = None

    def get(self, release: Release) -> ServedPlugin:
        """The server of a release, started again where the last case left it without an answer, or busy.

        Raises:
            TargetUnavailable: there is none, with or without the plugin.
            PluginRefused: there is none with the plugin.
        """
        if release in self._failed:
            raise self._failed[release]
        running = self._running.get(release)
        if running is not None and not _fit(running):
            self.end(release)
        if release not in self._running:
            try:
                self._running[release] = self._start(release)
            except (TargetUnavailable, PluginRefused) as failure:
                self._failed[release] = failure
                raise
        return self._running[release]

    def end(self, release: Release) -> None:
        """End one; what it stored stays."""
        self._running.pop(release, None)
        stack = self._stacks.pop(release, None)
        if stack is not None:
            stack.close()

    def close(self) -> None:
        """End all of them."""
        for release in list(self._stacks):
            self.end(release)

    @property
    def said(self) -> str:
        """The ends of the logs of those that run."""
        return "".join(tail(one.server.log) for one in self._running.values())

    def _start(self, release: Release) -> ServedPlugin:
        if NO_DATA_PATH[release] is not None:
            raise TargetUnavailable(f"no live server of lmcache {release} can use a plugin: {NO_DATA_PATH[release]}")
        folder = self.new_folder()
        place = _place(self.spec, folder, self.backend)
        stack = self._stacks[release] = contextlib.ExitStack()
        try:
            if self._environment is None:
                self._environment = open_environment(self.runtime)
            self._environment.prepare(release)
            imports = () if self.spec.module == OF_LMCACHE else (_root(self.spec),)
        except (EnvironmentUnavailable, CaptureError) as error:
            raise TargetUnavailable(
                f"no live server of lmcache {release}: {error}; without live in --target none is needed"
            ) from None
        try:
            return stack.enter_context(served(self._environment, release, place, folder, imports=imports))
        except EnvironmentUnavailable as error:
            self._without_plugin(self._environment, release)
            raise PluginRefused(str(error)) from None

    @staticmethod
    def _without_plugin(environment: PinnedEnvironment, release: Release) -> None:
        try:
            with environment.mp_server(release, Launch()):
                return
        except EnvironmentUnavailable as error:
            raise TargetUnavailable(
                f"no live server of lmcache {release}, not even without the plugin: {error}; "
                "without live in --target none is needed"
            ) from None


def _fit(running: ServedPlugin) -> bool:
    try:
        return running.server.alive() and running.idle(AGAIN)
    except EnvironmentUnavailable:
        return False


def _root(spec: PluginSpec) -> Path:
    return Path(spec.module) if spec.module.endswith(".py") else import_root(spec.module, spec.paths)


def _place(spec: PluginSpec, folder: Path, backend: str | None) -> PluginPlace:
    module = Path(spec.module).stem if spec.module.endswith(".py") else spec.module
    return PluginPlace(spec.kind, module, spec.class_name, spec.params_for(folder, backend))
