"""Captured conversations with the multiprocess server, held again with a mock: no client takes part."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

from fixturegen.mp.counts import counts
from fixturegen.mp.launch import Mode
from fixturegen.mp.player import Abilities, replay
from fixturegen.mp.recording import launch_for
from fixturegen.mp.transcript import MpTranscript
from harness.mp.targets import mock_mp_server
from mockserver.mp import MpServer
from mockserver.mp.behaviour import Mode as MockMode
from mockserver.mp.journal import MpJournal
from wire.mp.operations import STREAMING
from wire.release import Release

SILENCE: Final = 0.001
"""Seconds; a mock that has dealt with everything has nothing more to say."""
PATIENCE: Final = 5.0
"""Seconds to wait for a reply that should come."""
SETTLE_PATIENCE: Final = 10.0

_MODES: Final[dict[Mode, MockMode]] = {"engine": "engine_driven", "lmcache": "lmcache_driven", "auto": "auto"}


class _Peer:
    def __init__(self, mock: MpServer) -> None:
        self.host, self.port = mock.address


def replayed(release: Release, transcript: MpTranscript) -> str | None:
    """How the mock differs from what was captured, in words; None where it does not.

    The mock is started as the real server was, and its message thread must have lived or died as the real one did.
    """
    launch = launch_for(release, transcript.setting)
    with mock_mp_server(release, shared_memory=launch.shared_memory, mode=_MODES[launch.mode]) as target:
        mock = target.mock
        assert mock is not None
        abilities = Abilities(counts=partial(_counted, mock), settled=partial(_settle, mock), restart=mock.restart)
        difference = replay(_Peer(mock), transcript, abilities, silence=SILENCE, patience=PATIENCE)
        if difference is not None:
            return str(difference)
        died = bool(mock.journal.death)
        if died is not transcript.fatal:
            ends = {True: "ends the message thread", False: "leaves the message thread alive"}
            return f"the conversation {ends[transcript.fatal]} of the real server, and {ends[died]} of the mock"
        return None


def _counted(mock: MpServer) -> Mapping[str, int]:
    return counts(mock.status())


def _settle(mock: MpServer, sent: int) -> None:
    """Wait until the mock has dealt with all that was sent, or is dead."""

    def dealt_with(journal: MpJournal) -> bool:
        under_way = (one for one in journal.exchanges() if not one.done and one.operation not in STREAMING)
        return bool(journal.death) or (journal.exchange_count >= sent and next(under_way, None) is None)

    mock.journal.wait_for(dealt_with, timeout=SETTLE_PATIENCE)
