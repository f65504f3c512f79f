"""Records every conversation with the real multiprocess server of a release."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Final

from fixturegen.environment import PinnedEnvironment
from fixturegen.errors import CaptureError
from fixturegen.mp.counts import counts
from fixturegen.mp.launch import STATUS_PATH, Launch, Mode
from fixturegen.mp.player import Abilities, record, replay
from fixturegen.mp.server import MpServer
from fixturegen.mp.transcript import MpTranscript, Setting
from wire.release import RangeTable, Release

_BOTH_WAYS: Final = RangeTable[Mode]("transfer mode of a server for everything", ("0.3.10", "engine"), ("0.4.7", "auto"))


def launch_for(release: Release, setting: Setting) -> Launch:
    """How the server of a release is started for conversations of a setting."""
    if setting == "pickle":
        return Launch(shared_memory=False)
    return Launch(mode=_BOTH_WAYS[release])


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
    for launch in dict.fromkeys(launch_for(release, script.setting) for script in scripts):
        wanted = [script for script in scripts if launch_for(release, script.setting) == launch]
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


def require_again(release: Release, environment: PinnedEnvironment, recorded: Sequence[MpTranscript]) -> None:
    """Hold recorded conversations once more, with servers of their own; not those that kill a server, which had one of their own.

    Raises:
        EnvironmentUnavailable: a server does not start.
        CaptureError: one went differently; the message names it.
    """
    survived = [transcript for transcript in recorded if not transcript.fatal]
    for launch in dict.fromkeys(launch_for(release, transcript.setting) for transcript in survived):
        wanted = [transcript for transcript in survived if launch_for(release, transcript.setting) == launch]
        with environment.mp_server(release, launch) as server:
            for transcript in wanted:
                difference = replay(server, transcript, abilities(server))
                problem = "" if difference is None else str(difference)
                if not problem and not server.alive():
                    problem = "its message thread is dead afterwards"
                if problem:
                    raise CaptureError(
                        f"the multiprocess server of lmcache {release} went differently in {transcript.id} in two runs: {problem}"
                    )
