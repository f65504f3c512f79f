"""Waiting for something that gives no sign when it happens, such as the end of a process that is no child of ours."""

import time

PATIENCE = 30.0
"""Seconds."""


def wait_until(condition, what):
    """Look again and again; ``what()`` says what is wrong where the condition never holds."""
    until = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < until, what()
        time.sleep(0.02)
