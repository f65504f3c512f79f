"""Every conversation that was captured from a real multiprocess server, played again on the mock of its release."""

from __future__ import annotations

import itertools
from functools import partial
from typing import Any

import pytest

from fixturegen.corpus import TRANSCRIPTS, captured_releases, corpus_root, load_corpus
from fixturegen.mp.counts import counts
from fixturegen.mp.launch import Mode
from fixturegen.mp.player import Abilities, replay
from fixturegen.mp.recording import launch_for
from mockserver.mp import MpServer, behaviour
from wire.mp import operations, records, registration
from wire.mp.operations import STREAMING
from wire.release import RangeTable


def tables_of(module):
    values = [value for value in vars(module).values() if isinstance(value, RangeTable | dict)]
    return [
        table
        for value in values
        for table in (value.values() if isinstance(value, dict) else [value])
        if isinstance(table, RangeTable)
    ]


SILENCE = 0.001
"""Seconds; the mock answers at once, and a reply that came later would still be found as a surplus one."""
OPTIONS: dict[Mode, dict[str, Any]] = {
    "engine": {"mode": "engine_driven"},
    "lmcache": {"mode": "lmcache_driven"},
    "auto": {"mode": "auto"},
}
TALKED_TO = [
    release for release in captured_releases(protocol="mp") if (corpus_root() / str(release) / "mp" / TRANSCRIPTS).is_file()
]
TABLES = [table for module in (behaviour, operations, records, registration) for table in tables_of(module)]
BEGINNINGS = {rows.first for table in TABLES for rows, _ in table.rows()}
DIFFERENT = [
    release
    for before, release in itertools.pairwise([None, *TALKED_TO])
    if before is None or release == TALKED_TO[-1] or any(before < first <= release for first in BEGINNINGS)
]
"""The captured releases in which anything begins to be different, and the newest; a run of the cases plays those of all."""


@pytest.mark.parametrize("release", DIFFERENT, ids=str)
def test_the_mock_answers_every_captured_conversation_frame_for_frame(release):
    differences = []
    for transcript in load_corpus(release, protocol="mp").mp_transcripts:
        launch = launch_for(release, transcript.setting)
        with MpServer(release, **OPTIONS[launch.mode], shared_memory=launch.shared_memory) as mock:
            abilities = Abilities(counts=partial(counted, mock), settled=partial(settle, mock), restart=mock.restart)
            found = replay(Peer(mock), transcript, abilities, silence=SILENCE)
            differences += [f"{transcript.id} {found}"] if found is not None else []
            if bool(mock.journal.death) is not transcript.fatal:
                differences.append(f"{transcript.id} ends the message thread: expected {transcript.fatal}")
    assert differences == []


def counted(mock):
    return counts(mock.status())


def settle(mock, sent):
    """Wait until the mock has dealt with all that was sent, or is dead."""

    def dealt_with(journal):
        under_way = (one for one in journal.exchanges() if not one.done and one.operation not in STREAMING)
        return journal.death or (journal.exchange_count >= sent and next(under_way, None) is None)

    mock.journal.wait_for(dealt_with, timeout=30)


class Peer:
    def __init__(self, mock: MpServer) -> None:
        self.host, self.port = mock.address
