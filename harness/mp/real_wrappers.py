"""The real lmcache's own reading of the tensors in a registration, in a child interpreter of the pinned environment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fixturegen.environment import open_environment
from fixturegen.errors import CaptureError, EnvironmentUnavailable
from fixturegen.mp.registration import BlobRefused, Registration, allowed_globals, decode_registrations, require_openable
from harness.failure import TargetUnavailable
from wire.release import Release


@dataclass(frozen=True)
class Reading:
    """What became of one tensor: its class under ``wrapper`` and its fields, or why there are none."""

    fields: Mapping[str, Any] = field(default_factory=dict)
    refusal: str | None = None


@dataclass(frozen=True)
class RealWrappers:
    """The wrapper classes of every release, where the runtime has it."""

    runtime: str = "venv"

    def read(self, release: Release, blobs: Sequence[bytes]) -> list[Reading]:
        """What the real classes make of tensors; one that looks like none of lmcache's is not opened.

        Raises:
            TargetUnavailable: the pinned environment cannot be had, or gave no answer.
        """
        allowed = allowed_globals(release)
        readings = [_looked_at(release, blob, allowed) for blob in blobs]
        openable = [blob for blob, reading in zip(blobs, readings, strict=True) if reading is None]
        try:
            found = decode_registrations(open_environment(self.runtime), release, openable) if openable else []
        except (EnvironmentUnavailable, CaptureError) as error:
            raise TargetUnavailable(
                f"the classes of lmcache {release} read nothing: {error}; without live in --target none are needed"
            ) from None
        opened = iter(found)
        return [_reading(next(opened)) if reading is None else reading for reading in readings]


def _looked_at(release: Release, blob: bytes, allowed: frozenset[tuple[str, str]]) -> Reading | None:
    """Why a tensor is not opened; None if it may be."""
    try:
        require_openable(release, blob, allowed)
    except BlobRefused as refused:
        return Reading(refusal=str(refused))
    return None


def _reading(found: Registration) -> Reading:
    return Reading(refusal=found.refusal) if found.wrapper is None else Reading({"wrapper": found.wrapper, **found.fields})
