"""Programs of requests, drawn at random, against a small model of what a server remembers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from harness.case import SERVERS, case
from harness.examples import Examples
from harness.judge import Judge
from harness.mp.benches import Bench
from harness.mp.peer import Prompt
from harness.mp.targets import MpTarget
from harness.mp.witness import judged, new_model
from wire.release import Release

DATA = "0.4.6 and later"
LONGEST = 4
SALTS = ("", "tenant")
FAMILIES = ("AAAA", "AABB", "ABBB", "CCCC", "BAAA")
"""Prompts by their chunks: some begin alike."""

Step = tuple[Any, ...]
FAMILY = st.sampled_from(FAMILIES)
SALT = st.sampled_from(SALTS)
COUNT = st.integers(1, LONGEST)
STEPS = st.one_of(
    st.tuples(st.just("store"), st.integers(0, 1), FAMILY, SALT, COUNT, st.integers(0, LONGEST - 1)),
    st.tuples(st.just("store"), st.integers(0, 1), FAMILY, SALT, COUNT, st.just(0)),
    st.tuples(st.just("load"), st.integers(0, 1), FAMILY, SALT, COUNT, st.integers(0, LONGEST - 1)),
    st.tuples(st.just("hold"), st.integers(0, 1), FAMILY, SALT, COUNT),
    st.tuples(st.just("take"), st.integers(0, 1)),
    st.tuples(st.just("free"), st.integers(0, 1), FAMILY, SALT, COUNT),
    st.tuples(st.just("end"), st.integers(0, 1), FAMILY, SALT, COUNT),
    st.tuples(st.just("register"), st.integers(0, 1)),
    st.tuples(st.just("clear"), st.integers(0, 1)),
)


@dataclass
class _Model:
    """What a server of one model remembers: the chunks that were committed, by all chunks before them, and lookups under way."""

    stored: dict[tuple[str, str], bytes] = field(default_factory=dict)
    held: list[tuple[Prompt, str, str, int]] = field(default_factory=list)

    def hits(self, family: str, salt: str, count: int) -> int:
        """The leading chunks that are there."""
        return next((index for index in range(count) if (family[: index + 1], salt) not in self.stored), count)

    def bytes_of(self, family: str, salt: str, first: int, last: int) -> list[bytes]:
        """The bytes of chunks that are there."""
        return [self.stored[family[: index + 1], salt] for index in range(first, last)]


class _Run:
    """One program on one model name."""

    def __init__(self, judge: Judge, benches: Sequence[Bench]) -> None:
        self._judge, self._benches = judge, benches
        self._name = new_model()
        self._model = _Model()
        self._number = 0
        for bench in benches:
            bench.engine = bench.register(bench.engine.instance + (1 << 40), model=self._name)

    def do(self, step: Step) -> None:
        """One step."""
        what, engine, *rest = step
        getattr(self, f"_{what}")(self._benches[engine], *rest)

    def _prompt(self, bench: Bench, family: str, salt: str, count: int) -> Prompt:
        tokens = [ord(letter) * 100 + index for letter in family[:count] for index in range(bench.chunk)]
        return bench.prompt(count, model=self._name, tokens=tokens, salt=salt)

    def _store(self, bench: Bench, family: str, salt: str, count: int, first: int) -> None:
        first = min(first, count - 1)
        self._number += 1
        chunks = bench.contents(count - first, seed=self._number)
        bench.stored(bench.part(self._prompt(bench, family, salt, count), first, count), chunks)
        for index, chunk in enumerate(chunks, first):
            self._model.stored.setdefault((family[: index + 1], salt), chunk)

    def _look_up(self, bench: Bench, family: str, salt: str, count: int) -> tuple[Prompt, int]:
        prompt = self._prompt(bench, family, salt, count)
        hits = self._model.hits(family, salt, count)
        bench.locks(
            prompt,
            hits,
            f"chunks {', '.join(sorted(name for name, of in self._model.stored if of == salt)) or 'none'} are stored",
        )
        return prompt, hits

    def _load(self, bench: Bench, family: str, salt: str, count: int, first: int) -> None:
        prompt, hits = self._look_up(bench, family, salt, count)
        first = min(first, hits)
        if hits > first:
            bench.gives(bench.part(prompt, first, hits), self._model.bytes_of(family, salt, first, hits))
        if first:
            bench.free(bench.part(prompt, 0, first))
        bench.end(prompt)

    def _hold(self, bench: Bench, family: str, salt: str, count: int) -> None:
        prompt, hits = self._look_up(bench, family, salt, count)
        if hits:
            self._model.held.append((prompt, family, salt, hits))

    def _take(self, bench: Bench) -> None:
        if self._model.held:
            prompt, family, salt, hits = self._model.held.pop(0)
            bench.gives(
                bench.part(prompt, 0, hits),
                self._model.bytes_of(family, salt, 0, hits),
                "SRV-MP-011",
                "that was looked up a while ago",
            )
            bench.end(prompt)

    def _free(self, bench: Bench, family: str, salt: str, count: int) -> None:
        prompt, hits = self._look_up(bench, family, salt, count)
        if hits:
            bench.free(bench.part(prompt, 0, hits))

    def _end(self, bench: Bench, family: str, salt: str, count: int) -> None:
        prompt, hits = self._look_up(bench, family, salt, count)
        if hits:
            bench.free(prompt)
        bench.end(prompt)

    def _register(self, bench: Bench) -> None:
        bench.register(bench.engine.instance, model=self._name)

    def _clear(self, bench: Bench) -> None:
        with judged(self._judge):
            bench.peer.clear()
        self._model = _Model()


@case(
    *("SRV-MP-007", "SRV-MP-006", "SRV-MP-008", "SRV-MP-011", "SRV-MP-013", "SRV-MP-014"),
    releases=DATA,
    targets=SERVERS,
    judges="server",
    runs=("server",),
)
def test_any_program(judge: Judge, release: Release, mp_server: MpTarget, examples: Examples) -> None:
    """Whatever two engines store, look up, load, free, end and clear, in whatever order, comes out as it must."""
    with Bench(judge, release, mp_server) as one, Bench(judge, release, mp_server) as two:

        @examples.costly(40)
        @given(st.lists(STEPS, min_size=1, max_size=25))
        def check(steps: list[Step]) -> None:
            run = _Run(judge, (one, two))
            for step in steps:
                run.do(step)

        check()
