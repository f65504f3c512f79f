"""Which captured releases stand for the others in tests that would be too slow for each of them.

Two neighbours are of one generation if their real servers answered every captured conversation with the same bytes.
"""

import itertools

from fixturegen.corpus import TRANSCRIPTS, captured_releases, load_corpus


def conversations(release):
    """What the captured conversations of a release hash to."""
    return load_corpus(release).manifest.files[TRANSCRIPTS].sha256


CAPTURED = captured_releases()
GENERATIONS = [tuple(same) for _, same in itertools.groupby(CAPTURED, conversations)]
REPRESENTATIVES = [generation[-1] for generation in GENERATIONS]
"""The newest release of each generation, oldest first."""


def comma_separated(releases):
    """Releases as ``--lmcache`` takes them."""
    return ",".join(map(str, releases))
