"""Every conversation that was captured, played again on the mock of its release."""

import pytest
from accepted_keys import KEYS
from generations import CAPTURED, GENERATIONS

from fixturegen.corpus import load_corpus
from fixturegen.player import Goodbye, replay
from mockserver.lm import LmServer


@pytest.mark.parametrize("release", CAPTURED, ids=str)
def test_the_mock_answers_every_captured_conversation_byte_for_byte(release):
    transcripts = load_corpus(release).transcripts
    goodbye = Goodbye.of(next(transcript for transcript in transcripts if transcript.id == "lm.server.health"))
    differences = []
    for transcript in transcripts:
        with LmServer(release) as mock:
            differences += [f"{transcript.id} {found}" for found in replay("127.0.0.1", mock.port, transcript, goodbye=goodbye)]
    assert differences == []


def test_the_releases_that_the_other_tests_of_the_mock_name_reach_every_generation():
    missed = [generation for generation in GENERATIONS if not {str(release) for release in generation} & set(KEYS)]
    assert missed == []
