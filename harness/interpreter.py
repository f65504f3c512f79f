"""Another interpreter of Python that runs a program of ours and can import whatever this one can."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

_BOOT = (
    "import importlib, json, sys; sys.path[:] = json.loads(sys.argv.pop(1)); "
    "sys.exit(importlib.import_module(sys.argv.pop(1)).main(sys.argv[1:]))"
)


def program(module: str, arguments: Sequence[str]) -> list[str]:
    """The command that calls ``main`` of a module with arguments and ends with what that returns."""
    return [sys.executable, "-c", _BOOT, json.dumps(sys.path), module, *arguments]
