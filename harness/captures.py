"""Captures as cases use them: vectors, transcripts, their bytes, and the replay of a conversation."""

from fixturegen.corpus import Corpus
from fixturegen.mp.transcript import MpTranscript
from fixturegen.player import Difference, Goodbye
from fixturegen.player import replay as play_again
from fixturegen.vector import MASKED, Transcript, Vector, patterned, raw

__all__ = ["MASKED", "Corpus", "MpTranscript", "Transcript", "Vector", "patterned", "raw", "replay"]

_HEALTH = "lm.server.health"


def replay(host: str, port: int, transcript: Transcript, corpus: Corpus) -> list[Difference]:
    """Every answer of a server that differs from the recorded one; behind it all a HEALTH must be answered as captured."""
    health = next((found for found in corpus.transcripts if found.id == _HEALTH), None)
    return play_again(host, port, transcript, goodbye=Goodbye.of(health) if health is not None else None)
