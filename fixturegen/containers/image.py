"""Images of releases: named after what they are made from, built by the docker command on first use."""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import os
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from docker.errors import ImageNotFound

from fixturegen.containers.commands import bounded
from fixturegen.containers.engine import Engine, engine_trouble
from fixturegen.containers.last_words import last_words
from fixturegen.containers.wheelhouse import Wheelhouse, digest
from fixturegen.errors import EnvironmentUnavailable
from fixturegen.lock import locked

STUBS_INSIDE: Final = "/opt/lmcache-stubs"
"""Where ``fixturegen/stubs`` is mounted for a release that needs stub modules; it comes first on the import path."""

_REPOSITORY: Final = "lmconform/lmcache"
_BUILD_SECONDS: Final = 1800
_BUILDKIT_HINT: Final = "this docker command has no BuildKit: install its buildx plugin, or put one that has it first on PATH"

_log = logging.getLogger(__name__)


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
class Recipe:
    """What an image is made from, apart from the release; ``base`` takes the place of the Dockerfile's default."""

    dockerfile: Path
    requirements: str
    base: str

    def reference(self, release: str, architecture: str) -> str:
        """The name of the image of a release: equal exactly for equal ingredients.

        Raises:
            EnvironmentUnavailable: the release cannot be one, or the Dockerfile cannot be read.
        """
        if not re.fullmatch(r"[0-9A-Za-z.!+_-]+", release):
            raise EnvironmentUnavailable(f"{release!r} is not a release of lmcache; give one such as 0.5.6")
        ingredients = (read(self.dockerfile), self.requirements, self.base, architecture, release)
        return f"{_REPOSITORY}:{re.sub('[!+]', '_', release)}-{digest(*ingredients)}"


class Images:
    """The images of one engine; those that it has are reused, ``offline`` keeps the others from being built."""

    def __init__(self, engine: Engine, recipe: Recipe, wheelhouse: Wheelhouse, *, cache: Path, offline: bool) -> None:
        self._engine = engine
        self._recipe = recipe
        self._wheelhouse = wheelhouse
        self._cache = cache
        self._offline = offline
        self._known: dict[str, Image] = {}

    def image(self, release: str) -> Image:
        """The image of a release; built when the engine has none that was made from the same things.

        Raises:
            EnvironmentUnavailable: wheels could not be downloaded, or the build failed.
        """
        if release not in self._known:
            reference = self._recipe.reference(release, self._engine.architecture)
            with locked(self._cache / f"{reference.rpartition(':')[2]}.lock"):
                if not self._exists(reference):
                    if self._offline:
                        raise EnvironmentUnavailable(f"there is no image {reference} yet, and nothing may be built offline")
                    self._build(release, reference)
            self._known[release] = self._inspect(release, reference)
        return self._known[release]

    def _exists(self, reference: str) -> bool:
        with engine_trouble("look for an image"):
            try:
                self._engine.client.images.get(reference)
            except ImageNotFound:
                return False
            return True

    def _inspect(self, release: str, reference: str) -> Image:
        with engine_trouble(f"inspect {reference}"):
            image_id = str(self._engine.client.images.get(reference).id)
        digests: Sequence[str] = ()
        base = self._recipe.base
        # The base may have no name here: BuildKit pulls layers without keeping one for them.
        with engine_trouble(f"inspect {base}"), contextlib.suppress(ImageNotFound):
            digests = self._engine.client.images.get(base).attrs.get("RepoDigests") or ()
        return Image(release, reference, image_id, base, tuple(digests))

    def _build(self, release: str, reference: str) -> None:
        context = self._wheelhouse.context(release)
        started = time.monotonic()
        _log.info("building %s", reference)
        command = [
            *("docker", "build", "--progress", "plain", "--network", "none"),
            *("--file", str(self._recipe.dockerfile), "--tag", reference),
            *("--build-arg", f"BASE_IMAGE={self._recipe.base}", "--build-arg", f"LMCACHE_VERSION={release}"),
            str(context),
        ]
        variables = {**os.environ, "DOCKER_HOST": self._engine.url, "DOCKER_BUILDKIT": "1"}
        # SDK and command must mean the same engine.
        variables.pop("DOCKER_CONTEXT", None)
        done = bounded(command, f"building {reference}", _BUILD_SECONDS, variables)
        if done.returncode != 0:
            hint = f": {_BUILDKIT_HINT}" if "buildx" in done.stderr and "missing" in done.stderr else ""
            raise EnvironmentUnavailable(f"building {reference} failed{hint}{last_words(done.stderr + done.stdout)}")
        _log.info("built %s in %.0f s", reference, time.monotonic() - started)


def find_dockerfile() -> Path:
    """``Dockerfile.lmcache`` of this distribution: inside the package when installed, else at the root of the checkout."""
    package = Path(__file__).resolve().parents[1]
    packaged, in_tree = package / "Dockerfile.lmcache", package.parent / "Dockerfile.lmcache"
    return packaged if packaged.exists() else in_tree


def default_base(dockerfile: Path) -> str:
    """The base image that a Dockerfile names.

    Raises:
        EnvironmentUnavailable: it cannot be read, or names none.
    """
    found = re.search(r"^ARG BASE_IMAGE=(\S+)", read(dockerfile), re.MULTILINE)
    if found is None:
        raise EnvironmentUnavailable(f"{dockerfile} names no default for BASE_IMAGE: pass base_image")
    return found.group(1)


def read(path: Path) -> str:
    """The text of a file that an image is built from.

    Raises:
        EnvironmentUnavailable: it cannot be read.
    """
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise EnvironmentUnavailable(f"cannot read {path}, which the image is built from: {error.strerror}") from error
