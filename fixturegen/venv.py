"""The pinned environment as a venv: one base with torch for every release, and each release's wheel unpacked beside it."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fixturegen import leash
from fixturegen.environment import (
    ADAPTER,
    BASE_REQUIREMENTS,
    LOCALHOST,
    MP_ADAPTER,
    MP_LAUNCHER,
    PROBES,
    SEED,
    RuntimeName,
    ServerAddress,
)
from fixturegen.errors import CaptureError, EnvironmentUnavailable
from fixturegen.lock import locked
from fixturegen.mp.launch import NEEDS_SHIM, Launch
from fixturegen.mp.server import MpServer, running_mp_server
from fixturegen.packages import installed_packages, packages_folder
from fixturegen.pip import pip
from fixturegen.server_process import running_server
from fixturegen.settings import OFFLINE_SETTING, PYTHON_SETTING, TORCH_SETTING, cache_directory, offline
from fixturegen.vllm import VllmTrees, import_paths, versions_in
from fixturegen.wheel import Wheel, file_sha256, unpack_wheel, wheel_of
from wire.release import RangeTable, Release

INSTALL_TIMEOUT = 1800.0
DOWNLOAD_TIMEOUT = 600.0
STUBS = RangeTable[tuple[str, ...]]("stub modules", ("0.3.1", ()), ("0.3.4", ("lmcache.c_ops",)), ("0.3.7", ()))
"""Modules that are empty for a release: it imports them, and they do not load without CUDA.

No captured answer comes from them: packing that needs one of their functions does not find it, and is recorded as unavailable.
"""

CLIENT_VLLM = ("0.10.1", "0.28.0")
"""Versions whose hash functions a client of the real lmcache offers where a capture has fetched them: integers, and digests."""

MP_PACKAGES = "mp"
"""The requirement set of the multiprocess server and its client; it comes before the base set on the import path."""

MP_PACKAGES_ARE = "what the multiprocess server imports"

STUBS_FOLDER = Path(__file__).resolve().parent / "stubs"
"""Comes first on the import path of a release that needs stubs; its ``sitecustomize.py`` reads `STUBS_VARIABLE`."""

STUBS_VARIABLE = "LMCONFORM_STUB_MODULES"


def base_requirements() -> str:
    """The requirement set of the base environment, with the setting for torch applied."""
    lines = BASE_REQUIREMENTS.read_text().splitlines()
    torch = os.environ.get(TORCH_SETTING)
    if torch:
        lines = [torch if line.split("==")[0].strip() == "torch" else line for line in lines]
    return "\n".join(lines) + "\n"


class VenvEnvironment:
    """The venv runtime; everything it makes is cached under the user cache folder, keyed by its requirement set."""

    runtime: RuntimeName = "venv"

    def __init__(self, cache: Path | None = None) -> None:
        self._cache = cache or cache_directory()
        self._vllm = VllmTrees(self._cache)

    def prepare(self, release: Release) -> None:
        """See :class:`fixturegen.environment.PinnedEnvironment`."""
        self._python()
        self._unpacked(release)

    def wheel(self, release: Release) -> Wheel:
        """See :class:`fixturegen.environment.PinnedEnvironment`."""
        return wheel_of(fetch_wheel(release, self._cache))

    def vllm_wheel(self, version: str) -> Wheel:
        """See :class:`fixturegen.environment.PinnedEnvironment`."""
        return self._vllm.tree(version).wheel

    def run_probe(self, release: Release, job: Mapping[str, Any], *, timeout: float, seed: str | None = SEED) -> dict[str, Any]:
        """See :class:`fixturegen.environment.PinnedEnvironment`."""
        paths = vllm_paths(job, lambda version, complete: import_paths(version, self._vllm, complete=complete))
        return self._probe(release, "run.py", {**job, "vllm": paths}, self._variables(release, seed), timeout)

    def run_mp_probe(self, release: Release, job: Mapping[str, Any], *, timeout: float) -> dict[str, Any]:
        """See :class:`fixturegen.environment.PinnedEnvironment`."""
        return self._probe(release, "mp/run.py", job, self._variables(release, mp=True), timeout)

    def _probe(
        self, release: Release, script: str, job: Mapping[str, Any], variables: Mapping[str, str], timeout: float
    ) -> dict[str, Any]:
        command = [str(self._python()), str(PROBES / script)]
        try:
            done = leash.run(command, timeout=timeout, said=json.dumps(job), variables=variables, cwd=tempfile.gettempdir())
        except subprocess.TimeoutExpired:
            raise CaptureError(f"the probe of lmcache {release} did not end within {timeout:.0f} s") from None
        except OSError as error:
            raise EnvironmentUnavailable(
                f"{command[0]} does not start ({error}); remove {self._base()} so that it is built again"
            ) from None
        return parse_probe_answer(release, done.stdout, done.stderr, done.returncode)

    @contextlib.contextmanager
    def server(self, release: Release, *, host: str = LOCALHOST) -> Iterator[ServerAddress]:
        """See :class:`fixturegen.environment.PinnedEnvironment`."""
        command = [str(self._python()), "-m", "lmcache.v1.server"]
        with running_server(release, command, self._variables(release), host=host) as address:
            yield address

    @contextlib.contextmanager
    def mp_server(self, release: Release, launch: Launch | None = None, *, host: str = LOCALHOST) -> Iterator[MpServer]:
        """See :class:`fixturegen.environment.PinnedEnvironment`."""

        def command(arguments: Sequence[str]) -> list[str]:
            return [str(self._python()), str(MP_LAUNCHER) if NEEDS_SHIM[release] else "-m", *arguments]

        asked = launch or Launch()
        refused = asked.refused(release)
        if refused is not None:  # before anything is fetched for it
            raise EnvironmentUnavailable(f"there is no such multiprocess server of lmcache {release}: {refused}")
        with running_mp_server(release, asked, command, self._variables(release, mp=True), host=host) as server:
            yield server

    def client(self, release: Release) -> tuple[list[str], dict[str, str]]:
        """Command and environment variables of the program that answers the client protocol with the lmcache of a release.

        Raises:
            EnvironmentUnavailable: the environment cannot be made.
        """
        there = {version: self._vllm.cached(version) for version in CLIENT_VLLM}
        vllm = {version: [str(path) for path in paths] for version, paths in there.items() if paths is not None}
        command = [str(self._python()), str(ADAPTER), str(release), json.dumps(vllm)]
        return command, {**self._variables(release), "LMCACHE_LOG_LEVEL": "WARNING"}

    def mp_client(self, release: Release) -> tuple[list[str], dict[str, str]]:
        """As `client`, with the client of the multiprocess server.

        Raises:
            EnvironmentUnavailable: the environment cannot be made.
        """
        command = [str(self._python()), str(MP_ADAPTER), str(release)]
        return command, {**self._variables(release, mp=True), "LMCACHE_LOG_LEVEL": "WARNING"}

    def interpreter(self, release: Release) -> tuple[str, dict[str, str]]:
        """The interpreter, and environment variables with which it imports what the multiprocess server of a release imports.

        Raises:
            EnvironmentUnavailable: the environment cannot be made.
        """
        return str(self._python()), {**self._variables(release, mp=True), "LMCACHE_LOG_LEVEL": "WARNING"}

    def ready(self, release: Release) -> str | None:
        """None if the environment and the release are cached already, otherwise what is missing."""
        if not (self._base() / ".ready").is_file():
            return "the base environment (torch and what lmcache imports) is not built yet"
        if _cached_wheel(release, self._cache) is None:
            return f"the wheel of lmcache {release} is not downloaded yet"
        return None

    def mp_ready(self, release: Release) -> str | None:
        """As `ready`, for what the multiprocess server and its client need besides."""
        if not packages_folder(self._cache, MP_PACKAGES).is_dir():
            return f"{MP_PACKAGES_ARE} ({MP_PACKAGES}.txt) is not installed yet"
        return self.ready(release)

    def _mp_path(self) -> Path:
        """The folder of packages that the multiprocess server and its client import besides the base set."""
        return installed_packages(self._cache, MP_PACKAGES, MP_PACKAGES_ARE)

    def _variables(self, release: Release, seed: str | None = SEED, *, mp: bool = False) -> dict[str, str]:
        tree = self._unpacked(release)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "LMCACHE_"))}
        path = [str(STUBS_FOLDER), str(tree)] if STUBS[release] else [str(tree)]
        if mp:
            path.append(str(self._mp_path()))
        # Compiled modules are kept beside the trees, not in them: what is imported is what the wheels hold.
        compiled = {"PYTHONPYCACHEPREFIX": str(self._cache / "pycache")}
        return {**kept, **pinned_variables(release, seed), **compiled, "PYTHONPATH": os.pathsep.join(path)}

    def _base(self) -> Path:
        key = hashlib.sha256(f"{base_requirements()}\0{_interpreter()}".encode()).hexdigest()[:16]
        return self._cache / f"base-{key}"

    def _python(self) -> Path:
        base = self._base()
        marker = base / ".ready"
        python = base / "bin" / "python"
        if marker.is_file():
            return python
        if offline():
            raise EnvironmentUnavailable(f"the base environment is not built and {OFFLINE_SETTING} forbids building it")
        with locked(self._cache / f"{base.name}.lock"):
            if not marker.is_file():
                shutil.rmtree(base, ignore_errors=True)
                _build_base(base)
                marker.touch()
        return python

    def _unpacked(self, release: Release) -> Path:
        wheel = fetch_wheel(release, self._cache)
        tree = self._cache / f"lmcache-{release}-{file_sha256(wheel)[:12]}"
        if not (tree / ".ready").is_file():
            with locked(self._cache / f"{tree.name}.lock"):
                if not (tree / ".ready").is_file():
                    unpack_wheel(wheel, tree)
                    (tree / ".ready").touch()
        return tree


def vllm_paths(job: Mapping[str, Any], folders: Callable[[str, bool], Sequence[Path | str]]) -> dict[str, dict[str, list[str]]]:
    """For each vLLM that a job asks for: the folders that make all of it importable, and those of its hash functions alone."""
    return {
        version: {
            name: [str(folder) for folder in folders(version, complete)]
            for name, complete in (("complete", True), ("hashing", False))
        }
        for version in versions_in(job)
    }


def pinned_variables(release: Release, seed: str | None = SEED) -> dict[str, str]:
    """Environment variables of every interpreter that runs the real lmcache of a release, all but its import path.

    ``seed`` is the value of PYTHONHASHSEED, None leaves it unset.
    """
    stubs = {STUBS_VARIABLE: ",".join(STUBS[release])} if STUBS[release] else {}
    return {
        **stubs,
        **({"PYTHONHASHSEED": seed} if seed is not None else {}),
        "LMCACHE_TRACK_USAGE": "false",
        "HF_HUB_OFFLINE": "1",
        "CUDA_VISIBLE_DEVICES": "",
        "OMP_NUM_THREADS": "1",
    }


def parse_probe_answer(release: Release, stdout: str, stderr: str, code: int) -> dict[str, Any]:
    """The JSON that a probe printed.

    Raises:
        CaptureError: it failed or printed something else than one object; the message ends with its standard error.
    """
    if code != 0:
        raise CaptureError(f"the probe of lmcache {release} ended with status {code}:\n{stderr[-4000:]}")
    try:
        answer = json.loads(stdout)
    except ValueError as error:
        raise CaptureError(
            f"the probe of lmcache {release} printed no JSON ({error}): {stdout[:200]!r}\n{stderr[-2000:]}"
        ) from None
    if not isinstance(answer, dict):
        raise CaptureError(f"the probe of lmcache {release} printed no JSON object: {stdout[:200]!r}\n{stderr[-2000:]}")
    return answer


def fetch_wheel(release: Release, cache: Path | None = None) -> Path:
    """The wheel of a release in the cache, downloaded on first use.

    Raises:
        EnvironmentUnavailable: the index has no such wheel for CPython 3.11, or cannot be reached.
    """
    folder = cache or cache_directory()
    found = _cached_wheel(release, folder)
    if found is not None:
        return found
    if offline():
        raise EnvironmentUnavailable(f"the wheel of lmcache {release} is not cached and {OFFLINE_SETTING} forbids a download")
    wheels = folder / "wheels"
    wheels.mkdir(parents=True, exist_ok=True)
    with locked(folder / f"wheel-{release}.lock"), tempfile.TemporaryDirectory(dir=wheels) as temporary:
        found = _cached_wheel(release, folder)
        if found is not None:
            return found
        pip(
            sys.executable,
            "download",
            ["--no-deps", "--only-binary", ":all:", "--python-version", "3.11", "-d", temporary, f"lmcache=={release}"],
            what=f"download lmcache {release}",
            timeout=DOWNLOAD_TIMEOUT,
        )
        (path,) = Path(temporary).glob("*.whl")
        return path.replace(wheels / path.name)


def _cached_wheel(release: Release, cache: Path) -> Path | None:
    return next(iter(sorted((cache / "wheels").glob(f"lmcache-{release}-*.whl"))), None)


def _interpreter() -> str:
    """The interpreter to build with: not the virtual one of this checkout, so that checkouts share the environment."""
    chosen = os.environ.get(PYTHON_SETTING)
    return chosen or str(Path(getattr(sys, "_base_executable", sys.executable)).resolve())


def _build_base(base: Path) -> None:
    base.parent.mkdir(parents=True, exist_ok=True)
    interpreter = _interpreter()
    try:
        version = subprocess.run(
            [interpreter, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"],
            capture_output=True, text=True, timeout=30, check=True,
        ).stdout.strip()  # fmt: skip
    except (OSError, subprocess.SubprocessError) as error:
        raise EnvironmentUnavailable(f"{interpreter} does not run ({error}); set {PYTHON_SETTING} to a CPython 3.11") from None
    if version != "3.11":
        raise EnvironmentUnavailable(
            f"the pinned environment needs CPython 3.11, {interpreter} is {version}; set {PYTHON_SETTING} to a CPython 3.11"
        )
    print("lmconform: building the pinned environment (torch and what lmcache imports), once", file=sys.stderr, flush=True)
    try:
        leash.run([interpreter, "-m", "venv", str(base)], timeout=120).check_returncode()
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        raise EnvironmentUnavailable(
            f"{interpreter} makes no venv: {str(error.stderr or error.stdout or error).strip()}\n"
            f"install what it asks for, or set {PYTHON_SETTING} to another CPython 3.11"
        ) from None
    requirements = base / "requirements.txt"
    requirements.write_text(base_requirements())
    pip(
        str(base / "bin" / "python"),
        "install",
        ["-r", str(requirements)],
        what="install the base environment",
        timeout=INSTALL_TIMEOUT,
    )
