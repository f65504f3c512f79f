"""What a real server does while its storage plugin misbehaves, and what remains of it afterwards: measured, not judged."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from fixturegen.environment import PinnedEnvironment
from fixturegen.errors import EnvironmentUnavailable
from harness.l2.served.engine import Engine, Found, Prompt, prompt
from harness.l2.served.server import PluginPlace, ServedPlugin, locks, served
from wire.release import Release

PATIENCE: Final = 3.0
"""Seconds after which something counts as never; a submit that blocks does so for longer than a server needs for anything."""
WATCHED: Final = 0.5
"""Seconds in which an idle server's use of the processor is looked at."""
SPINS: Final = 0.5
"""Of a processor: an idle server that uses more is in a loop."""
AT_ONCE: Final = 8
"""Lookups that a server has under way at most, unless it is told otherwise; the others wait."""


@dataclass(frozen=True)
class Outcome:
    """One word or number for each thing that was looked at; the order is that in which it was."""

    starts: bool = True
    store: str = "-"
    """A store while the fault is on: ``stored``, ``refused``, ``never``."""
    first_tier: str = "-"
    """A load of what the first tier has: ``equal``, ``damaged``, ``miss``, or ``never`` where its lookup does not end."""
    second_tier: str = "-"
    """A load of what only the plugin has."""
    alive: bool = True
    """Whether NOOP is answered."""
    later_store: str = "-"
    """The same when the fault is over, with a server that was not started again."""
    later_first_tier: str = "-"
    later_second_tier: str = "-"
    written_through: bool = True
    """Whether what is stored when the fault is over reaches the plugin."""
    locked: int = 0
    """Objects of the first tier that are locked for good."""
    healthy: bool = True
    """What ``/status`` says of the storage."""
    spins: bool = False
    """Whether the server keeps a processor busy while nobody asks for anything."""
    ends: str = "-"
    """``cleanly``, ``dies`` (with another status than the signal's), ``hangs``; measured where a server has to be stopped."""


def word(engine: Engine, wanted: Prompt) -> str:
    """The word for a load."""
    found: Found = engine.load(wanted)
    if found.hits is None:
        return "never"
    if not found.data:
        return "miss"
    if found.data == engine.contents(wanted):
        return "equal"
    return "part" if found.data == engine.contents(wanted)[: len(found.data)] else "damaged"


def stored(engine: Engine, wanted: Prompt) -> str:
    """The word for a store."""
    return {True: "stored", False: "refused", None: "never"}[engine.store(wanted)]


class Measuring:
    """One release's server, started again where a fault left something behind."""

    def __init__(self, environment: PinnedEnvironment, release: Release, inner: PluginPlace, imports: tuple[Path, ...], folder: Path) -> None:
        self._environment = environment
        self._release = release
        self._switch = folder / "switch"
        params = {"switch": str(self._switch), "module": inner.module, "class_name": inner.class_name, "params": dict(inner.params)}
        self._place = PluginPlace("native_plugin", "harness.l2.served.faulty", "Faulty", params)
        self._imports = imports
        self._folder = folder
        self._held: Any = None
        self._server: ServedPlugin | None = None

    def outcome(self, fault: str, *, at_start: bool = False, times: int = 1) -> Outcome:
        """What comes of a fault; ``times`` is how many lookups meet it."""
        if at_start:
            self.end()
        self._switch.write_text(fault if at_start else "")
        if self._server is None:
            try:
                self._begin()
            except EnvironmentUnavailable:
                return Outcome(starts=False)
        server = self._server
        assert server is not None
        with server.engine(timeout=PATIENCE) as engine:
            found = self._measured(server, engine, fault, times)
        clean = Outcome(
            store="stored", first_tier="equal", second_tier="equal", later_store="stored", later_first_tier="equal", later_second_tier="equal"
        )
        stays = {"store", "first_tier", "second_tier"}
        if at_start or any(getattr(found, name) != getattr(clean, name) for name in Outcome.__dataclass_fields__ if name not in stays):
            found = Outcome(**{**found.__dict__, "ends": self._ended(server)})
        return found

    def stop_outcome(self, fault: str) -> str:
        """How a server ends whose plugin has a fault in ``close``."""
        self._switch.write_text("")
        if self._server is None:
            self._begin()
        assert self._server is not None
        self._switch.write_text(fault)
        return self._ended(self._server)

    def _measured(self, server: ServedPlugin, engine: Engine, fault: str, times: int) -> Outcome:
        far, near, new, later = prompt(3), prompt(2), prompt(2), prompt(2)
        at_start = self._switch.read_text() == fault != ""
        engine.store(far)
        server.written_through(PATIENCE)
        engine.clear()
        engine.store(near)
        server.written_through(PATIENCE)
        self._switch.write_text(fault)
        store = stored(engine, new)
        first = word(engine, near)
        second = word(engine, far)
        for _ in range(times - 1):
            engine.look_up(far)
        alive = engine.alive()
        if not at_start:
            self._switch.write_text("")
        later_store = stored(engine, later)
        later_first = word(engine, later)
        through = server.written_through(PATIENCE)
        engine.clear()
        later_second = word(engine, later)
        server.idle(PATIENCE)
        state = server.status()
        return Outcome(
            True, store, first, second, alive, later_store, later_first, later_second, through, locks(state),
            bool(state["is_healthy"]), self._spins(server),
        )  # fmt: skip

    def _spins(self, server: ServedPlugin) -> bool:
        pid = server.server.pid
        assert pid is not None
        before = _processor_seconds(pid)
        time.sleep(WATCHED)
        return _processor_seconds(pid) - before > SPINS * WATCHED

    def _begin(self) -> None:
        self._held = served(self._environment, self._release, self._place, self._folder, imports=self._imports)
        try:
            self._server = self._held.__enter__()
        except BaseException:
            self._held = None
            raise

    def _ended(self, server: ServedPlugin) -> str:
        status = server.stop(10)
        self.end()
        if status is None:
            return "hangs"
        return "cleanly" if status in {0, -signal.SIGTERM} else f"dies ({status})"

    def end(self) -> None:
        """Stop what runs."""
        if self._held is not None:
            self._held.__exit__(None, None, None)
        self._held = self._server = None


def _processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def changed(outcome: Outcome) -> Mapping[str, Any]:
    """What an outcome has that is not the default."""
    return {name: value for name, value in outcome.__dict__.items() if value != Outcome.__dataclass_fields__[name].default}
