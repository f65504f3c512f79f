"""Runs releases of lmcache in containers of one engine: the one object that callers need."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Self

import platformdirs

from fixturegen.containers.container import Limits, Mount, Order, remove_orphans
from fixturegen.containers.engine import Engine
from fixturegen.containers.image import Image, Images, Recipe, default_base, find_dockerfile, read
from fixturegen.containers.run import CompletedRun, run_to_end
from fixturegen.containers.server import SERVER, Network, RunningServer, listening
from fixturegen.containers.wheelhouse import Wheelhouse
from fixturegen.environment import BASE_REQUIREMENTS, LOCALHOST


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
        recipe = _recipe(dockerfile, requirements, base_image)
        folder = (cache or platformdirs.user_cache_path("lmcache-conformance")) / "containers"
        self._limits = Limits(memory, pids)
        self._engine = Engine()
        wheelhouse = Wheelhouse(
            folder,
            recipe.requirements,
            self._engine.architecture,
            release_wheel=release_wheel,
            pip_arguments=pip_arguments,
        )
        self._images = Images(self._engine, recipe, wheelhouse, cache=folder, offline=offline)
        try:
            remove_orphans(self._engine)
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
        return self._images.image(release)

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
        order = Order(self.image(release), argv, mounts, env or {})
        return run_to_end(self._engine, order, self._limits, stdin=stdin, timeout=timeout)

    def server(
        self,
        release: str,
        argv: Sequence[str] = SERVER,
        *,
        mounts: Sequence[Mount] = (),
        env: Mapping[str, str] | None = None,
        network: Network | None = None,
        address: str = LOCALHOST,
        ready_within: float = 120,
    ) -> AbstractContextManager[RunningServer]:
        """A server that listens when the block begins and is gone when it ends.

        Args:
            release: release of lmcache.
            argv: the command; ``{host}`` and ``{port}`` in it are replaced.
            mounts: as for `run`.
            env: as for `run`.
            network: ``host`` lets the server bind this machine's loopback: what a caller meets is the server's own
                socket. ``published`` puts the engine's proxy in between, which accepts before anything listens behind
                it and turns the server's resets into ends of stream. Default: ``host`` where the engine
                shares this machine's loopback, else ``published``.
            address: the address of this machine that it listens on.
            ready_within: seconds until it must listen.

        Raises:
            EnvironmentUnavailable: it ended, or did not listen in time.
        """
        order = Order(self.image(release), argv, mounts, env or {})
        return listening(self._engine, order, self._limits, network=network, address=address, ready_within=ready_within)


def _recipe(dockerfile: Path | None, requirements: str | None, base_image: str | None) -> Recipe:
    file = dockerfile or find_dockerfile()
    return Recipe(file, requirements or read(BASE_REQUIREMENTS), base_image or default_base(file))
