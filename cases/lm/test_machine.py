"""Random conversations over several connections, against a dictionary of what the server must hold."""

import itertools
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from cases.lm.play import Play
from harness.case import SERVERS, case
from harness.examples import Examples
from harness.judge import Judge
from harness.subject import Subject
from harness.targets import Server
from harness.values import Keys, sample
from wire.keys import KEY_GRAMMARS
from wire.lm.profile import LmProfile
from wire.release import Release

STEPS = 25
CONNECTIONS = st.integers(0, 3)
SPOILED = st.one_of(
    st.builds("close-after:bytes={},reset={}".format, st.integers(0, 320), st.sampled_from(["true", "false"])),
    st.builds("truncate-body:bytes={}".format, st.integers(0, 255)),
    st.builds("segments:sizes={}+{}".format, st.integers(1, 40), st.integers(20, 300)),
    st.builds(
        "replace-field:name={0[0]},value={0[1]}".format,
        st.sampled_from(
            [
                *(("code", value) for value in (0, 201, 400, -1)),
                *(("length", value) for value in (-1, 0, 7, 255, 257, 2**31 - 1)),
                *(("format", value) for value in (0, 5, 99)),
                *(("dtype", value) for value in (0, 5, 77)),
                *(("shape0", value) for value in (0, 3, -1)),
            ]
        ),
    ),
)
"""Faults after which it is still known what the server holds."""


@case(
    "LM-GET-002",
    "LM-GET-003",
    "LM-PUT-001",
    "LM-PUT-002",
    "LM-CONN-002",
    "LM-CONN-003",
    "LM-CONN-005",
    "LM-EXIST-001",
    targets=SERVERS,
    needs=("connect", "put", "get", "exist", "health", "close"),
)
def test_interleavings(
    client: Subject, judge: Judge, server: Server, keys: Keys, profile: LmProfile, examples: Examples, release: Release
) -> None:
    """Whatever puts, gets, checks, reconnections and spoiled replies come before, every answer is what the store must give."""
    numbers = itertools.count(1)
    machine = machine_of(release, profile, server)
    examples.costly(5).run_machine(
        lambda: machine(Play(client, judge, server, keys, profile, f"{keys.model}/{next(numbers)}")), steps=STEPS
    )


def machine_of(release: Release, profile: LmProfile, server: Server) -> Callable[[Play], RuleBasedStateMachine]:
    """The machine for what a release can write in keys and headers; without faults where the server takes none."""
    named = st.sampled_from(names(release))
    about = st.sampled_from(descriptions(profile))
    plain = st.just({"format": "BINARY", "dtype": "uint8", "shape": [128, 0, 0, 0]})

    class StoreMachine(RuleBasedStateMachine):
        """Rules that put one step each into a play."""

        def __init__(self, play: Play) -> None:
            super().__init__()
            self.play = play
            self.numbers = itertools.count(1)

        @rule(on=CONNECTIONS, key=named, value=about)
        def put(self, on: int, key: dict[str, Any], value: dict[str, Any]) -> None:
            """Store a fresh value."""
            self.play.step({"do": "put", "on": on, "key": key, "value": {**value, "seed": next(self.numbers)}})

        @rule(on=CONNECTIONS, key=named, expect=about)
        def get(self, on: int, key: dict[str, Any], expect: dict[str, Any]) -> None:
            """Load with any expectation."""
            self.play.step({"do": "get", "on": on, "key": key, "expect": expect})

        @rule(on=CONNECTIONS, key=named, value=about, reader=CONNECTIONS)
        def put_and_get(self, on: int, key: dict[str, Any], value: dict[str, Any], reader: int) -> None:
            """Store and load as what it is, perhaps before the first connection was answered."""
            self.put(on=on, key=key, value=value)
            self.play.step({"do": "get", "on": reader, "key": key, "expect": value})

        @rule(on=CONNECTIONS, key=named)
        def exist(self, on: int, key: dict[str, Any]) -> None:
            """Ask for a key."""
            self.play.step({"do": "exist", "on": on, "key": key})

        @rule(on=CONNECTIONS)
        def health(self, on: int) -> None:
            """Ask whether the server is well."""
            self.play.step({"do": "health", "on": on})

        @rule(on=CONNECTIONS)
        def reopen(self, on: int) -> None:
            """Close a connection, and open another in its place when it is needed."""
            self.play.step({"do": "reopen", "on": on})

        @rule(key=named, value=plain)
        def write(self, key: dict[str, Any], value: dict[str, Any]) -> None:
            """Another program stores something."""
            self.play.step({"do": "write", "key": key, "value": {**value, "seed": next(self.numbers)}})

        @rule(on=CONNECTIONS, key=named, value=plain, fault=st.none() | SPOILED)
        def overtake(self, on: int, key: dict[str, Any], value: dict[str, Any], fault: str | None) -> None:
            """Load a value that another program replaces, before that or with a spoiled reply after it, and again at the end."""
            self.put(on=on, key=key, value=value)
            self.exist(on=on, key=key)
            load = {"on": on, "key": key, "expect": value}
            if fault is None or server.mock is None:
                self.play.step({"do": "get", **load})
                self.write(key=key, value=value)
            else:
                self.write(key=key, value=value)
                self.play.step({"do": "fault", "ask": "get", "fault": fault, **load})
            self.play.step({"do": "get", **load})

        @precondition(lambda _: server.mock is not None)
        @rule(on=CONNECTIONS, key=named, value=about, fault=SPOILED, ask=st.sampled_from(["get", "exist"]))
        def fault(self, on: int, key: dict[str, Any], value: dict[str, Any], fault: str, ask: str) -> None:
            """Spoil the reply about a value that was just stored."""
            self.put(on=on, key=key, value=value)
            self.play.step({"do": "fault", "on": on, "key": key, "ask": ask, "expect": value, "fault": fault})

        def teardown(self) -> None:
            """Close what is open."""
            self.play.end()

    return StoreMachine


def names(release: Release) -> list[dict[str, Any]]:
    """A few keys that differ in one part each, as far as the release can tell them apart."""
    grammar = KEY_GRAMMARS[release]
    found: list[dict[str, Any]] = [{"hash": 1}, {"hash": -1}, {"hash": 1, "worker_id": 1}, {"hash": 1, "model": "x"}]
    if grammar.dtype_names is not None:
        found.append({"hash": 1, "dtype": "float16"})
    if grammar.tags:
        found.append({"hash": 1, "tags": [["user", "alice"]]})
    return found


def descriptions(profile: LmProfile) -> list[dict[str, Any]]:
    """Descriptions of which some amount to the same number of bytes."""
    samples = [
        sample(profile, name, dtype) for name, dtype in (("KV_2LTD", "float16"), ("KV_2LTD", "bfloat16"), ("KV_2TD", "float16"))
    ]
    return [*(value.expect for value in samples), {"format": "BINARY", "dtype": "uint8", "shape": [128, 0, 0, 0]}]
