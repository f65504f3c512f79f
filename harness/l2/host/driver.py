"""What the host can do with a plugin, whatever its kind."""

from __future__ import annotations

import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .buffers import Buffer, Buffers

LONGEST = 1024
"""Bits of a number that is passed on; Python refuses to write much longer ones."""
Result = dict[str, Any]
Command = Callable[..., Result]


class PluginError(Exception):
    """The plugin did something that the harness is told of: ``kind`` is ``raised``, ``contract``, ``hang`` or ``missing``."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


class Driver(ABC):
    """One instance of a plugin. Keys are strings in the native form.

    ``store``, ``load``, ``lookup`` and ``delete`` wait for the end of what they begin, ``timeout`` seconds at most, and raise
    :class:`PluginError` (``hang``) after that.
    """

    kind: str

    def __init__(self, plugin: Any, buffers: Buffers) -> None:
        self.plugin = plugin
        self.buffers = buffers

    @property
    @abstractmethod
    def commands(self) -> Mapping[str, Command]:
        """Commands of this kind alone, by name; they take the members of ``args`` by name."""

    @abstractmethod
    def offers(self) -> list[str]:
        """What the plugin has of ``delete``, ``usage``, ``statistics`` and ``corrupt``."""

    def lacks(self) -> list[str]:
        """Methods that the kind demands and the plugin does not have."""
        return []

    @abstractmethod
    def store(self, keys: Sequence[str], buffers: Sequence[Buffer], timeout: float) -> Result:
        """Members ``ok`` and ``error``."""

    @abstractmethod
    def load(self, keys: Sequence[str], buffers: Sequence[Buffer], timeout: float) -> Result:
        """Members ``ok``, ``error`` and ``found``, one boolean for each key."""

    @abstractmethod
    def lookup(self, keys: Sequence[str], timeout: float) -> Result:
        """Members ``ok``, ``error`` and ``found``."""

    @abstractmethod
    def delete(self, keys: Sequence[str], timeout: float) -> Result:
        """Members ``ok``, ``error`` and ``gone``: a boolean for each key, or None where the plugin does not tell."""

    @abstractmethod
    def close(self) -> None:
        """Close the plugin."""

    def statistics(self) -> Any:
        """What the plugin tells of itself, by ``statistics()`` or ``report_status()``; None if nothing."""
        for name in ("statistics", "report_status"):
            if callable(getattr(self.plugin, name, None)):
                return call(name, getattr(self.plugin, name))
        return None

    def usage(self) -> Any:
        """What the plugin tells of the space that it uses; None if nothing."""
        return call("get_usage", self.plugin.get_usage) if callable(getattr(self.plugin, "get_usage", None)) else None

    def corrupt(self, key: str, how: str) -> Any:
        """Damage what is stored under a key, by the plugin's own hook."""
        if not callable(getattr(self.plugin, "lmconform_corrupt", None)):
            raise PluginError("missing", "the plugin has no lmconform_corrupt")
        return call("lmconform_corrupt", self.plugin.lmconform_corrupt, key, how)


def call(name: str, method: Callable[..., Any], *args: Any) -> Any:
    """Call the plugin.

    Raises:
        PluginError: it raised something, be it ``SystemExit``; the trace goes to standard error.
    """
    try:
        return method(*args)
    except BaseException as error:
        traceback.print_exc()
        raise PluginError("raised", f"{name} raised {describe(error)}") from error


def whole(name: str, given: Any) -> int:
    """The number that the plugin gave, as the server makes it of anything that has one.

    Raises:
        PluginError: it has none, or one so long that nobody can tell it.
    """
    try:
        number = int(given)
    except BaseException:  # noqa: BLE001  # whatever the server would stumble over
        raise PluginError("contract", f"{name} gave {shown(given)}; it must be a number") from None
    if number.bit_length() > LONGEST:
        raise PluginError("contract", f"{name} gave a number of {number.bit_length()} bits")
    return number


def pollable(name: str, number: int) -> int:
    """A descriptor that can be waited for, open or not.

    Raises:
        PluginError: no descriptor has that number.
    """
    if not 0 <= number < 1 << 31:
        raise PluginError("contract", f"{name} gave {number}, which is no descriptor")
    return number


def describe(error: BaseException) -> str:
    """An exception as ``Type: message``."""
    try:
        message = str(error)
    except BaseException:  # noqa: BLE001  # a broken __str__ must not hide the exception
        message = "(its message cannot be shown)"
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def shown(value: Any, limit: int = 200) -> str:
    """A value as a report quotes it."""
    try:
        text = repr(value)
    except BaseException:  # noqa: BLE001  # nor may a broken __repr__
        text = f"a {type(value).__name__} that cannot be shown"
    return text if len(text) <= limit else f"{text[:limit]}..."
