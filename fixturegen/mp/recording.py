"""Records every conversation with the real multiprocess server of a release."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Final

from fixturegen.environment import PinnedEnvironment
from fixturegen.errors import CaptureError
from fixturegen.mp.counts import counts
from fixturegen.mp.launch import STATUS_PATH, Launch
from fixturegen.mp.player import Abilities, record
from fixturegen.mp.server import MpServer
from fixturegen.mp.transcript import MpTranscript, Setting
from wire.release import Release

LAUNCHES: Final[Mapping[Setting, Launch]] = {
    "control": Launch(),
    "shared-memory": Launch(),
    "pickle": Launch(shared_memory=False),
    "cpu-tensors": Launch(mode="lmcache", shared_memory=False),
}
"""How the server is started for each setting."""


def abilities(server: MpServer) -> Abilities:
    """What a server of ours can do for a conversation."""

    def counted() -> Mapping[str, int]:
        status = server.status()
        assert status is not None
        return counts(status)

    return Abilities(counts=counted if STATUS_PATH[server.release] is not None else None, restart=server.restart)


def record_all(release: Release, environment: PinnedEnvironment, scripts: Sequence[MpTranscript]) -> list[MpTranscript]:
    """The scripts with what came back, in their order; a server whose message thread died is started again.

    Raises:
        EnvironmentUnavailable: a server does not start.
        CaptureError: an answer cannot be recorded.
    """
    found: dict[str, MpTranscript] = {}
    for launch in dict.fromkeys(LAUNCHES[script.setting] for script in scripts):
        wanted = [script for script in scripts if LAUNCHES[script.setting] == launch]
        with environment.mp_server(release, launch) as server:
            for script in wanted:
                recorded = record(server, script, abilities(server))
                if not server.alive():
                    recorded = dataclasses.replace(recorded, fatal=True)
                    server.restart()
                found[script.id] = recorded
    if len(found) != len(scripts):
        raise CaptureError(f"two conversations with lmcache {release} have the same id")
    return [found[script.id] for script in scripts]


def require_equal(release: Release, first: Sequence[MpTranscript], second: Sequence[MpTranscript]) -> None:
    """Nothing, where two recordings say the same.

    Raises:
        CaptureError: they differ; the message names the first step.
    """
    for one, other in zip(first, second, strict=True):
        for index, (left, right) in enumerate(zip(one.steps, other.steps, strict=True)):
            if left != right:
                raise CaptureError(
                    f"the multiprocess server of lmcache {release} went differently in {one.id}, step {index}, in two runs:\n"
                    f"first:  {left.values}\nsecond: {right.values}"
                )
        if one != other:
            raise CaptureError(f"the multiprocess server of lmcache {release} survived {one.id} in one of two runs")
