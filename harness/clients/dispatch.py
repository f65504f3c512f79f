"""Calls of a client that is a Python object; used inside this process and by :mod:`harness.clients.host`."""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from harness.client import (
    ERROR_CLASSES,
    Answer,
    ClientError,
    ClientUnavailable,
    Error,
    Miss,
    MissError,
    Ok,
    Unsupported,
    UnsupportedError,
)

Factory = Callable[[], object]
REFERENCE: Final = "harness.reference.lm:ReferenceClient"
BUILT_IN: Final = {"reference": REFERENCE, "reference-mp": "harness.reference.mp.client:ReferenceMpClient"}
"""The clients that come with the harness, by name."""


def load_factory(place: str) -> Factory:
    """The class (or function without arguments) named by ``package.module:Class``, importable from the current directory.

    Raises:
        ClientUnavailable: there is no such thing, or importing it fails; the message says which.
    """
    module_name, separator, attribute = BUILT_IN.get(place, place).partition(":")
    if not separator or not module_name or not attribute:
        raise ClientUnavailable(f"{place!r} names no class; write package.module:Class")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found: object = importlib.import_module(module_name)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a module may raise anything, SystemExit included
        raise ClientUnavailable(f"cannot import {module_name}: {describe(error)}{_where(module_name, error)}") from error
    for step in attribute.split("."):
        if not hasattr(found, step):
            raise ClientUnavailable(f"module {module_name} has no {attribute!r}")
        found = getattr(found, step)
    if not callable(found):
        raise ClientUnavailable(f"{place} is a {type(found).__name__}; a class is needed")
    return found


def _where(module_name: str, error: BaseException) -> str:
    """Where a module was looked for, if it is not there at all; one that is there may lack something else."""
    if not isinstance(error, ModuleNotFoundError) or not f"{module_name}.".startswith(f"{error.name}."):
        return ""
    return f"; it was looked for in {Path.cwd()}, in PYTHONPATH and among the packages of {sys.executable}"


def perform(client: object, op: str, args: Mapping[str, Any]) -> Answer:
    """One operation of a client object; results are not checked yet. Only exceptions that end a process escape.

    A client may leave ``bye`` out: whoever runs it ends it.
    """
    method = None if op.startswith("_") else getattr(client, op, None)
    if not callable(method):
        if op == "bye":
            return Ok({})
        return Unsupported(f"no operation {op!r}")
    try:
        began = time.perf_counter_ns()
        values = method(**args)
        return Ok(values, time.perf_counter_ns() - began)
    except MissError:
        return Miss()
    except UnsupportedError as error:
        return Unsupported(str(error))
    except ClientError as error:
        if error.kind not in ERROR_CLASSES:
            return Error("internal", f"ClientError with the unknown class {error.kind!r}: {error}")
        return Error(error.kind, str(error))
    except Exception as error:  # noqa: BLE001  # whatever a client raises is its answer
        return Error("internal", describe(error))


def describe(error: BaseException) -> str:
    """An exception as ``Type: message``."""
    try:
        message = str(error)
    except Exception:  # noqa: BLE001  # a broken __str__ must not hide the exception
        message = "(its message cannot be shown)"
    return f"{type(error).__name__}: {message}" if message else type(error).__name__
