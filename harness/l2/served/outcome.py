"""What a real server does while its storage plugin misbehaves, and what is left of it afterwards: measured, not judged."""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Final

from fixturegen.environment import PinnedEnvironment
from fixturegen.errors import EnvironmentUnavailable
from fixturegen.mp.launch import import_root
from harness.l2.served import faulty
from harness.l2.served.engine import Engine, Prompt, prompt
from harness.l2.served.faults import ENDING, LASTING, STARTING, Fault
from harness.l2.served.server import PluginPlace, ServedPlugin, busy_lookups, busy_stores, locks, served
from wire.release import Release

PATIENCE: Final = 2.5
"""Seconds after which something counts as never; what blocks for a while does so for less."""
LATE: Final = 0.8 * faulty.BLOCKED
"""Seconds after which an answer counts as late: that of a server whose plugin does not block comes in milliseconds."""
SPINS: Final = 0.5
"""Of a processor: an idle server that uses more is in a loop."""
STOP: Final = 10.0
"""Seconds in which a server has to end."""


@dataclass(frozen=True)
class Outcome:
    """Words for what was asked while the fault was on, and of the same server later; those that are usual are the defaults.

    A load is ``equal``, ``damaged``, ``part`` (the first chunks of what was stored), ``miss``, or ``never`` where its lookup does
    not end; a store ``stored``, ``refused`` or ``never``. ``late`` stands behind what took as long as the plugin blocked.
    """

    starts: bool = True
    """Whether a server with such a plugin answers at all."""
    store: str = "stored"
    first_tier: str = "equal"
    """A load of what the server's own memory has."""
    second_tier: str = "equal"
    """A load of what only the plugin has."""
    alive: bool = True
    """Whether NOOP is answered."""
    later_store: str = "stored"
    """Of the same server, when the fault is over."""
    later_first_tier: str = "equal"
    later_second_tier: str = "equal"
    """Of what was stored when the fault was over."""
    unwritten: bool = False
    """Whether stores into the plugin never end."""
    unanswered: bool = False
    """Whether lookups are under way for ever."""
    locked: bool = False
    """Whether objects stay in memory, because something holds them for ever."""
    healthy: bool = True
    """What the status page says of the storage."""
    spins: bool = False
    """Whether the server keeps a processor busy while nobody asks for anything."""
    ends: str = "cleanly"
    """When it is asked to: or ``dies (STATUS)``, or ``hangs``. Looked at where something else is unusual."""

    @property
    def unusual(self) -> Mapping[str, Any]:
        """What is not as with a plugin without fault."""
        return {each.name: getattr(self, each.name) for each in fields(self) if getattr(self, each.name) != each.default}

    @property
    def lasts(self) -> bool:
        """Whether anything is left of the fault when it is over."""
        return bool(set(self.unusual) - {"store", "first_tier", "second_tier"})


class FaultyServer:
    """One release's server whose plugin can be told to misbehave; it is started again where a fault left something behind."""

    def __init__(self, environment: PinnedEnvironment, release: Release, inner: PluginPlace, folder: Path) -> None:
        self._environment = environment
        self._release = release
        self._folder = folder
        self._switch = folder / "switch"
        about = {"module": inner.module, "class_name": inner.class_name, "params": dict(inner.params)}
        self._place = PluginPlace(
            "native_plugin", faulty.__name__, faulty.Faulty.__name__, {"switch": str(self._switch), **about}
        )
        self._imports = tuple({import_root(name) for name in (faulty.__name__, inner.module)})
        self._stack = contextlib.ExitStack()
        self._server: ServedPlugin | None = None

    def outcome(self, fault: Fault) -> Outcome:
        """What comes of a fault.

        Raises:
            EnvironmentUnavailable: there is no server even without it.
        """
        if fault.name in ENDING:
            return Outcome(ends=self._ended(self._begun(), fault.name))
        if fault.name in STARTING:
            self.end()
            try:
                server = self._begun(fault.name)
            except EnvironmentUnavailable:
                return Outcome(starts=False)
        else:
            server = self._begun()
        with server.engine(timeout=PATIENCE) as engine:
            found = self._asked(server, engine, fault)
        return replace(found, ends=self._ended(server, self._switch.read_text())) if found.lasts else found

    def end(self) -> None:
        """Stop what runs."""
        self._server = None
        self._stack.close()

    def _asked(self, server: ServedPlugin, engine: Engine, fault: Fault) -> Outcome:
        far, near, new, later, last = prompt(3), prompt(2), prompt(2), prompt(2), prompt(3)
        engine.store(far)
        server.written_through(PATIENCE)
        engine.clear()
        engine.store(near)
        server.written_through(PATIENCE)
        self._switch.write_text(fault.name)
        store, first, second = stored(engine, new), loaded(engine, near), loaded(engine, far)
        for _ in range(fault.lookups - 1):
            engine.look_up(far)
        alive = engine.alive()
        server.written_through(PATIENCE)
        if fault.name not in LASTING:
            self._switch.write_text("")
        later_store = stored(engine, later)
        spins = server.processor() > SPINS
        later_first = loaded(engine, later)
        server.idle(PATIENCE)
        left = server.status()
        engine.store(last)
        server.written_through(PATIENCE)
        engine.clear()
        return Outcome(
            store=store,
            first_tier=first,
            second_tier=second,
            alive=alive,
            later_store=later_store,
            later_first_tier=later_first,
            later_second_tier=loaded(engine, last),
            unwritten=busy_stores(left) > 0,
            unanswered=busy_lookups(left) > 0,
            locked=locks(left) > 0,
            healthy=bool(server.status()["is_healthy"]),
            spins=spins,
        )

    def _begun(self, fault: str = "") -> ServedPlugin:
        if self._server is None:
            self._switch.write_text(fault)
            self._server = self._stack.enter_context(
                served(self._environment, self._release, self._place, self._folder, imports=self._imports)
            )
        return self._server

    def _ended(self, server: ServedPlugin, fault: str) -> str:
        self._switch.write_text(fault)
        status = server.stop(STOP)
        self.end()
        if status is None:
            return "hangs"
        return "cleanly" if status in {0, -signal.SIGTERM} else f"dies ({status})"


def loaded(engine: Engine, wanted: Prompt) -> str:
    """The word for a load."""
    began = time.monotonic()
    found = engine.load(wanted)
    if found.hits is None:
        return "never"
    expected = engine.contents(wanted)
    if not found.data:
        word = "miss"
    elif found.data == expected[: len(found.data)]:
        word = "equal" if len(found.data) == len(expected) else "part"
    else:
        word = "damaged"
    return _timed(word, began)


def stored(engine: Engine, wanted: Prompt) -> str:
    """The word for a store."""
    began = time.monotonic()
    done = engine.store(wanted)
    return "never" if done is None else _timed("stored" if done else "refused", began)


def _timed(word: str, began: float) -> str:
    return f"{word} late" if time.monotonic() - began > LATE else word
