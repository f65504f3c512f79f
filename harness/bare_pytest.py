"""Pytest for the cases alone: with our plugin, and deaf to configuration and plugins of the folder it is called from."""

from __future__ import annotations

import contextlib
import gc
import io
import os
import sys
from collections.abc import Generator, Iterator, Sequence
from typing import Any, Final

import pytest

from harness.collectors import collectors
from harness.plugin import CASES
from harness.usage import UsageError

UNUSED: Final = (
    "cacheprovider",
    "terminal",
    "logging",
    "warnings",
    "unraisableexception",
    "threadexception",
    "doctest",
    "unittest",
    "junitxml",
    "pastebin",
    "debugging",
    "setuponly",
    "setupplan",
    "stepwise",
)
"""Plugins of pytest that no case needs; over ten thousands of cases each of them costs seconds."""


def bare_pytest(arguments: Sequence[str], *plugins: object) -> int:
    """Run pytest in this process; its exit status.

    Raises:
        UsageError: our plugin refused the arguments.
    """
    collectors.results = None
    said = io.StringIO()
    fixed = ["-c", str(CASES / "pytest.ini"), "-p", "harness.plugin", *(word for name in UNUSED for word in ("-p", f"no:{name}"))]
    with _environment(), _garbage_left_alone() as thrift, contextlib.redirect_stderr(said):
        status = int(pytest.main([str(CASES), *fixed, *arguments], plugins=[*plugins, thrift]))
    if status == pytest.ExitCode.USAGE_ERROR:
        raise UsageError(said.getvalue().strip().removeprefix("ERROR: "))
    sys.stderr.write(said.getvalue())
    return status


@contextlib.contextmanager
def _environment() -> Iterator[None]:
    """Variables under which pytest loads and adds nothing of its own accord."""
    before = os.environ.get("PYTEST_DISABLE_PLUGIN_AUTOLOAD"), os.environ.get("PYTEST_ADDOPTS")
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    os.environ.pop("PYTEST_ADDOPTS", None)
    try:
        yield
    finally:
        for name, value in zip(("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "PYTEST_ADDOPTS"), before, strict=True):
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


_GARBAGE: Final = 10_000
"""New objects after which the garbage collector looks for cycles, instead of 700."""


class _Thrift:
    """Keeps the garbage collector from looking again and again at cases that all stay until the end."""

    @pytest.hookimpl(wrapper=True)
    def pytest_collection(self) -> Generator[None, Any, Any]:
        """Collect without it, and set what was collected apart."""
        collecting = gc.isenabled()
        gc.disable()
        try:
            return (yield)
        finally:
            gc.freeze()
            if collecting:
                gc.enable()


@contextlib.contextmanager
def _garbage_left_alone() -> Iterator[_Thrift]:
    before = gc.get_threshold()
    gc.set_threshold(_GARBAGE, *before[1:])
    try:
        yield _Thrift()
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
