"""Every conversation that is held with the multiprocess server of a release."""

from __future__ import annotations

from fixturegen.environment import PinnedEnvironment
from fixturegen.mp.launch import NO_SERVER
from fixturegen.mp.scenarios import control, cpu_tensors, engine_driven, malformed
from fixturegen.mp.transcript import MpTranscript
from wire.release import Release


def scenarios(release: Release, environment: PinnedEnvironment) -> list[MpTranscript]:
    """Every script for a release; none where it has no server. What only lmcache can make for them comes from the environment.

    Raises:
        EnvironmentUnavailable: it cannot be used.
    """
    if NO_SERVER[release] is not None:
        return []
    found = [script for part in (control, engine_driven, malformed) for script in part.scripts(release)]
    return [script.finished() for script in (*found, *cpu_tensors.scripts(release, environment))]
