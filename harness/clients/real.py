"""The real lmcache of a release as a client: a program of the pinned environment that speaks JSON Lines."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence

from fixturegen.corpus import captured_releases
from harness.client import ClientUnavailable
from wire.errors import WireError
from wire.mp.operations import FIRST_RELEASE
from wire.release import Release


def real_client(text: str) -> tuple[Sequence[str], Mapping[str, str]]:
    """Command and environment variables for what stands behind ``lmcache:``.

    Raises:
        ClientUnavailable: it is no release, or none that was captured.
        EnvironmentUnavailable: the pinned environment cannot be made.
    """
    return _prepared(_captured("lmcache", text))


def real_mp_client(text: str) -> tuple[Sequence[str], Mapping[str, str]]:
    """Command and environment variables for what stands behind ``lmcache-mp:``.

    Raises:
        ClientUnavailable: it is no release, none that was captured, or one without the multiprocess server.
        EnvironmentUnavailable: the pinned environment cannot be made.
    """
    release = _captured("lmcache-mp", text)
    if release < FIRST_RELEASE:
        raise ClientUnavailable(f"lmcache-mp:{release}: the multiprocess server came with {FIRST_RELEASE}; write a later release")
    return _prepared_mp(release)


def _captured(form: str, text: str) -> Release:
    if not text.strip():
        raise ClientUnavailable(f"{form}: needs a release, such as {form}:0.5.6")
    try:
        release = Release.parse(text.strip())
    except WireError as error:
        raise ClientUnavailable(f"{form}:{text}: {error}") from None
    captured = captured_releases()
    if release not in captured:
        known = ", ".join(str(known) for known in captured)
        raise ClientUnavailable(f"{form}:{release}: this release is not in the corpus (captured: {known})")
    return release


@functools.cache
def _prepared(release: Release) -> tuple[Sequence[str], Mapping[str, str]]:
    from fixturegen.venv import VenvEnvironment

    return VenvEnvironment().client(release)


@functools.cache
def _prepared_mp(release: Release) -> tuple[Sequence[str], Mapping[str, str]]:
    from fixturegen.venv import VenvEnvironment

    return VenvEnvironment().mp_client(release)
