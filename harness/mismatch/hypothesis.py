"""Hypotheses: one known cause of a mismatch each, with what it changes in a deployment or in its recipe."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from harness.mismatch.recipe import Recipe
from reports.keys.record import Cause
from wire.deployments import Deployment

DeploymentChange = Callable[[Deployment], Deployment]
RecipeChange = Callable[[Recipe, Deployment], Recipe | None]
"""None: the change means nothing for this recipe."""


@dataclass(frozen=True)
class Hypothesis:
    """A cause, and what it changes: the settings from which the recipe follows, its function, or the recipe itself."""

    dimension: str
    """Hypotheses of one dimension exclude each other."""
    cause: Cause
    deployment: DeploymentChange | None = None
    function: str | None = None
    recipe: RecipeChange | None = None
    common: bool = False
    """Likely enough to be tried in threes."""
    rereads: bool = False
    """It changes what the rest of the key ought to be."""
    members: tuple[str, ...] = ()
    """Versions that the cause names; `joined` makes the cause that names those of several hypotheses."""
    joined: Callable[[tuple[str, ...]], Cause] | None = None


def deployed(**changes: Any) -> DeploymentChange:
    """Other settings."""
    return lambda it: replace(it, **changes)


def cooked(applies: Callable[[Recipe], bool] | None = None, **changes: Any) -> RecipeChange:
    """Another recipe, where the change means something."""
    return lambda it, _: replace(it, **changes) if applies is None or applies(it) else None
