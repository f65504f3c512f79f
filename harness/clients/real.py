"""The real lmcache of a release as a client: a program of the pinned environment that speaks JSON Lines."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence

from fixturegen.corpus import captured_releases
from fixturegen.manifest import Protocol
from harness.client import ClientUnavailable
from wire.errors import WireError
from wire.release import Release


def real_client(text: str) -> tuple[Sequence[str], Mapping[str, str]]:
    """Command and environment variables for what stands behind ``lmcache:``.

    Raises:
        ClientUnavailable: it is no release, or none that was captured.
        EnvironmentUnavailable: the pinned environment cannot be made.
    """
    return _prepared(_captured("lmcache", text, "lm"))


def real_mp_client(text: str) -> tuple[Sequence[str], Mapping[str, str]]:
    """Command and environment variables for what stands behind ``lmcache-mp:``.

    Raises:
        ClientUnavailable: it is no release, or none whose multiprocess protocol was captured.
        EnvironmentUnavailable: the pinned environment cannot be made.
    """
    return _prepared_mp(_captured("lmcache-mp", text, "mp"))


def _captured(form: str, text: str, protocol: Protocol) -> Release:
    if not text.strip():
        raise ClientUnavailable(f"{form}: needs a release, such as {form}:0.5.6")
    try:
        release = Release.parse(text.strip())
    except WireError as error:
        raise ClientUnavailable(f"{form}:{text}: {error}") from None
    captured = captured_releases(protocol=protocol)
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
