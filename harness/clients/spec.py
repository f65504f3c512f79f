"""Client specifications, as users write them: ``reference``, ``python:...``, ``stdio:...``, ``docker:...`` and so on."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from fixturegen.environment import LOCALHOST
from harness.client import Budget, ClientCrash, ClientUnavailable
from harness.clients.dispatch import BUILT_IN, load_factory
from harness.clients.host import TIMED, UNAVAILABLE
from harness.clients.inprocess import InProcessSession
from harness.clients.real import real_client, real_mp_client
from harness.clients.session import ClientSession
from harness.clients.stdio import Listener, StdioSession
from harness.interpreter import program
from harness.presence import exists, is_file
from harness.supervise import exit_text

_FORMS: Final = (
    "reference, reference-mp, python:package.module:Class, stdio:COMMAND ..., docker:IMAGE [COMMAND ...], lmcache:RELEASE, "
    "lmcache-mp:RELEASE, mutant:NAME"
)

_REAL: Final = {"lmcache": real_client, "lmcache-mp": real_mp_client}


def open_client(
    spec: str,
    *,
    budget: Budget | None = None,
    scratch_parent: Path | None = None,
    apart: bool = False,
    timed: bool = False,
    listen: Listener | None = None,
) -> ClientSession:
    """A running client; ``apart`` gives a Python client a process of its own, so that it takes nothing along when it dies.

    ``timed`` lets a Python client in a process of its own say how long it took, and ``listen`` hears each line, of a client that
    speaks in lines.

    Raises:
        ClientUnavailable: the specification is wrong or the client cannot be started; the message is one sentence for the user.
        ClientFailure: it started, and failed at ``hello``.
        EnvironmentUnavailable: the real lmcache was asked for, and its environment cannot be made.
    """
    kind, _, rest = spec.strip().partition(":")
    if runs_inside(spec):
        place = _place(kind, rest)
        if apart:
            return _hosted([*([TIMED] if timed else []), place], budget, scratch_parent, listen)
        return InProcessSession(load_factory(place), budget=budget, scratch_parent=scratch_parent)
    if kind == "stdio":
        return StdioSession(parse_command(rest), budget=budget, scratch_parent=scratch_parent, listen=listen)
    if kind == "docker":
        from harness.clients.container import ContainerSession, parse_container

        return ContainerSession(parse_container(rest), budget=budget, scratch_parent=scratch_parent, listen=listen)
    if kind in _REAL:
        command, variables = _REAL[kind](rest)
        return StdioSession(command, budget=budget, scratch_parent=scratch_parent, env=variables, listen=listen)
    raise ClientUnavailable(f"{spec!r} is no client specification; write one of: {_FORMS}{_suggestion(spec)}")


def meeting_address(spec: str) -> str:
    """The address of this machine that servers must listen on so that a client reaches them.

    Raises:
        ClientUnavailable: there is none.
    """
    kind, _, rest = spec.strip().partition(":")
    if kind != "docker":
        return LOCALHOST
    from harness.clients import container

    return container.meeting_address(container.parse_container(rest))


def runs_inside(spec: str) -> bool:
    """Whether a client runs inside the process that opens it, so that what kills the one kills the other."""
    kind, _, rest = spec.strip().partition(":")
    return kind in {"python", "mutant"} or (kind in BUILT_IN and not rest)


def takes_limits(spec: str) -> bool:
    """Whether a client is a process of this machine, which the kernel can keep to limits (``--client-limits``)."""
    kind, _, _ = spec.strip().partition(":")
    return kind == "stdio" or kind in _REAL


def may_kill(spec: str) -> bool:
    """Whether a client of which we know nothing runs inside the process that opens it."""
    return runs_inside(spec) and not spec.strip().startswith("reference")


def _place(kind: str, rest: str) -> str:
    """Where the class of a Python client is, as ``package.module:Class``."""
    if kind == "mutant":
        from harness.mutants.mutant import find_mutant

        return find_mutant(rest).place
    return rest if kind == "python" else BUILT_IN[kind]


def _hosted(
    arguments: Sequence[str], budget: Budget | None, scratch_parent: Path | None, listen: Listener | None
) -> ClientSession:
    try:
        command = program("harness.clients.host", arguments)
        return StdioSession(command, budget=budget, scratch_parent=scratch_parent, listen=listen)
    except ClientCrash as crash:
        if exit_text(UNAVAILABLE) in str(crash):
            raise ClientUnavailable(crash.stderr.strip()) from None
        raise


def parse_command(text: str) -> list[str]:
    """The words of a command, the first one as the path of a program that can be run; no shell is involved.

    Raises:
        ClientUnavailable: there is no such program.
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise ClientUnavailable(f"cannot split the command {text!r} into words: {error}") from None
    if not words:
        raise ClientUnavailable("stdio: needs a command, such as stdio:./my-adapter or stdio:'python3 adapter.py'")
    return [_program(words[0]), *words[1:]]


def _program(name: str) -> str:
    if os.sep not in name:
        found = shutil.which(name)
        if found is None:
            hint = f"; there is one in the current directory, write stdio:./{name}" if is_file(name) else ""
            raise ClientUnavailable(f"there is no command {name!r} on the search path{hint}")
        return found
    path = Path.cwd() / name
    if not exists(path):
        raise ClientUnavailable(f"there is no file {path}")
    if not is_file(path):
        raise ClientUnavailable(f"{path} is not a file that could be run")
    if not os.access(path, os.X_OK):
        raise ClientUnavailable(f"{path} is not executable; try: chmod +x {shlex.quote(name)}")
    return str(path)


def _suggestion(spec: str) -> str:
    word = spec.strip().partition(" ")[0]
    if exists(word) or shutil.which(word):
        return f" (to run it as a program: stdio:{spec.strip()})"
    if ":" in spec and "/" not in spec:
        return f" (to load a class: python:{spec.strip()})"
    return ""
