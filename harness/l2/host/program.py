"""Takes commands from one pipe and answers on another, until that ends."""

from __future__ import annotations

import faulthandler
import importlib
import importlib.util
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from . import frames, watched
from .buffers import BLANK, Buffers
from .driver import Driver, PluginError, Result, call, describe, shown, whole

DRIVERS = {"native_plugin": "native:Native", "plugin": "adapter:Adapter"}
"""Where the driver of each kind is; the second one needs the real lmcache."""
DURABILITY = "lmconform_durability"
"""An attribute by which an instance says what its objects survive: ``none``, ``process`` or ``power``."""
_BEAT = 0.001
_PROCESS = Path("/proc/self")
Blobs = Sequence[frames.Blob]


class Host:
    """The plugin's class, its open instances and the memory that they are given."""

    def __init__(self) -> None:
        self._buffers = Buffers()
        self._instances: dict[int, Driver] = {}
        self._factory: Callable[..., Any] | None = None
        self._driver: type[Driver] | None = None
        self._resting = threading.Event()
        self._plain: dict[str, Callable[..., Result]] = {
            "load_class": self.load_class,
            "open": self.open,
            "close": self.close,
            "blank": self.blank,
            "write": self.write,
            "check": self.check,
            "spend": self.spend,
            "disturbed": self.disturbed,
            "resources": self.resources,
            "together": self.together,
            "beat": self.beat,
            "rest": self.rest,
        }

    def answer(self, op: str, args: Mapping[str, Any], blobs: list[bytearray]) -> tuple[Result, Blobs]:
        """Do one command; the result and the bytes that go with it."""
        if op == "buffers":
            return {"numbers": [one.number for one in self._buffers.new(blobs)]}, ()
        if op == "read":
            return {}, [one.content for one in self._buffers.get(args["buffers"])]
        if op == "store":
            return self._store(blobs=blobs, **args), ()
        if op == "load":
            return self._load(**args)
        if op == "write":
            return self.write(args["buffer"], blobs[0]), ()
        return self.plain(op, args), ()

    def plain(self, op: str, args: Mapping[str, Any]) -> Result:
        """Do one command that neither takes nor gives bulk data."""
        if op in self._plain:
            return self._plain[op](**args)
        rest = dict(args)
        driver = self._driver_of(rest.pop("instance"))
        if op in {"lookup", "delete"}:
            result: Result = getattr(driver, op)(**rest)
            return result
        if op in {"statistics", "usage"}:
            return {"value": _told(op, getattr(driver, op)())}
        if op == "corrupt":
            return {"value": _told(op, driver.corrupt(**rest))}
        if op not in driver.commands:
            raise PluginError("missing", f"a plugin of kind {driver.kind} has no command {op}")
        return driver.commands[op](**rest)

    def load_class(self, kind: str, module: str, name: str, paths: Sequence[str], options: Mapping[str, Any]) -> Result:
        """Import the plugin's class; ``options`` go to the driver's ``prepare`` where it has one."""
        sys.path[:0] = [path for path in paths if path not in sys.path]
        place, _, attribute = DRIVERS[kind].partition(":")
        driver = getattr(importlib.import_module(f".{place}", __package__), attribute)
        if hasattr(driver, "prepare"):
            self._factory, self._buffers = driver.prepare(module, name, options, load)
        else:
            self._factory = load(module, name)
        self._driver = driver
        factory: Any = self._factory
        version = getattr(factory, "__version__", None) or getattr(
            sys.modules.get(getattr(factory, "__module__", module)), "__version__", None
        )
        return {"version": version if isinstance(version, str) else "", "python": sys.version.split()[0]}

    def open(self, instance: int, params: Mapping[str, Any]) -> Result:
        """Make an instance."""
        assert self._factory is not None
        assert self._driver is not None
        try:
            plugin = self._factory(**params)
        except BaseException as error:
            traceback.print_exc()
            given = ", ".join(f"{name}={value!r}" for name, value in params.items())
            raise PluginError("raised", f"the class cannot be made with ({given}): {describe(error)}") from error
        self._instances[instance] = driver = self._driver(plugin, self._buffers)
        said = call(DURABILITY, getattr, plugin, DURABILITY, None)
        return {
            "offers": call("looking for its methods", driver.offers),
            "lacks": call("looking for its methods", driver.lacks),
            "durability": said if said is None or isinstance(said, str) else shown(said),
        }

    def close(self, instance: int) -> Result:
        """Close an instance; it stays known, so that what it does afterwards can be seen."""
        began = time.monotonic()
        self._driver_of(instance).close()
        return {"seconds": time.monotonic() - began}

    def blank(self, sizes: Sequence[int]) -> Result:
        """Buffers to load into."""
        return {"numbers": [one.number for one in self._buffers.blank(sizes)]}

    def write(self, buffer: int, content: frames.Blob) -> Result:
        """Replace what a buffer holds."""
        self._buffers.get([buffer])[0].fill(content)
        return {}

    def check(self, buffers: Sequence[int]) -> Result:
        """Which buffers have whole fences, and which were not touched since they were made blank."""
        held = self._buffers.get(buffers)
        return {"fenced": [one.fenced for one in held], "blank": [one.holds_only(BLANK) for one in held]}

    def spend(self, buffers: Sequence[int]) -> Result:
        """Let go of buffers; from now on nobody may touch them."""
        self._buffers.spend(self._buffers.get(buffers))
        return {}

    def disturbed(self) -> Result:
        """Buffers that somebody wrote to after they were let go."""
        return {"numbers": self._buffers.disturbed()}

    def resources(self) -> Result:
        """What this process holds: descriptors by what they lead to, threads by name, and child processes."""
        return {
            "descriptors": sorted(_descriptors()),
            "threads": sorted(thread.name for thread in threading.enumerate()),
            "tasks": len(list((_PROCESS / "task").iterdir())),
            "children": _children(),
        }

    def together(self, threads: Mapping[str, Sequence[Mapping[str, Any]]], timeout: float) -> Result:
        """Several threads, each of which does its commands one after the other; all begin at once.

        A command is a map of ``op``, ``args`` and ``times`` (1 if left out). The results of each thread are a list of
        results, or of ``{"failed": kind, "text": ...}``, which ends the thread.
        """
        results: dict[str, list[Result]] = {name: [] for name in threads}
        gate = threading.Barrier(len(threads))
        running = [
            threading.Thread(target=self._thread, args=(gate, steps, results[name]), name=name, daemon=True)
            for name, steps in threads.items()
        ]
        for thread in running:
            thread.start()
        until = time.monotonic() + timeout
        for thread in running:
            thread.join(max(0.0, until - time.monotonic()))
        late = [thread.name for thread in running if thread.is_alive()]
        if late:
            raise PluginError("hang", f"after {timeout:g} s these threads were still at work: {', '.join(late)}")
        return {"results": results}

    def beat(self, timeout: float) -> Result:
        """In a thread of :meth:`together`: do next to nothing every millisecond until :meth:`rest`; the longest pause between."""
        self._resting.clear()
        until = time.monotonic() + timeout
        last, longest = time.monotonic(), 0.0
        while not self._resting.is_set() and last < until:
            time.sleep(_BEAT)
            now = time.monotonic()
            last, longest = now, max(longest, now - last)
        return {"longest": longest}

    def rest(self) -> Result:
        """End :meth:`beat`."""
        self._resting.set()
        return {}

    def _thread(self, gate: threading.Barrier, steps: Sequence[Mapping[str, Any]], results: list[Result]) -> None:
        gate.wait()
        for step in steps:
            for _ in range(step.get("times", 1)):
                try:
                    results.append(self.plain(step["op"], step["args"]))
                except PluginError as error:
                    results.append({"failed": error.kind, "text": str(error)})
                    return
                except Exception as error:  # noqa: BLE001  # a fault of the harness must not look like silence
                    results.append({"failed": "harness", "text": describe(error)})
                    return

    def _store(self, instance: int, keys: Sequence[str], timeout: float, blobs: Sequence[frames.Blob]) -> Result:
        buffers = self._buffers.new(blobs)
        began = time.monotonic()
        result = self._driver_of(instance).store(keys, buffers, timeout)
        result["seconds"] = time.monotonic() - began
        result["changed"] = [place for place, (one, blob) in enumerate(zip(buffers, blobs)) if one.content != blob]  # noqa: B905
        result["fenced"] = all(one.fenced for one in buffers)
        self._buffers.spend(buffers)
        return result

    def _load(self, instance: int, keys: Sequence[str], sizes: Sequence[int], timeout: float) -> tuple[Result, Blobs]:
        buffers = self._buffers.blank(sizes)
        began = time.monotonic()
        result = self._driver_of(instance).load(keys, buffers, timeout)
        result["seconds"] = time.monotonic() - began
        result["touched"] = [not one.holds_only(BLANK) for one in buffers]
        result["fenced"] = all(one.fenced for one in buffers)
        blobs = [bytes(one.content) for one, found in zip(buffers, result["found"]) if found]  # noqa: B905
        self._buffers.spend(buffers)
        return result, blobs

    def _driver_of(self, instance: int) -> Driver:
        return self._instances[instance]


def load(module: str, name: str) -> Callable[..., Any]:
    """The class of a module, or of a file where the name ends in ``.py``.

    Raises:
        PluginError: it cannot be imported, or there is no such class.
    """
    try:
        found = _file(Path(module)) if module.endswith(".py") else importlib.import_module(module)
    except BaseException as error:
        traceback.print_exc()
        places = (
            f"; it was looked for in {', '.join(sys.path)}. A package that is missing is to be installed for {sys.executable}"
            if isinstance(error, ModuleNotFoundError)
            else ""
        )
        raise PluginError("missing", f"cannot import {module}: {describe(error)}{places}") from error
    if not hasattr(found, name):
        raise PluginError("missing", f"module {module} has no class {name!r}")
    factory: Any = getattr(found, name)
    if not callable(factory):
        raise PluginError("missing", f"{module}:{name} is a {type(factory).__name__}; a class is needed")
    loaded: Callable[..., Any] = factory
    return loaded


def _file(path: Path) -> Any:
    sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def _descriptors() -> list[str]:
    found = []
    for entry in (_PROCESS / "fd").iterdir():
        try:
            found.append(str(entry.readlink()))
        except OSError:
            continue
    return [place for place in found if not place.endswith(f"/proc/{os.getpid()}/fd")]


def _children() -> int:
    count = 0
    for task in (_PROCESS / "task").iterdir():
        try:
            count += len((task / "children").read_text().split())
        except OSError:
            continue
    return count


def _told(op: str, value: Any) -> Any:
    try:
        return _plain_value(value)
    except PluginError:
        raise
    except BaseException as error:
        raise PluginError("contract", f"{op} gave {shown(value)}, which cannot be told: {describe(error)}") from error


def _plain_value(value: Any) -> Any:
    """What the plugin tells, as far as JSON can hold it."""
    if isinstance(value, int) and not isinstance(value, bool):
        return whole("a statistic", value)
    if value is None or isinstance(value, (bool, float, str)):
        return value
    if isinstance(value, Mapping):
        return {str(name): _plain_value(one) for name, one in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain_value(one) for one in value]
    members = getattr(value, "__dict__", None)
    return {name: _plain_value(one) for name, one in members.items()} if isinstance(members, dict) and members else shown(value)


def main(arguments: Sequence[str]) -> None:
    """Serve the pipes of these numbers; ends the process."""
    incoming, outgoing = map(int, arguments)
    for descriptor in (incoming, outgoing):
        os.set_inheritable(descriptor, False)  # a child of the plugin must not keep them open
    os.dup2(2, 1)
    watched.install_if_asked()
    faulthandler.enable()
    faulthandler.register(signal.SIGUSR1)
    host = Host()
    while True:
        try:
            members, blobs = frames.receive(incoming)
        except frames.Ended:
            os._exit(0)
        if members["op"] == "quit":
            os._exit(0)
        given: Blobs = ()
        answer: Result
        try:
            result, given = host.answer(members["op"], members["args"], blobs)
            answer = {"ok": result}
        except PluginError as error:
            answer = {"failed": error.kind, "text": str(error)}
        except BaseException as error:  # noqa: BLE001  # the harness is told of its own faults, too
            traceback.print_exc()
            answer = {"failed": "harness", "text": describe(error)}
        del blobs
        frames.send(outgoing, answer, given)
