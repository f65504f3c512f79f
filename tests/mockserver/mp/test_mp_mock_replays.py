"""Every conversation that was captured from a real multiprocess server, played again on the mock of its release."""

from __future__ import annotations

from typing import Any

import pytest

from fixturegen.corpus import captured_releases, load_corpus
from fixturegen.mp.counts import counts
from fixturegen.mp.launch import Mode
from fixturegen.mp.player import Abilities, replay
from fixturegen.mp.recording import launch_for
from mockserver.mp import MpServer

SILENCE = 0.005
"""Seconds; the mock answers at once, and a reply that came later would still be found as a surplus one."""
PATIENCE = 5.0
FIRST_BATCH = 5
"""The step with the batch that a subscription brings at once; the mock goes at least so far."""
OPTIONS: dict[Mode, dict[str, Any]] = {
    "engine": {"mode": "engine_driven"},
    "lmcache": {"mode": "lmcache_driven"},
    "auto": {"mode": "auto"},
}
EVENTS = ("mp.server.shared-memory.kv-events", "mp.server.cpu-tensors.kv-events-of-tensors")
"""Conversations with batches about objects that come and go, which the mock does not model (see ``mockserver.mp.streams``)."""
DIFFERENT = {("0.3.13", "mp.server.control.once-lookup"): 5}
"""Steps that the mock does not do as the real server: 0.3.13 alone drops a lookup whose key names a worker."""
TALKED_TO = [release for release in captured_releases(protocol="mp") if load_corpus(release, protocol="mp").mp_transcripts]


@pytest.mark.parametrize("release", TALKED_TO, ids=str)
def test_the_mock_answers_every_captured_conversation_frame_for_frame(release):
    differences = []
    for transcript in load_corpus(release, protocol="mp").mp_transcripts:
        launch = launch_for(release, transcript.setting)
        with MpServer(release, **OPTIONS[launch.mode], shared_memory=launch.shared_memory) as mock:
            abilities = Abilities(counts=lambda mock=mock: counts(mock.status()), restart=mock.restart)
            found = replay(Peer(mock), transcript, abilities, silence=SILENCE, patience=PATIENCE)
            if transcript.id in EVENTS:
                assert found is not None
                assert found.step > FIRST_BATCH
                continue
            if (str(release), transcript.id) in DIFFERENT:
                assert found is not None
                assert found.step == DIFFERENT[str(release), transcript.id]
                continue
            differences += [f"{transcript.id} {found}"] if found is not None else []
            if bool(mock.journal.death) is not transcript.fatal:
                differences.append(f"{transcript.id} ends the message thread: expected {transcript.fatal}")
    assert differences == []


class Peer:
    def __init__(self, mock: MpServer) -> None:
        self.host, self.port = mock.address
