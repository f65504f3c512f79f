"""The pinned environment as a container: one image per lmcache release, made from ``Dockerfile.lmcache``.

Images are built by the ``docker`` command, because the SDK only knows the old builder; everything else goes
through the SDK. Nothing that runs in a container can reach a network, except the servers that are asked for.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import fcntl
import hashlib
import json
import logging
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, Self

import docker
import platformdirs
import requests
from docker.errors import APIError, DockerException, ImageNotFound, NotFound
from docker.models.containers import Container
from docker.types import LogConfig
from docker.types import Mount as EngineMount

from fixturegen.errors import EnvironmentUnavailable

STUBS = "/opt/lmcache-stubs"
"""Where a directory of stand-ins for missing modules is mounted; it comes first on the import path."""

SERVER = ("python3", "-m", "lmcache.v1.server", "{host}", "{port}")
"""The real ``lm://`` server. ``{host}`` and ``{port}`` are filled in when it starts."""

Network = Literal["host", "published"]

_log = logging.getLogger(__name__)

_REPOSITORY = "lmconform/lmcache"
_OWNER_LABEL = "lmconform.owner"
_PYTHON = "3.11"
_NEWEST_GLIBC = 36  # minor number of glibc 2.x in Debian 12, the older of the two bases in use
_ARCHITECTURES = {"x86_64": "x86_64", "amd64": "x86_64", "aarch64": "aarch64", "arm64": "aarch64"}
_PUBLISHED_PORT = 8100
_STDIN = "/run/stdin"
_START_ATTEMPTS = 3
_LISTEN = "0A"

_DOWNLOAD_SECONDS = 1200
_BUILD_SECONDS = 1800
_ENGINE_SECONDS = 60
_TAIL_LINES = 15

_TORCH_HINT = (
    "the CPU builds of PyTorch have a package index of their own; PyTorch's install page names it. "
    "Set PIP_EXTRA_INDEX_URL to it and try again"
)
_BUILDKIT_HINT = "this docker command has no BuildKit: install its buildx plugin, or put one that has it first on PATH"
_NO_ENGINE_HINT = "start one, set DOCKER_HOST, or run the command through .ci/with-docker-engine"


@dataclasses.dataclass(frozen=True)
class Mount:
    """A file or directory of this machine that a container sees at ``target``."""

    source: Path
    target: str
    writable: bool = False


@dataclasses.dataclass(frozen=True)
class Image:
    """An image of one release.

    ``image_id`` is the engine's ``sha256:`` id; it differs between builds, as layers carry times. What makes
    two builds the same is ``reference``: its tag is derived from everything that goes into the image.
    ``base_digests`` name the base image in a registry; a base that was made here has none.
    """

    release: str
    reference: str
    image_id: str
    base: str
    base_digests: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class CompletedRun:
    """What a program in a container wrote, and its exit status."""

    stdout: str
    stderr: str
    code: int


@dataclasses.dataclass(frozen=True)
class Description:
    """An image together with what a script, run in it, had to say in JSON."""

    image: Image
    answer: object


class RunningServer:
    """A server in a container, reachable at ``host`` and ``port`` from this machine."""

    def __init__(self, container: Container, image: Image, port: int) -> None:
        self.host = "127.0.0.1"
        self.port = port
        self.image = image
        self._container = container

    def alive(self) -> bool:
        """Whether the server process still runs."""
        with _engine_trouble("look after a server"):
            self._container.reload()
            return self._container.status == "running"

    def logs(self) -> str:
        """Everything the server wrote so far, both streams."""
        with _engine_trouble("read the log of a server"):
            return _text(self._container.logs())


class ContainerRuntime:
    """Runs releases of lmcache in containers of one engine.

    The engine is the one ``DOCKER_HOST`` names, else that of the docker command's current context.
    Images and downloaded wheels are reused; containers never outlive the call that started them, and those of
    a process that was killed are removed by the next runtime on the same machine.

    Args:
        dockerfile: default: ``Dockerfile.lmcache`` of this distribution.
        requirements: text of a requirements file, with what every release imports, every line pinned.
            Default: ``requirements/base.txt``.
        cache: where wheels are kept, in a folder ``containers`` of it. Default: the user's cache directory.
        release_wheel: gives the wheel of a release. Default: it is downloaded.
        pip_arguments: further arguments of ``pip download``, such as an extra index.
        offline: build and download nothing; an image that is not there is unavailable.
        base_image: what to build from in place of the Dockerfile's default.
        memory: limit of a container, as docker writes it. Swap is not given on top.
        pids: limit of processes and threads of a container.

    Raises:
        EnvironmentUnavailable: no engine answers.
    """

    def __init__(
        self,
        *,
        dockerfile: Path | None = None,
        requirements: str | None = None,
        cache: Path | None = None,
        release_wheel: Callable[[str], Path] | None = None,
        pip_arguments: Sequence[str] = (),
        offline: bool = False,
        base_image: str | None = None,
        memory: str = "4g",
        pids: int = 512,
    ) -> None:
        here = Path(__file__).resolve().parent
        packaged, in_tree = here / "Dockerfile.lmcache", here.parent / "Dockerfile.lmcache"
        self._dockerfile = dockerfile or (packaged if packaged.exists() else in_tree)
        self._requirements = requirements or _read(here / "requirements" / "base.txt")
        self._cache = (cache or platformdirs.user_cache_path("lmcache-conformance")) / "containers"
        self._release_wheel = release_wheel
        self._pip_arguments = tuple(pip_arguments)
        self._offline = offline
        self._base = base_image or _default_base(_read(self._dockerfile))
        self._memory = memory
        self._pids = pids
        self._images: dict[str, Image] = {}
        self._engine_url = _engine_url()
        self._engine = _connect(self._engine_url)
        try:
            with _engine_trouble("ask the engine about itself"):
                info = self._engine.info()
            self._architecture = _architecture(str(info.get("Architecture", "")))
            self._rootless = any("rootless" in str(option) for option in info.get("SecurityOptions") or ())
            self._shares_loopback = (
                sys.platform == "linux"
                and not self._rootless
                and self._engine_url.startswith("unix://")
                and "Desktop" not in str(info.get("OperatingSystem", ""))
            )
            self._remove_orphans()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Drop the connection to the engine. Images stay."""
        self._engine.close()

    def image(self, release: str) -> Image:
        """The image of a release; built when the engine has none that was made from the same things.

        Raises:
            EnvironmentUnavailable: wheels could not be downloaded, or the build failed.
        """
        if release not in self._images:
            if not re.fullmatch(r"[0-9A-Za-z.!+_-]+", release):
                raise EnvironmentUnavailable(f"{release!r} is not a release of lmcache; give one such as 0.5.6")
            reference = self._reference(release)
            with _locked(self._cache / f"{reference.rpartition(':')[2]}.lock"):
                if not self._has_image(reference):
                    if self._offline:
                        raise EnvironmentUnavailable(f"there is no image {reference} yet, and nothing may be built offline")
                    self._build(release, reference)
            self._images[release] = self._inspect(release, reference)
        return self._images[release]

    def run(
        self,
        release: str,
        argv: Sequence[str],
        *,
        mounts: Sequence[Mount] = (),
        env: Mapping[str, str] | None = None,
        stdin: str | None = None,
        timeout: float = 300,
    ) -> CompletedRun:
        """Run a program in the image of a release, without any network.

        It runs as the user who calls, in ``/tmp``, which with ``/dev/shm`` and writable mounts is all it can write.
        Its standard input is ``stdin``, else empty. ``timeout`` is in seconds and does not count the building of
        an image.

        Raises:
            EnvironmentUnavailable: the program did not end in time, or met the memory limit.
        """
        image = self.image(release)
        with _stdin_mount(stdin) as given:
            # A file behind the program's back: a stream attached to a container can lose its end.
            command = ["sh", "-c", f'exec "$@" <{_STDIN}', "sh", *argv] if given else argv
            container = self._create(image, command, (*mounts, *given), env, network_mode="none")
            return self._finish(container, argv, timeout)

    @contextlib.contextmanager
    def server(
        self,
        release: str,
        argv: Sequence[str] = SERVER,
        *,
        mounts: Sequence[Mount] = (),
        env: Mapping[str, str] | None = None,
        network: Network | None = None,
        ready_within: float = 120,
    ) -> Iterator[RunningServer]:
        """Start a server, yield it once it listens, and stop it whatever happens.

        It is found to listen by the kernel's table and not by connecting, so the first connection it sees is
        the caller's own.

        Args:
            release: release of lmcache.
            argv: the command; ``{host}`` and ``{port}`` in it are replaced.
            mounts: as for `run`.
            env: as for `run`.
            network: ``host`` lets the server bind this machine's loopback: what a caller meets is the server's own
                socket. ``published`` puts the engine's proxy in between, which accepts before anything listens behind
                it and turns the server's resets into ends of stream. Default: ``host`` where the engine
                shares this machine's loopback, else ``published``.
            ready_within: seconds until it must listen.

        Raises:
            EnvironmentUnavailable: it ended, or did not listen in time.
        """
        image = self.image(release)
        chosen: Network = network or ("host" if self._shares_loopback else "published")
        for attempt in range(1, _START_ATTEMPTS + 1):
            port = _free_port()
            host, inner_port = ("127.0.0.1", port) if chosen == "host" else ("0.0.0.0", _PUBLISHED_PORT)  # noqa: S104 # inside the container
            command = [part.format(host=host, port=inner_port) for part in argv]
            if chosen == "host":
                container = self._create(image, command, mounts, env, network_mode="host")
            else:
                container = self._create(image, command, mounts, env, published_at=port)
            with _removed_at_last(container):
                if not self._start_listening(container, command, inner_port, ready_within, retry=attempt < _START_ATTEMPTS):
                    continue
                yield RunningServer(container, image, port)
                return

    def describe(self, release: str, script: Path, *, timeout: float = 300) -> Description:
        """Run a script of this machine in an image, and read the JSON it prints, say of versions.

        Raises:
            EnvironmentUnavailable: it failed, or printed something else.
        """
        target = f"/run/{script.name}"
        done = self.run(release, ["python3", target], mounts=[Mount(script, target)], timeout=timeout)
        if done.code != 0:
            raise EnvironmentUnavailable(f"{script.name} failed in {self.image(release).reference}{_quoted_tail(done.stderr)}")
        try:
            answer: object = json.loads(done.stdout)
        except json.JSONDecodeError as error:
            raise EnvironmentUnavailable(
                f"{script.name} should print JSON and printed something else ({error}){_quoted_tail(done.stdout)}"
            ) from None
        return Description(self.image(release), answer)

    # --- containers ---

    def _create(
        self,
        image: Image,
        argv: Sequence[str],
        mounts: Sequence[Mount],
        env: Mapping[str, str] | None,
        *,
        network_mode: Literal["none", "host"] | None = None,
        published_at: int | None = None,
    ) -> Container:
        for mount in mounts:
            if not mount.source.exists():
                raise EnvironmentUnavailable(f"{mount.source} is to be mounted at {mount.target} and does not exist")
        # A rootless engine maps its root to the user who runs it; elsewhere files must not come out as root's.
        user = None if self._rootless else f"{os.getuid()}:{os.getgid()}"
        with _engine_trouble(f"create a container of {image.reference}"):
            return self._engine.containers.create(
                image.image_id,
                list(argv),
                environment={"HOME": "/tmp", **(env or {})},  # noqa: S108 # the container's own
                working_dir="/tmp",  # noqa: S108
                user=user,
                mounts=[
                    EngineMount(mount.target, str(mount.source.resolve()), type="bind", read_only=not mount.writable)
                    for mount in mounts
                ],
                mem_limit=self._memory,
                memswap_limit=self._memory,
                pids_limit=self._pids,
                shm_size="1g",
                read_only=True,
                tmpfs={"/tmp": "rw,exec,mode=1777,size=1g"},  # noqa: S108
                cap_drop=["ALL"],
                security_opt=["no-new-privileges"],
                log_config=LogConfig(type="json-file"),
                labels={_OWNER_LABEL: f"{socket.gethostname()}:{os.getpid()}"},
                network_mode=network_mode,
                ports={f"{_PUBLISHED_PORT}/tcp": ("127.0.0.1", published_at)} if published_at else None,
            )

    def _finish(self, container: Container, argv: Sequence[str], timeout: float) -> CompletedRun:
        """Start a container, wait for its end, collect what it wrote, remove it."""
        with _removed_at_last(container):
            with _engine_trouble(f"start {_command(argv)}"):
                container.start()
            code = self._wait(container, argv, timeout)
            with _engine_trouble(f"read what {argv[0]} wrote"):
                stdout = _text(container.logs(stdout=True, stderr=False))
                stderr = _text(container.logs(stdout=False, stderr=True))
                container.reload()
            if container.attrs["State"].get("OOMKilled"):
                raise EnvironmentUnavailable(
                    f"{_command(argv)} met the memory limit of {self._memory}: raise `memory`{_quoted_tail(stderr)}"
                )
            return CompletedRun(stdout, stderr, code)

    def _wait(self, container: Container, argv: Sequence[str], timeout: float) -> int:
        try:
            return int(container.wait(timeout=timeout)["StatusCode"])
        except requests.exceptions.RequestException:
            # The SDK tells a deadline and a lost engine apart by nothing that lasts; the engine itself knows.
            with _engine_trouble(f"wait for {argv[0]}"):
                container.reload()
                written = _text(container.logs())
            raise EnvironmentUnavailable(
                f"{_command(argv)} did not end within {timeout:g} s: give it more time, or see what holds it"
                f"{_quoted_tail(written)}"
            ) from None

    def _start_listening(self, container: Container, argv: Sequence[str], port: int, ready_within: float, *, retry: bool) -> bool:
        """Start a server and wait until it listens; False when somebody else has got its port meanwhile."""
        try:
            container.start()
        except APIError as error:
            if retry and ("address already in use" in str(error) or "port is already allocated" in str(error)):
                return False
            raise EnvironmentUnavailable(f"the engine cannot start {_command(argv)}: {error.explanation or error}") from error
        deadline = time.monotonic() + ready_within
        while time.monotonic() < deadline:
            with _engine_trouble("look after a server"):
                container.reload()
                running = container.status == "running"
                if running and _listens(container, port):
                    return True
                written = "" if running else _text(container.logs())
            if not running:
                if retry and os.strerror(errno.EADDRINUSE).lower() in written.lower():
                    return False
                code = container.attrs["State"].get("ExitCode")
                raise EnvironmentUnavailable(
                    f"{_command(argv)} ended with status {code} before it listened{_quoted_tail(written)}"
                )
            time.sleep(0.1)
        raise EnvironmentUnavailable(
            f"{_command(argv)} does not listen on port {port} after {ready_within:g} s{_quoted_tail(_text(container.logs()))}"
        )

    def _remove_orphans(self) -> None:
        """Remove containers whose process on this machine was killed before it could."""
        with _engine_trouble("list containers"):
            ours = self._engine.containers.list(all=True, filters={"label": _OWNER_LABEL}, ignore_removed=True)
        for container in ours:
            machine, _, pid = container.labels[_OWNER_LABEL].rpartition(":")
            if machine == socket.gethostname() and not _process_exists(int(pid)):
                with contextlib.suppress(DockerException):
                    container.remove(force=True, v=True)

    # --- images ---

    def _reference(self, release: str) -> str:
        """The name of the image of a release: equal exactly for equal ingredients."""
        ingredients = (_read(self._dockerfile), self._requirements, self._base, self._architecture, release)
        return f"{_REPOSITORY}:{re.sub('[!+]', '_', release)}-{_digest(*ingredients)}"

    def _has_image(self, reference: str) -> bool:
        with _engine_trouble("look for an image"):
            try:
                self._engine.images.get(reference)
            except ImageNotFound:
                return False
            return True

    def _inspect(self, release: str, reference: str) -> Image:
        with _engine_trouble(f"inspect {reference}"):
            image_id = str(self._engine.images.get(reference).id)
        digests: Sequence[str] = ()
        # The base may have no name here: BuildKit pulls layers without keeping one for them.
        with _engine_trouble(f"inspect {self._base}"), contextlib.suppress(ImageNotFound):
            digests = self._engine.images.get(self._base).attrs.get("RepoDigests") or ()
        return Image(release, reference, image_id, self._base, tuple(digests))

    def _build(self, release: str, reference: str) -> None:
        context = self._wheelhouse()
        self._fetch_release(context, release)
        started = time.monotonic()
        _log.info("building %s", reference)
        command = [
            *("docker", "build", "--progress", "plain", "--network", "none"),
            *("--file", str(self._dockerfile), "--tag", reference),
            *("--build-arg", f"BASE_IMAGE={self._base}", "--build-arg", f"LMCACHE_VERSION={release}"),
            str(context),
        ]
        environment = {**os.environ, "DOCKER_HOST": self._engine_url, "DOCKER_BUILDKIT": "1"}
        # SDK and command must mean the same engine.
        environment.pop("DOCKER_CONTEXT", None)
        done = _bounded(command, f"building {reference}", _BUILD_SECONDS, environment)
        if done.returncode != 0:
            hint = f": {_BUILDKIT_HINT}" if "buildx" in done.stderr and "missing" in done.stderr else ""
            raise EnvironmentUnavailable(f"building {reference} failed{hint}{_quoted_tail(done.stderr + done.stdout)}")
        _log.info("built %s in %.0f s", reference, time.monotonic() - started)

    def _wheelhouse(self) -> Path:
        """The build context for the requirement set, filled with its wheels once and for all."""
        context = self._cache / f"context-{_digest(self._requirements, self._architecture)}"
        with _locked(context.with_suffix(".lock")):
            if not context.exists():
                _log.info("downloading the wheels that lmcache needs")
                with tempfile.TemporaryDirectory(dir=self._cache, prefix="download-") as made:
                    half_done = Path(made) / "context"
                    (half_done / "release").mkdir(parents=True)
                    requirements = half_done / "requirements.txt"
                    requirements.write_text(self._requirements, encoding="utf-8")
                    self._download(half_done / "wheels", ["--requirement", str(requirements)], "what lmcache needs")
                    half_done.rename(context)
        return context

    def _fetch_release(self, context: Path, release: str) -> None:
        """Put the wheel of a release into the build context."""
        directory = context / "release"
        with _locked(context.with_suffix(".lock")):
            if any(directory.glob(f"lmcache-{release}-*.whl")):
                return
            with tempfile.TemporaryDirectory(dir=self._cache, prefix="download-") as made:
                if self._release_wheel is None:
                    self._download(Path(made), [f"lmcache=={release}"], f"lmcache {release}")
                else:
                    shutil.copy(self._release_wheel(release), made)
                for wheel in Path(made).glob("*.whl"):
                    wheel.rename(directory / wheel.name)

    def _download(self, directory: Path, what: Sequence[str], name: str) -> None:
        """Fetch the wheels that fit the image, whatever interpreter runs this."""
        platforms = [f"manylinux_2_{minor}_{self._architecture}" for minor in range(_NEWEST_GLIBC, 4, -1)]
        platforms += [f"{old}_{self._architecture}" for old in ("manylinux2014", "manylinux2010", "manylinux1", "linux")]
        command = [
            *(sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-input"),
            *("--no-deps", "--only-binary=:all:", "--dest", str(directory)),
            *("--implementation", "cp", "--python-version", _PYTHON, "--abi", "cp311", "--abi", "abi3", "--abi", "none"),
            *(argument for platform in platforms for argument in ("--platform", platform)),
            *self._pip_arguments,
            *what,
        ]
        done = _bounded(command, f"downloading {name}", _DOWNLOAD_SECONDS, dict(os.environ))
        if done.returncode == 0:
            return
        if "No module named pip" in done.stderr:
            raise EnvironmentUnavailable(
                f"{sys.executable} has no pip to download wheels with: run `{sys.executable} -m ensurepip`"
            )
        missing = re.search(r"No matching distribution found for (\S+)", done.stderr)
        if missing and missing.group(1).startswith("torch"):
            raise EnvironmentUnavailable(f"{missing.group(1)} is not at hand: {_TORCH_HINT}")
        if missing:
            raise EnvironmentUnavailable(
                f"no wheel of {missing.group(1)} for Python {_PYTHON} on {self._architecture} can be found: "
                f"check the version, and that pip reaches a package index{_quoted_tail(done.stderr)}"
            )
        raise EnvironmentUnavailable(f"downloading {name} failed{_quoted_tail(done.stderr)}")


# --- the engine ---


def _engine_url() -> str:
    """The address of the engine that the docker command would use too."""
    if host := os.environ.get("DOCKER_HOST"):
        return host
    with contextlib.suppress(DockerException, OSError, ValueError):
        if (context := docker.ContextAPI.get_current_context()) and context.Host:
            return str(context.Host).replace("http+unix://", "unix://")
    return "unix:///var/run/docker.sock"


def _connect(url: str) -> docker.DockerClient:
    if shutil.which("docker") is None:
        raise EnvironmentUnavailable("there is no `docker` command, which builds images: install Docker's command line")
    try:
        environment = {**os.environ, "DOCKER_HOST": url}
        client = docker.DockerClient.from_env(environment=environment, timeout=_ENGINE_SECONDS)
    except (DockerException, requests.exceptions.RequestException) as error:
        raise EnvironmentUnavailable(f"no container engine answers at {url} ({error}): {_NO_ENGINE_HINT}") from error
    try:
        client.ping()
    except (DockerException, requests.exceptions.RequestException) as error:
        client.close()
        raise EnvironmentUnavailable(f"no container engine answers at {url} ({error}): {_NO_ENGINE_HINT}") from error
    return client


@contextlib.contextmanager
def _engine_trouble(doing: str) -> Iterator[None]:
    """Turn what the SDK raises into our one error."""
    try:
        yield
    except (DockerException, requests.exceptions.RequestException) as error:
        raise EnvironmentUnavailable(f"the container engine could not {doing}: {error}") from error


@contextlib.contextmanager
def _removed_at_last(container: Container) -> Iterator[None]:
    try:
        yield
    finally:
        with _engine_trouble("remove a container"), contextlib.suppress(NotFound):
            container.remove(force=True, v=True)


def _listens(container: Container, port: int) -> bool:
    """Whether a TCP socket listens on the port in the container's network.

    Columns of ``/proc/net/tcp``: number, local address in hex with the port after the colon, remote, state.
    """
    _, table = container.exec_run(["cat", "/proc/net/tcp"])
    assert isinstance(table, bytes)  # not a stream, as none was asked for
    rows = (line.split() for line in _text(table).splitlines()[1:])
    return any(len(row) > 3 and row[3] == _LISTEN and int(row[1].rpartition(":")[2], 16) == port for row in rows)


def _architecture(engine_name: str) -> str:
    try:
        return _ARCHITECTURES[engine_name]
    except KeyError:
        raise EnvironmentUnavailable(
            f"the container engine runs on {engine_name or 'an unnamed architecture'}; "
            f"wheels are known for {', '.join(sorted(set(_ARCHITECTURES.values())))}"
        ) from None


# --- this machine ---


@contextlib.contextmanager
def _stdin_mount(text: str | None) -> Iterator[tuple[Mount, ...]]:
    if text is None:
        yield ()
        return
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", prefix="lmconform-stdin-") as file:
        file.write(text)
        file.flush()
        yield (Mount(Path(file.name), _STDIN),)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _process_exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold a lock between processes, so that parallel runs download and build once."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = path.open("a")
    except OSError as error:
        raise EnvironmentUnavailable(f"cannot write to {path.parent}, where wheels are kept: {error}") from error
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _bounded(
    command: Sequence[str], what: str, seconds: float, environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            command,
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds,
            env=environment,
        )
    except subprocess.TimeoutExpired as error:
        written = error.stderr.decode(errors="replace") if isinstance(error.stderr, bytes) else ""
        raise EnvironmentUnavailable(f"{what}: not done after {seconds:g} s{_quoted_tail(written)}") from None
    except OSError as error:
        raise EnvironmentUnavailable(f"{what}: cannot start {command[0]}: {error}") from error


# --- text ---


def _default_base(dockerfile: str) -> str:
    found = re.search(r"^ARG BASE_IMAGE=(\S+)", dockerfile, re.MULTILINE)
    if found is None:
        raise EnvironmentUnavailable("the Dockerfile names no default for BASE_IMAGE: pass base_image")
    return found.group(1)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise EnvironmentUnavailable(f"cannot read {path}, which the image is built from: {error.strerror}") from error


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]


def _text(output: bytes) -> str:
    return output.decode("utf-8", errors="replace")


def _command(argv: Sequence[str]) -> str:
    return f"`{' '.join(argv)}`"


def _quoted_tail(text: str) -> str:
    """The last lines of what a program wrote, as an indented block to end a message with."""
    lines = text.rstrip().splitlines()
    lines = [line for line in lines if line.startswith("ERROR")] or lines[-_TAIL_LINES:]
    return "".join(["; its last words:", *(f"\n    {line}" for line in lines)]) if lines else ""
