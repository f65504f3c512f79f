"""Captures as cases use them: vectors, transcripts, their bytes, and the replay of a conversation."""

from fixturegen.player import replay
from fixturegen.vector import MASKED, Transcript, Vector, patterned, raw

__all__ = ["MASKED", "Transcript", "Vector", "patterned", "raw", "replay"]
