"""Mock against live: the same random conversation with both, answer by answer."""

import struct
from collections.abc import Callable, Mapping
from typing import Any, Final

from hypothesis import given
from hypothesis import strategies as st

from harness.case import case
from harness.conversation import Act, Request, answers, reactions
from harness.examples import Examples
from harness.failure import MockDriftFailure
from harness.judge import Judge
from harness.reference.values import key_from_json
from harness.targets import Server, mock_server
from harness.values import Keys
from wire.keys import format_key
from wire.lm.profile import KEY_FIELD_SIZE, lm_profile
from wire.release import Release

COMMANDS = st.sampled_from(["PUT", "GET", "EXIST", "HEALTH", "LIST"])


@case("LM-SRV-001", "LM-SRV-002", "LM-SRV-003", "LM-SRV-004", "LM-SRV-011", targets=("live",), judges="server")
def test_mock_equals_live(judge: Judge, server: Server, release: Release, keys: Keys, examples: Examples) -> None:
    """The mock and the real server give the same bytes to the same requests, whatever their order."""
    numbers = iter(range(1 << 30))

    @examples
    @given(st.lists(st.tuples(COMMANDS, st.integers(0, 2), st.binary(max_size=40), st.integers(1, 300)), min_size=1, max_size=12))
    def check(drawn: list[tuple[str, int, bytes, int]]) -> None:
        model = f"{keys.model}/{next(numbers)}"
        requests = [Request(command, keys(model=model, hash=which + 1), payload, cut) for command, which, payload, cut in drawn]
        real = answers(release, server, requests)
        with mock_server(release) as mock:
            ours = answers(release, mock, requests)
        if real != ours:
            difference = next(index for index, (one, other) in enumerate(zip(real, ours, strict=True)) if one != other)
            judge.fail(
                f"after {[request.command for request in requests[: difference + 1]]} the mock differs from the real server",
                kind=MockDriftFailure,
                expected=real[difference].hex(),
                got=ours[difference].hex(),
            )

    check()


@case(
    *("LM-SRV-001", "LM-SRV-002", "LM-SRV-003", "LM-SRV-004", "LM-SRV-005", "LM-SRV-006", "LM-SRV-007", "LM-SRV-008"),
    *("LM-SRV-009", "LM-SRV-010", "LM-SRV-011", "LM-SRV-012", "LM-SRV-015"),
    targets=("live",),
    judges="server",
)
def test_programs(judge: Judge, server: Server, release: Release, keys: Keys, examples: Examples) -> None:
    """Over several connections, with any numbers in headers, other spellings of keys and cut payloads, both do the same."""
    numbers = iter(range(1 << 30))

    @examples
    @given(st.lists(acts(), min_size=1, max_size=10))
    def check(drawn: list[dict[str, Any]]) -> None:
        model = f"{keys.model}/{next(numbers)}"
        texts = [format_key(release, key_from_json(keys(model=model, hash=number))) for number in (1, 2)]
        program = [act_of(release, texts, **members) for members in drawn]
        real = reactions(release, server, texts[0], program)
        with mock_server(release) as mock:
            ours = reactions(release, mock, texts[0], program)
        if real != ours:
            place = next(index for index, (one, other) in enumerate(zip(real, ours, strict=True)) if one != other)
            judge.fail(
                f"after {[act.header.hex() for act in program[: place + 1]]} the mock differs from the real server",
                kind=MockDriftFailure,
                expected=real[place].hex(),
                got=ours[place].hex(),
            )

    check()


def acts() -> st.SearchStrategy[dict[str, Any]]:
    """Requests of which most are good: a few numbers of the header are anything, and some connections end."""
    odd = st.dictionaries(
        st.sampled_from(["command", "format", "dtype", "location", "shape0", "length"]), st.integers(-2, 10), max_size=2
    )
    return st.fixed_dictionaries(
        {
            "connection": st.integers(0, 2),
            "command": st.sampled_from([1, 1, 2, 2, 2, 3, 4, 5]),
            "odd": st.just({}) | odd,
            "which": st.integers(0, 1),
            "spelling": st.sampled_from([*SPELLINGS]),
            "payload": st.binary(max_size=40),
            "cut": st.none() | st.integers(0, 40),
            "piece": st.sampled_from([1 << 20, 100, 7]),
        }
    )


SPELLINGS: Final[Mapping[str, Callable[[str], str]]] = {
    "as it is": lambda text: text,
    "in spaces": lambda text: f" {text}\t",
    "with a zero": lambda text: text.replace("@1@", "@01@"),
    "with a plus": lambda text: text.replace("@0@", "@+0@"),
    "with a tag": lambda text: f"{text}@a%1",
    "with a layer": lambda text: f"{text}@3",
    "cut": lambda text: text.rpartition("@")[0],
    "with a zero byte": lambda text: f"{text}\0",
    "empty": lambda _: "",
}
"""Ways to write a key; the last few are keys of no release."""


def act_of(
    release: Release,
    texts: list[str],
    *,
    connection: int,
    command: int,
    odd: dict[str, int],
    which: int,
    spelling: str,
    payload: bytes,
    cut: int | None,
    piece: int,
) -> Act:
    """One drawn request as bytes; a payload that is cut, or that is not as long as it says, ends its connection."""
    profile = lm_profile(release)
    stored = payload if command == 1 else b""
    usual = {"command": command, "length": len(stored), "format": 4, "dtype": 6, "location": 0, "shape0": len(stored)}
    values = {**dict.fromkeys(profile.header.request, 0), **usual, **odd}
    header = struct.pack(f"<{len(profile.header.request)}i", *(values[name] for name in profile.header.request))
    key = SPELLINGS[spelling](texts[which]).encode().ljust(KEY_FIELD_SIZE)
    body = stored if cut is None or command != 1 else stored[:cut]
    taken = max(0, values["length"]) if values["command"] == 1 else 0
    return Act(connection, header + key, body, values["command"] in {2, 3, 5}, end=len(body) != taken, piece=piece)
