"""The constants in our own source that hypothesis tries among its examples, looked up once for all workers.

Hypothesis reads the source of every local module for them, in each process and again after each import. A process that is
forked from one which has done so begins with what was found, and draws from the same constants.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterable

import pytest


def prepare(items: Iterable[pytest.Item]) -> None:
    """Find them now, if any of the cases draws examples; where hypothesis has them elsewhere, it finds them as ever."""
    if not any("examples" in getattr(item, "fixturenames", ()) for item in items):
        return
    from hypothesis.configuration import set_hypothesis_home_dir

    from harness.examples import home

    set_hypothesis_home_dir(home())
    # Only time is lost where hypothesis, whose inside this is, has moved or changed it.
    with contextlib.suppress(Exception):
        providers = importlib.import_module("hypothesis.internal.conjecture.providers")
        providers._get_local_constants()  # noqa: SLF001  # there is no public way
