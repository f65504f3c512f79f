"""The storage plugin that a run judges: what it is and has, and instances of it for cases."""

from __future__ import annotations

import contextlib
import itertools
import tempfile
import textwrap
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import ClassVar, Final

from fixturegen import leash
from harness.backend import REFERENCE, Backend, BackendPlace, parse_backend
from harness.client import Budget, ClientCrash, ClientFailure, ClientHang, ClientUnavailable, Description
from harness.judged import SubjectOptions
from harness.l2.host.adapter import BUILTIN
from harness.l2.host_process import HostProcess, PluginRaised
from harness.l2.pinned import at_release
from harness.l2.plugin_process import Plugin, Watch
from harness.l2.served.servers import PluginServers
from harness.l2.shipped import SHIPPED
from harness.l2.spec import PluginSpec, parse_plugin
from harness.patience import START, Patience
from harness.usage import UsageError
from wire.release import Release

UNKNOWN_VERSION: Final = "unknown"


def open_plugin(options: SubjectOptions) -> PluginSession:
    """The plugin that the command line names; seen first in the newest of the releases that it is judged for.

    Raises:
        UsageError, ClientFailure: the options make no sense, or it cannot be made; the message says why.
    """
    spec = parse_plugin(options.spec, options.kind, options.params)
    asked = options.backend if options.backend is not None else _backend_of(spec)
    backend = parse_backend(asked) if asked is not None else None
    if backend is None and spec.behind is not None:
        backend = parse_backend(REFERENCE)
    elif backend is not None and not spec.names_backend:
        raise UsageError(
            f"--backend {options.backend} is of no use: no parameter of {spec.text} holds {{backend}}, where its address goes"
        )
    return PluginSession(spec, release=max(options.releases), budget=options.budget, backend=backend)


def _backend_of(spec: PluginSpec) -> str | None:
    """What is started for an adapter of lmcache that wants a backend, where the command line names none."""
    shipped = SHIPPED.get(spec.class_name) if spec.module == BUILTIN else None
    return shipped.backend if shipped is not None and spec.names_backend else None


class PluginSession(Watch):
    """What stands in the place of a client's session in a run that judges a plugin.

    Making one opens the plugin once, to see what it has.

    Raises:
        ClientUnavailable: the class cannot be imported or made; the message says why.
        ClientFailure: it hangs or dies over that.
    """

    has_process: ClassVar[bool] = True
    exit_status: int | None = None

    def __init__(
        self, spec: PluginSpec, *, release: Release, budget: Budget | None = None, backend: BackendPlace | None = None
    ) -> None:
        if spec.names_backend and backend is None:
            raise ClientUnavailable(
                f"the parameters of {spec.text} name {{backend}}, and there is none; give --backend MODULE:CLASS"
            )
        self.spec = spec
        self.release = release
        self.budget = budget or Budget()
        self.patience = Patience(self.budget.call, self.budget.start)
        self._place = backend
        self._backend: Backend | None = None
        self._folders = Path(tempfile.gettempdir()) / f"lmconform-l2-{leash.Leash().mark.replace('.', '-')}"
        leash.keep_directory(self._folders)
        self._folders.mkdir(mode=0o700)
        self._names = itertools.count(1)
        self._processes: list[HostProcess] = []
        self._servers: PluginServers | None = None
        self._serving = False
        self._said = ""
        try:
            self.description = self._describe()
        except BaseException:
            self.stop()
            raise

    @property
    def stderr(self) -> str:
        """The end of what the plugins of this case wrote to standard output and error."""
        servers = self._servers.said if self._servers is not None and self._serving else ""
        return self._said + "".join(process.stderr for process in self._processes) + servers

    def mark(self) -> None:
        """Begin a new case: end what is left of the one before, and empty a backend that can be emptied."""
        self.end_plugins()
        if self._backend is not None:
            self._backend.clear()
        self._said = ""
        self._serving = False

    def use(self, release: Release) -> None:
        """Open plugins as they are in a release of lmcache from now on."""
        self.release = release

    @property
    def resolved(self) -> PluginSpec:
        """The plugin as it is opened in the release of the case.

        Raises:
            ClientUnavailable: the environment of that release cannot be made.
        """
        return at_release(self.spec, self.release)

    def require(self, operations: Iterable[str]) -> None:
        """Find out before a case begins whether the plugin may still be asked.

        Raises:
            NotAsked: it failed too often before.
        """
        self.patience.require(operations)

    def open(self, folder: Path | None = None, spec: PluginSpec | None = None) -> Plugin:
        """An instance in a process of its own, in a new folder unless one is given.

        Raises:
            ClientFailure: it cannot be made.
        """
        began = time.monotonic()
        chosen = spec or self.spec
        try:
            process = HostProcess(at_release(chosen, self.release), self.budget)
            plugin = Plugin(process, folder or self.new_folder(), self._address_for(chosen), watch=self)
        except ClientFailure as failure:
            self.patience.failed(START, failure, time.monotonic() - began)
            raise
        self.patience.answered(START)
        return plugin

    def open_behind_backend(self) -> Plugin:
        """An instance that keeps its objects behind the backend; the case needs ``backend``.

        Raises:
            ClientFailure: it cannot be made.
            LookupError: there is no backend.
        """
        chosen = self.spec.behind_backend
        if chosen is None:
            raise LookupError(f"{self.spec.text} has no backend")
        return self.open(spec=chosen)

    def servers(self, runtime: str) -> PluginServers:
        """Real servers that have the plugin, each started on first use; this case is about one of them."""
        self._serving = True
        if self._servers is None:
            self._servers = PluginServers(self.spec, self.new_folder, self.backend_address, runtime)
        return self._servers

    def new_folder(self) -> Path:
        """An empty folder, removed with the session."""
        folder = self._folders / str(next(self._names))
        folder.mkdir()
        return folder

    @property
    def backend_address(self) -> str | None:
        """Where the backend is, which is started if need be; None without one, or where the parameters do not name it."""
        return self._address_for(self.spec)

    def _address_for(self, spec: PluginSpec) -> str | None:
        return self.backend.address if self._place is not None and spec.names_backend else None

    @property
    def backend(self) -> Backend:
        """The backend, started on first use; whoever disturbs it puts it right again.

        Raises:
            LookupError: there is none.
        """
        if self._place is None:
            raise LookupError("no backend was given")
        if self._backend is None:
            self._backend = Backend(self._place)
        return self._backend

    def end_plugins(self) -> None:
        """End every process of a plugin that still runs."""
        while self._processes:
            process = self._processes.pop()
            process.kill()
            self._said = process.stderr + self._said
            process.discard()

    def stop(self) -> None:
        """End everything; never raises."""
        self.end_plugins()
        if self._servers is not None:
            self._servers.close()
            self._servers = None
        if self._backend is not None:
            self._backend.end()
            self._backend = None
        leash.remove_directory(self._folders)

    @contextlib.contextmanager
    def asked(self, op: str) -> Iterator[None]:
        """Counts failures: a plugin that always hangs is not asked a hundred times."""
        self.patience.require([op])
        began = time.monotonic()
        try:
            yield
        except PluginRaised:
            raise  # it costs no time, and each tells something
        except ClientFailure as failure:
            self.patience.failed(op, failure, time.monotonic() - began)
            raise
        self.patience.answered(op)

    def process(self, process: HostProcess) -> None:
        """Keep it, to end it with the case."""
        if process not in self._processes:
            self._processes.append(process)

    def _describe(self) -> Description:
        process = HostProcess(at_release(self.spec, self.release), self.budget)
        try:
            plugin = Plugin(process, self.new_folder(), self.backend_address, watch=self)
            has = [self.spec.kind, *plugin.offers]
            if self.spec.names_folder:
                has.append("folder")
            if self._place is not None and self.spec.behind_backend is not None:
                has.append("backend")
            if plugin.durability == "power":
                has.append("survives-power")
        except PluginRaised as failure:
            hint = "" if self.spec.params else "; --params gives it parameters"
            raise ClientUnavailable(f"plugin {self.spec.text}: {failure}{hint}", stderr=failure.stderr) from None
        except (ClientHang, ClientCrash) as failure:
            said = textwrap.indent(failure.stderr.strip(), "  ")
            raise type(failure)(f"plugin {self.spec.text}: {failure}\n{said}".rstrip(), stderr=failure.stderr) from None
        finally:
            self.end_plugins()
        return Description(
            name=self.spec.class_name,
            version=process.about.get("version") or UNKNOWN_VERSION,
            language="python",
            operations=tuple(has),
            releases=("*",),
        )
