"""The search: sets of causes, small and likely ones first, until some turn keys of the deployment into the expected ones."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from harness.mismatch.causes import COOKING_ORDER, hypotheses
from harness.mismatch.expected import Expected, Spelled, spelled, spelled_values, spelling
from harness.mismatch.hypothesis import Hypothesis
from harness.mismatch.identity import identity_causes
from harness.mismatch.positions import Placed, partial_missing, placed
from harness.mismatch.recipe import Kitchen, Recipe, Value, recipe_of
from harness.mismatch.request import Request
from harness.mismatch.spellings import SPELLINGS
from reports.keys.record import Cause
from wire.deployments import Deployment
from wire.errors import EncodeError
from wire.keys import KEY_GRAMMARS
from wire.release import Release


@dataclass(frozen=True)
class View:
    """How much of the tokens sets of one size look at, so that a search ends in seconds."""

    tokens: int
    chunks: int


VIEWS: Final = (
    View(tokens=1 << 62, chunks=1 << 62),
    View(tokens=1 << 17, chunks=1 << 10),
    View(tokens=1 << 12, chunks=64),
    View(tokens=1 << 11, chunks=32),
)
"""By the number of causes; the deployment itself is compared whole."""
MOST_EXPECTED: Final = 16
"""Expected keys that a hypothesis has to give; the deployment itself has to give all."""


@dataclass(frozen=True)
class Match:
    """A set of hypotheses under which expected keys come out, and what else differs then."""

    hypotheses: tuple[Hypothesis, ...]
    recipe: Recipe
    placed: Placed
    identity: tuple[Cause, ...]
    spelled: tuple[Cause, ...]
    covers: int
    """How many of the expected keys, from the first on."""

    @property
    def other_causes(self) -> tuple[Cause, ...]:
        """Causes that are seen and not supposed."""
        return (*self.identity, *self.spelled, *self.placed.causes)

    @property
    def size(self) -> int:
        """The number of causes."""
        return len(self.hypotheses) + len(self.other_causes)


@dataclass
class Tally:
    """What a search has tried."""

    sets: list[int]
    chains: int = 0


class Search:
    """One search: a request, expected keys, and what was found on the way."""

    def __init__(self, request: Request, expected: Sequence[Expected]) -> None:
        self._request = request
        self._expected = expected
        self.hypotheses = hypotheses(request)
        self.tally = Tally([])
        self.partial: Match | None = None
        """The smallest set that gives the most of several expected keys, but not all."""
        self._targets: dict[Spelled, list[int]] = {}
        for index, one in enumerate(expected):
            for value in spelled_values(one.hash_text):
                self._targets.setdefault(value, []).append(index)
        self._seen: set[tuple[object, ...]] = set()
        self._identities: dict[Release, tuple[Cause, ...]] = {}
        self._recipes: dict[tuple[Deployment, str | None], Recipe | None] = {}

    def run(self) -> list[Match]:
        """The matches of the smallest size, the likeliest first; none if no set of known causes gives the expected keys."""
        best: list[Match] = []
        for size in range(len(VIEWS)):
            # A larger set can only be as small in all if it explains what was seen beside the hash.
            rereading = bool(best)
            if best and size > best[0].size:
                break
            found = list(self._matches(size, rereading=rereading))
            least = min((match.size for match in [*best, *found]), default=0)
            best = [match for match in [*best, *found] if match.size == least]
        return best

    def tried_alone(self) -> list[Hypothesis]:
        """The hypotheses that change something by themselves and leave hashes that can be computed: a random seed does not."""
        return [hypothesis for hypothesis in self.hypotheses if self._recipe((hypothesis,)) is not None]

    def _matches(self, size: int, *, rereading: bool) -> Iterator[Match]:
        view = VIEWS[size]
        kitchen = Kitchen(self._request.tokens, most_tokens=view.tokens, most_chunks=view.chunks)
        expected = self._expected[:MOST_EXPECTED] if size else self._expected
        tried: dict[Recipe, list[list[Value]]] = {}
        signatures = set()
        count = 0
        for chosen in self._sets(size, rereading=rereading):
            made = self._recipe(chosen)
            if made is None:
                continue
            recipe, release = made
            identity = self._identity(release)
            signature = (recipe, KEY_GRAMMARS[release].hash_style, identity)
            if signature in self._seen:
                continue
            count += 1
            signatures.add(signature)
            if recipe not in tried:
                tried[recipe] = self._values(kitchen, recipe, expected)
            match = self._match(chosen, recipe, release, identity, tried[recipe])
            if match is None:
                continue
            if match.covers == len(expected):
                yield match
            elif self.partial is None or match.covers > self.partial.covers:
                self.partial = match
        self._seen |= signatures
        self.tally.sets.append(count)
        self.tally.chains += len(tried)

    def _sets(self, size: int, *, rereading: bool) -> Iterator[tuple[Hypothesis, ...]]:
        pool = [hypothesis for hypothesis in self.hypotheses if size < 3 or hypothesis.common]
        for chosen in itertools.combinations(pool, size):
            if rereading and not any(hypothesis.rereads for hypothesis in chosen):
                continue
            if len({hypothesis.dimension for hypothesis in chosen}) == size:
                yield chosen

    def _recipe(self, chosen: tuple[Hypothesis, ...]) -> tuple[Recipe, Release] | None:
        """The recipe under hypotheses, and the release by which the rest of the key is read; None: they mean nothing here."""
        deployment = self._request.deployment
        function = None
        for hypothesis in chosen:
            deployment = hypothesis.deployment(deployment) if hypothesis.deployment else deployment
            function = hypothesis.function or function
        recipe = self._recipe_of(deployment, function)
        changes = [hypothesis for hypothesis in chosen if hypothesis.recipe]
        for hypothesis in sorted(changes, key=lambda it: COOKING_ORDER.index(it.dimension)):
            assert hypothesis.recipe
            before = recipe
            recipe = hypothesis.recipe(recipe, deployment) if recipe else None
            if recipe == before:
                return None
        return (recipe.normal(), deployment.release) if recipe and recipe.computable else None

    def _recipe_of(self, deployment: Deployment, function: str | None) -> Recipe | None:
        name = (deployment, function)
        if name not in self._recipes:
            try:
                self._recipes[name] = recipe_of(self._request, deployment, function)
            except EncodeError:
                self._recipes[name] = None
        return self._recipes[name]

    def _values(self, kitchen: Kitchen, recipe: Recipe, expected: Sequence[Expected]) -> list[list[Value]]:
        """For each expected key the chunks whose hash it may spell."""
        found: list[list[Value]] = [[] for _ in expected]
        try:
            for value in kitchen.values(recipe):
                for index in self._targets.get(spelled(value.chunk_hash), ()):
                    if index < len(expected):
                        found[index].append(value)
        except EncodeError:
            return found
        return found

    def _match(
        self,
        chosen: tuple[Hypothesis, ...],
        recipe: Recipe,
        release: Release,
        identity: tuple[Cause, ...],
        found: list[list[Value]],
    ) -> Match | None:
        style = KEY_GRAMMARS[release].hash_style
        words: list[tuple[str, ...] | None] = []
        for one, values in zip(self._expected, found, strict=False):
            ways = [spelling(value.chunk_hash, one.hash_text, style, bare=one.bare) for value in values]
            words.append(min((way for way in ways if way is not None), key=len, default=None))
        covers = next((index for index, way in enumerate(words) if way is None), len(words))
        if covers == 0:
            return None
        place = placed(self._request, recipe, found[:covers])
        assert place is not None
        if covers == len(found) and not chosen:
            place = replace(place, causes=(*place.causes, *partial_missing(self._request, place.values)))
        causes = dict.fromkeys(id_ for way in words[:covers] for id_ in way or ())
        return Match(chosen, recipe, place, identity, tuple(SPELLINGS[id_] for id_ in causes), covers)

    def _identity(self, release: Release) -> tuple[Cause, ...]:
        if release not in self._identities:
            causes = [cause for one in self._expected for cause in identity_causes(self._request, release, one)]
            self._identities[release] = tuple(dict.fromkeys(causes))
        return self._identities[release]
