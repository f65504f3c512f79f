"""Every conversation that was captured from a real multiprocess server, played again on the mock of its release."""

from __future__ import annotations

import itertools

import pytest

from fixturegen.corpus import TRANSCRIPTS, captured_releases, corpus_root, load_corpus
from harness.mp.conversation import replayed
from mockserver.mp import behaviour
from wire.mp import operations, records, registration
from wire.release import RangeTable


def tables_of(module):
    values = [value for value in vars(module).values() if isinstance(value, RangeTable | dict)]
    return [
        table
        for value in values
        for table in (value.values() if isinstance(value, dict) else [value])
        if isinstance(table, RangeTable)
    ]


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
    conversations = load_corpus(release, protocol="mp").mp_transcripts
    found = {transcript.id: replayed(release, transcript) for transcript in conversations}
    assert {name: difference for name, difference in found.items() if difference is not None} == {}
