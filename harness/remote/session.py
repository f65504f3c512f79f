"""The connector that a run judges: the hosts of its releases, and connectors for cases."""

from __future__ import annotations

import atexit
import functools
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Final

import harness
from fixturegen import leash
from fixturegen.environment import CONNECTOR_HOST
from fixturegen.errors import EnvironmentUnavailable
from harness.backend import Backend, BackendPlace, parse_backend
from harness.client import Budget, ClientFailure, ClientUnavailable, Description
from harness.failure import TargetUnavailable, UnsupportedByClient
from harness.judged import SubjectOptions
from harness.patience import START, Patience
from harness.remote.chunks import STANDARD, Layout
from harness.remote.connector import Connector
from harness.remote.contract import FORMS, Form
from harness.remote.host_process import ConnectorRefused, Host
from harness.remote.spec import ConnectorSpec, parse_connector
from harness.usage import UsageError
from wire.release import Release

UNKNOWN_VERSION: Final = "unknown"
REFERENCE_BACKEND: Final = BackendPlace("reference", "harness.reference.remote.store", "StoreBackend")
"""What the reference connector stores behind, unless another is given."""
POOL: Final = 32 << 20
"""Bytes of the engine's memory, unless a case asks for more."""
MOST_HOSTS: Final = 2
"""So many of a process live at once; each holds a quarter of a gigabyte."""
HOST_START: Final = 120.0
"""Seconds that the real lmcache may take to load; usually it is three."""
_LOOK: Final = 0.1
TIMEOUT: Final = 2.0
"""``blocking_timeout_secs`` of the engine: how long ``RemoteBackend`` waits for a get."""


class Hosts:
    """Programs with the real lmcache of a release, started on first use and shared by all connectors of this process."""

    def __init__(self) -> None:
        self._running: dict[Release, Host] = {}
        self.folders = Path(tempfile.gettempdir()) / f"lmconform-remote-{leash.Leash().mark.replace('.', '-')}"
        leash.keep_directory(self.folders)
        self.folders.mkdir(mode=0o700)

    def get(self, release: Release) -> Host:
        """The host of a release.

        Raises:
            ClientUnavailable: it does not start.
            EnvironmentUnavailable: the pinned environment cannot be made.
        """
        host = self._running.pop(release, None)
        if host is None or not host.usable:
            while len(self._running) >= MOST_HOSTS:
                self._running.pop(next(iter(self._running))).stop()
            from fixturegen.venv import VenvEnvironment

            python, variables = VenvEnvironment().interpreter(release)
            own = os.environ.get("PYTHONPATH")
            if own:
                variables = {**variables, "PYTHONPATH": os.pathsep.join((variables["PYTHONPATH"], own))}
            folder = Path(tempfile.mkdtemp(prefix=f"host-{release}-", dir=self.folders))
            host = Host([python, str(CONNECTOR_HOST)], variables, folder, patience=HOST_START)
        self._running[release] = host  # the last one is the one that was used last
        return host

    def stop(self) -> None:
        """End all; never raises."""
        while self._running:
            self._running.popitem()[1].stop()
        leash.remove_directory(self.folders)


class ConnectorMissing(ClientUnavailable):
    """The class that was named cannot be imported."""


class ConnectorSession:
    """What stands in the place of a client's session in a run that judges a connector."""

    has_process: ClassVar[bool] = True
    exit_status: int | None = None

    def __init__(
        self,
        spec: ConnectorSpec,
        *,
        budget: Budget | None = None,
        backend: BackendPlace | None = None,
        hosts: Hosts | None = None,
    ) -> None:
        self.spec = spec
        self.budget = budget or Budget()
        self.patience = Patience(self.budget.call, self.budget.start)
        self._hosts = hosts or _hosts_of_this_process()
        self._place = backend
        self._backend: Backend | None = None
        self._current: Host | None = None
        if spec.names_backend and backend is None:
            raise ClientUnavailable(f"{spec.text} stores behind {{backend}}, and there is none; give --backend MODULE:CLASS")
        self.description = Description(
            name=spec.class_name or spec.text, version=UNKNOWN_VERSION, language="Python", operations=(), releases=()
        )

    @property
    def stderr(self) -> str:
        """What lmcache and the connectors of this case wrote to standard output and error."""
        return self._current.stderr if self._current is not None else ""

    def mark(self) -> None:
        """Begin a new case: end what is left of the one before."""
        if self._current is not None:
            self._current.leave()
            self._current.mark()

    def require(self, operations: Iterable[str]) -> None:
        """Find out before a case begins whether the connector may still be asked.

        Raises:
            NotAsked: it failed too often before.
        """
        self.patience.require(operations)

    @property
    def backend(self) -> Backend:
        """The backend, started on first use; whoever disturbs it puts it right again.

        Raises:
            UnsupportedByClient: there is none.
            ClientUnavailable: it does not start.
        """
        if self._place is None or self.spec.behind_backend is None:
            raise UnsupportedByClient("backend", "no --backend was given that its parameters name by {backend}")
        if self._backend is None:
            self._backend = Backend(self._place)
        return self._backend

    def new_folder(self) -> Path:
        """An empty folder, removed with the session."""
        return Path(tempfile.mkdtemp(prefix="data-", dir=self._hosts.folders))

    def open(
        self,
        release: Release,
        folder: Path,
        *,
        layout: Layout = STANDARD,
        pool: int = POOL,
        form: Form | None = None,
        extra_config: Mapping[str, Any] | None = None,
        config: Mapping[str, Any] | None = None,
        behind: bool = False,
    ) -> Connector:
        """A connector in an engine of its own, which stores ``behind`` the backend if asked; the one before it is left, as it is.

        Raises:
            ClientUnavailable: lmcache cannot make it; the message says why.
            ClientFailure: it hung or died over that.
            UsageError: the release cannot load it at all.
        """
        try:
            host = self._hosts.get(release)
        except EnvironmentUnavailable as error:
            raise TargetUnavailable(f"there is no lmcache {release} to open connectors in: {error}") from None
        host.leave()
        self._current = host
        spec = self.spec.behind_backend if behind else self.spec
        assert spec is not None, "a case that asks for the backend goes on only where there is one"
        job = spec.job(release, folder, self.backend.address if spec.names_backend else None)
        if form is not None:
            job["form"] = form
        job["path"] = [self._linked(place) for place in job["path"]]
        job["extra_config"] = {**job["extra_config"], **(extra_config or {})}
        job |= {"layout": layout.to_json(), "pool": pool, "config": {"blocking_timeout_secs": TIMEOUT, **(config or {})}}
        began = time.monotonic()
        try:
            about = host.open(job, self.budget.start)
        except ConnectorRefused as refused:
            kind = ConnectorMissing if refused.missing else ClientUnavailable
            failure = kind(f"lmcache {release} cannot make the connector: {refused}", stderr=host.stderr)
            self.patience.failed(START, failure, time.monotonic() - began)
            raise failure from None
        except ClientFailure as failure:
            self.patience.failed(START, failure, time.monotonic() - began)
            raise
        self.patience.answered(START)
        return Connector(host, release, about, self.budget, self.patience)

    def end_case(self) -> None:
        """Leave what is open."""
        if self._current is not None:
            self._current.leave()

    def stop(self) -> None:
        """Leave what is open; never raises. The hosts stay, for the next connector that is judged here."""
        self.end_case()
        if self._backend is not None:
            self._backend.end()
            self._backend = None

    def _linked(self, place: str) -> str:
        """A folder that holds this package and nothing beside it: what else is installed here is for another interpreter."""
        package = Path(harness.__file__).resolve().parent
        if Path(place) != package.parent:
            return place
        folder = self._hosts.folders / "own"
        folder.mkdir(exist_ok=True)
        link = folder / package.name
        if not link.is_symlink():
            link.symlink_to(package)
        return str(folder)


def open_connector(options: SubjectOptions) -> ConnectorSession:
    """The connector that a run judges, opened once in the newest release to see whether there is one.

    Raises:
        UsageError: what names it makes no sense, or a release cannot load it.
        ClientFailure: its class cannot be imported, or there is no backend; the message is for the user. That lmcache cannot
            make it is for the cases to tell.
        TargetUnavailable: the real lmcache cannot be had.
    """
    spec = parse_connector(options.spec, options.params, options.url)
    for release in options.releases:
        spec.form(release)
    session = ConnectorSession(spec, budget=options.budget, backend=_backend_of(spec, options.backend))
    try:
        session.open(max(options.releases), session.new_folder())
    except ClientFailure as failure:
        if isinstance(failure, ConnectorMissing):
            session.stop()
            raise
    except BaseException:
        session.stop()
        raise
    session.mark()
    return session


def _backend_of(spec: ConnectorSpec, asked: str | None) -> BackendPlace | None:
    """What runs behind a connector.

    Raises:
        UsageError: the connector would never hear of it.
    """
    if asked is None:
        return REFERENCE_BACKEND if spec.behind is not None else None
    if not spec.names_backend:
        raise UsageError(
            f"--backend {asked} is of no use: no parameter of {spec.text} holds {{backend}}, where its address goes; "
            "write it into --params or --url"
        )
    return parse_backend(asked)


@functools.cache
def _hosts_of_this_process() -> Hosts:
    hosts = Hosts()
    atexit.register(hosts.stop)
    return hosts


class Connectors:
    """Opens connectors for one case, all in the same folder: what one stored, the next one should find."""

    def __init__(self, session: ConnectorSession, release: Release) -> None:
        self.session = session
        self.release = release
        self.folder = session.new_folder()

    def open(self, **options: Any) -> Connector:
        """Another one, in an engine of its own; options as of :meth:`ConnectorSession.open`."""
        return self.session.open(self.release, self.folder, **options)

    def need_storage(self) -> None:
        """Go on only where the connector keeps what it stored when its process ends.

        Raises:
            UnsupportedByClient: nobody says so.
        """
        if not (self.session.spec.names_folder or self.session.spec.names_backend):
            raise UnsupportedByClient("storage", "its parameters name neither {dir} nor {backend}, so nothing need outlive it")

    def need_folder(self) -> None:
        """Go on only where it stores in the folder that the harness gave it.

        Raises:
            UnsupportedByClient: it does not say so.
        """
        if not self.session.spec.names_folder:
            raise UnsupportedByClient("folder", "its parameters do not name {dir}")

    def need_form(self, form: Form) -> None:
        """Go on only where the release can load a class in this form.

        Raises:
            UnsupportedByClient: it cannot, or the connector is no class of its own.
        """
        if form not in FORMS[self.release]:
            raise UnsupportedByClient(form, f"lmcache {self.release} has no such form")
        if self.session.spec.url is not None or not self.session.spec.module:
            raise UnsupportedByClient(form, "the connector is named by a URL")

    def open_behind(self, **options: Any) -> Connector:
        """One that stores behind the backend, which :attr:`backend` gave."""
        return self.session.open(self.release, self.folder, behind=True, **options)

    @property
    def backend(self) -> Backend:
        """What runs behind the connector.

        Raises:
            UnsupportedByClient: nothing that the harness could stop.
        """
        return self.session.backend

    def need_backend(self, ability: str) -> Backend:
        """The same, where it can also do this.

        Raises:
            UnsupportedByClient: it cannot.
        """
        if not self.backend.can(ability):
            raise UnsupportedByClient("backend", f"the backend has no method {ability}")
        return self.backend

    def files(self) -> list[Path]:
        """Every file in the folder that has bytes."""
        return sorted(path for path in self.folder.rglob("*") if path.is_file() and path.stat().st_size)

    def replace_folder_by_a_file(self) -> None:
        """Take the storage away: nothing can be read or written at its path, whoever asks."""
        self.folder.rename(self.folder.with_suffix(".away"))
        self.folder.write_bytes(b"")

    def bring_folder_back(self) -> None:
        """Undo that."""
        self.folder.unlink()
        self.folder.with_suffix(".away").rename(self.folder)

    @staticmethod
    def wait(seconds: float) -> None:
        """Let the engine work for a moment."""
        time.sleep(seconds)

    @staticmethod
    def wait_until(condition: Callable[[], bool], seconds: float) -> None:
        """Ask until something is so, or so many seconds have passed."""
        until = time.monotonic() + seconds
        while not condition() and time.monotonic() < until:
            time.sleep(_LOOK)
