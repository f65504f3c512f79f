"""A plugin that is opened to be killed."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from harness.client import ClientFailure
from harness.l2.calls.table import CALLS, CHANGES
from harness.l2.calls.watcher import Watcher
from harness.l2.crashes.trigger import Trigger
from harness.l2.host_process import HostProcess
from harness.l2.plugin_process import Plugin, Watch
from harness.l2.session import PluginSession


@contextlib.contextmanager
def opened(
    session: PluginSession, folder: Path, trigger: Trigger, *, watched: bool, reads: bool = False
) -> Iterator[Plugin | None]:
    """The plugin in a process of its own, which is killed at the end; None if the trigger killed it while it was opened.

    With ``reads`` the trigger is asked about calls that only read as well. Failures of the plugin do not count against the
    patience of the session, since dying is what it is here for.

    Raises:
        CannotWatch: calls of the file system cannot be watched here.
        ClientFailure: it could not be opened, and that was not the trigger's doing.
    """
    watcher = Watcher(folder, trigger, names=CALLS if reads else CHANGES) if watched else None
    process = None
    try:
        try:
            process = HostProcess(session.resolved, session.budget, watcher=watcher)
            plugin = Plugin(process, folder, session.backend_address, watch=Watch())
        except ClientFailure:
            if not trigger.fired:
                raise
            yield None
        else:
            yield plugin
    finally:
        if process is not None:
            process.kill()
            process.discard()
        if watcher is not None:
            watcher.stop()
            trigger.ended = watcher.killed_before
            if watcher.failure is not None:
                raise watcher.failure
