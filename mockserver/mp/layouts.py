"""Layouts of the objects of each model and world size, counted by registrations."""

from __future__ import annotations

from mockserver.mp.objects import Layout
from mockserver.mp.sessions import HandlerError


class Layouts:
    """The layout that was registered last stays until the last registration of its model is gone."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, int], tuple[Layout, int]] = {}

    def register(self, model: str, world_size: int, layout: Layout) -> None:
        """Count one more registration."""
        _, count = self._known.get((model, world_size), (layout, 0))
        self._known[model, world_size] = (layout, count + 1)

    def unregister(self, model: str, world_size: int) -> None:
        """Count one less."""
        layout, count = self._known.pop((model, world_size), (None, 0))
        if layout is not None and count > 1:
            self._known[model, world_size] = (layout, count - 1)

    def find(self, model: str, world_size: int) -> Layout | None:
        """The layout of a model."""
        return self._known.get((model, world_size), (None, 0))[0]

    def require(self, model: str, world_size: int) -> None:
        """Fail where a model is not registered.

        Raises:
            HandlerError: it is not.
        """
        if (model, world_size) not in self._known:
            raise HandlerError(f"model {model!r} with world size {world_size} is not registered")
