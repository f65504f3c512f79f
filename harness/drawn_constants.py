"""What hypothesis mixes into its examples: constants of its own, and none from the modules that happen to be loaded.

It would also read the source of every local module for constants, again after each import, and try those. Then examples would
depend on what this process has imported so far, which differs between a run in one process and one in many, and between two
clients; and what failed in one would not be tried in the other.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator


@contextlib.contextmanager
def of_hypothesis_alone() -> Iterator[None]:
    """In the block the same seed draws the same examples, whatever else is loaded; afterwards hypothesis works as before.

    A hypothesis that has this elsewhere, which is its inside, draws as it likes; a test tells when one does.
    """
    try:
        providers = importlib.import_module("hypothesis.internal.conjecture.providers")
        look_up, remembered, none = providers._get_local_constants, providers.CONSTANTS_CACHE.cache, providers.Constants()  # noqa: SLF001
    except (ImportError, AttributeError):
        yield
        return
    providers._get_local_constants = lambda: none  # type: ignore[attr-defined]  # noqa: SLF001  # there is no public way
    remembered.clear()
    try:
        yield
    finally:
        providers._get_local_constants = look_up  # type: ignore[attr-defined]  # noqa: SLF001
        remembered.clear()
