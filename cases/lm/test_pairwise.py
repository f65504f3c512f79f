"""Identity exhaustively: every pair of disagreements at once, in keys and in descriptions, and any two of either."""

import itertools
import struct
from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from cases.lm.play import Play, Step
from cases.lm.replies import Spoken, exchange
from cases.lm.steps import SHORT_MS, in_step
from harness.case import MOCK, SERVERS, case
from harness.client import Ok
from harness.examples import Examples
from harness.judge import Judge
from harness.scripted_server import scripted_server
from harness.subject import Subject
from harness.targets import Server
from harness.values import Keys, sample
from wire.keys import KEY_GRAMMARS
from wire.lm.profile import LmProfile
from wire.release import Release

IDENTITY = ("LM-ID-001", "LM-ID-002", "LM-ID-003", "LM-ID-004", "LM-ID-005")
DESCRIPTION = ("LM-ID-006", "LM-ID-007", "LM-ID-008", "LM-ID-009", "LM-CONN-003")
NEEDS = ("connect", "put", "get", "exist")
FEW = 8
SAMPLED = 8
"""Each how many keys are loaded at the end: a real server takes 40 ms for a hit, as it sends header and payload apart."""
NUMBER = 0x1A2B3C4D5E6F7081
Start = Callable[[], Play]


@case(*IDENTITY, targets=SERVERS, needs=NEEDS)
def test_keys(client: Subject, judge: Judge, server: Server, keys: Keys, profile: LmProfile, release: Release) -> None:
    """Values under keys that differ in any one or two parts are stored side by side, and each is found under its own key only."""
    connection, changes = client.connect(server), neighbours(release)
    values = [sample(profile, seed=number) for number in range(len(changes))]

    def key(change: Step) -> dict[str, Any]:
        return keys(**{**change, "model": keys.model + change["model"]})

    for number, (change, value) in enumerate(zip(changes, values, strict=True)):
        answer = client.call("get", connection=connection, key=key(change), expect=value.expect)
        if isinstance(answer, Ok):
            payload = answer.values["payload"]
            owner = next((index for index in range(number) if values[index].payload == payload), number)
            meet(starts(client, judge, server, keys, profile)(), changes[owner], change, value.expect)
        judge.miss(answer, because="nothing was stored under this key", expected=change)
        client.ok("put", connection=connection, key=key(change), **value.stored)
    for change, value in list(zip(changes, values, strict=True))[::SAMPLED]:
        got = client.ok("get", connection=connection, key=key(change), expect=value.expect)["payload"]
        judge.same_bytes(value.payload, got, what="the payload under its own key", source="what this case stored")


@case(*IDENTITY, targets=SERVERS, needs=NEEDS)
def test_any_two_keys(
    client: Subject, judge: Judge, server: Server, keys: Keys, profile: LmProfile, release: Release, examples: Examples
) -> None:
    """A value is found under its own key only, whatever the other key is."""
    plays = starts(client, judge, server, keys, profile)
    drawn = st.fixed_dictionaries(
        {name: st.sampled_from(list(itertools.chain(*pairs))) for name, pairs in parts(release).items()}
        | {"hash": st.integers(-(2**66), 2**66) | st.integers(-20, 20), "model": st.text("a1/-%", max_size=3)}
    )

    @examples.costly(FEW)
    @given(drawn, drawn, st.sets(st.sampled_from(sorted(parts(release))), min_size=1, max_size=2))
    def check(one: Step, other: Step, differing: set[str]) -> None:
        near = {name: (other if name in differing else one)[name] for name in one}
        meet(plays(), one, near, sample(profile).expect)

    check()


@case("LM-CONN-002", "LM-CONN-003", targets=MOCK, releases="up to 0.3.13", needs=NEEDS)
def test_layer_that_servers_drop(client: Subject, judge: Judge, server: Server, keys: Keys, profile: LmProfile) -> None:
    """A get of one layer, at which servers of these releases close, gives no value of the whole chunk."""
    connection, value = client.connect(server, timeout_ms=SHORT_MS), sample(profile)
    client.ok("put", connection=connection, key=keys(), **value.stored)
    client.ok("exist", connection=connection, key=keys())
    answer = client.call("get", connection=connection, key=keys(layer=3), expect=value.expect)
    judge.not_ok("get", answer, because="a layer is not the whole chunk", kinds=("connection", "refused", "protocol"), miss=True)
    in_step(client, judge, connection, keys)


@case(*DESCRIPTION, targets=SERVERS, needs=NEEDS)
def test_descriptions(client: Subject, judge: Judge, server: Server, keys: Keys, profile: LmProfile) -> None:
    """A value that was really stored as something else, of as many bytes or of others, is not handed out as the expected one."""
    plays = starts(client, judge, server, keys, profile)
    for row in one_or_two(descriptions(profile)):
        one, other = ({name: pair[side] for name, pair in row.items()} for side in (0, 1))
        told_apart(plays(), one, other)


@case(*DESCRIPTION, targets=SERVERS, needs=NEEDS)
def test_any_two_descriptions(
    client: Subject, judge: Judge, server: Server, keys: Keys, profile: LmProfile, examples: Examples
) -> None:
    """A value is handed out as what it was stored as, and as nothing else."""
    plays = starts(client, judge, server, keys, profile)
    known = descriptions(profile)
    named = {name: st.sampled_from([*dict.fromkeys(itertools.chain(*known[name]))]) for name in ("format", "dtype")}
    shapes = st.lists(st.integers(1, 4), min_size=1 if profile.short_shapes else 4, max_size=4)
    drawn = st.fixed_dictionaries({**named, "shape": shapes})

    @examples.costly(FEW)
    @given(
        drawn,
        drawn,
        st.sets(st.sampled_from(["format", "dtype", "shape"]), min_size=1, max_size=2),
        st.randoms(use_true_random=False),
    )
    def check(one: Step, other: Step, differing: set[str], order: Any) -> None:
        near = {name: (other if name in differing else one)[name] for name in one}
        if "shape" in differing and order.random() < 0.5:
            near["shape"] = order.sample(one["shape"], len(one["shape"]))
        told_apart(plays(), one, near)

    check()


@case(*DESCRIPTION, targets=MOCK, needs=("connect", "get", "exist"))
def test_headers(client: Subject, judge: Judge, keys: Keys, profile: LmProfile) -> None:
    """A reply header that is wrong in two fields at once yields no value, and the connection is in step or closed."""
    value = sample(profile)
    shape = list(value.shape)
    fields: dict[str, list[Any]] = {
        "length": [256, 128, -1],
        "format": [1, 2, 4],
        "dtype": [2, 3, 6],
        "shape": [shape, [2, 4, 2, 8], [2, 2, 4, 16], [2, -2, -4, 8]],
    }
    with scripted_server(profile) as peer:
        for row in one_or_two(fields):
            numbers = {"code": 200, "location": 0, **row, **{f"shape{index}": dim for index, dim in enumerate(row["shape"])}}
            header = struct.pack(f"<{len(profile.header.reply)}i", *(numbers[name] for name in profile.header.reply))
            spoken = Spoken("get", value.expect, header + value.payload, "silence")
            exchange(client, judge, peer, keys, profile, spoken, len(value.payload))


def meet(play: Play, one: Step, other: Step, about: Step) -> None:
    """Store under one key and look under the other, then store there too, and find both."""
    load = {"do": "get", "on": 0, "expect": about}
    play.step({"do": "put", "on": 0, "key": one, "value": {**about, "seed": 1}})
    play.step({"do": "exist", "on": 0, "key": other})
    play.step({**load, "key": other})
    play.step({"do": "put", "on": 0, "key": other, "value": {**about, "seed": 2}})
    play.step({**load, "key": one})
    play.step({**load, "key": other})
    play.end()


def told_apart(play: Play, one: Step, other: Step) -> None:
    """Store a value, load it as something else, and then as what it is."""
    play.step({"do": "put", "on": 0, "key": {}, "value": {**one, "seed": 1}})
    play.step({"do": "get", "on": 0, "key": {}, "expect": other})
    play.step({"do": "get", "on": 0, "key": {}, "expect": one})
    play.end()


def starts(client: Subject, judge: Judge, server: Server, keys: Keys, profile: LmProfile) -> Start:
    """Makes plays that have nothing to do with each other."""
    numbers = itertools.count(1)
    return lambda: Play(client, judge, server, keys, profile, f"{keys.model}/{next(numbers)}")


def one_or_two(factors: dict[str, list[Any]]) -> list[dict[str, Any]]:
    """The first value of every factor, and every row in which one factor or two have another value."""
    usual = {name: values[0] for name, values in factors.items()}
    single = [{name: value} for name, values in factors.items() for value in values[1:]]
    double = [{**one, **other} for one, other in itertools.combinations(single, 2) if not one.keys() & other.keys()]
    return [{**usual, **row} for row in [{}, *single, *double]]


def neighbours(release: Release) -> list[Step]:
    """The usual key, and every key that differs from it in one part or two, with two or three other values of each."""
    usual: Step = {"model": "", "world_size": 1, "worker_id": 0, "hash": NUMBER, "layer": None, "tags": [], "fmt": "vllm"}
    usual["dtype"] = "bfloat16"
    factors = {}
    for name, pairs in parts(release).items():
        met = [usual[name], *itertools.chain(*pairs)]
        different = [value for index, value in enumerate(met) if value not in met[:index]]
        factors[name] = different[: 4 if name in {"tags", "hash"} else 3]
    return one_or_two(factors)


def parts(release: Release) -> dict[str, list[tuple[Any, Any]]]:
    """For each part of a key that the release can tell apart: what it is when a value is stored, and when it is asked for."""
    grammar = KEY_GRAMMARS[release]
    low = (NUMBER, NUMBER & 0xFFFFFFFF)
    found: dict[str, list[tuple[Any, Any]]] = {
        "model": [("", ""), ("", "-instruct"), ("1", "11")],
        "world_size": [(1, 1), (1, 2), (11, 1), (2, 1)],
        "worker_id": [(0, 0), (0, 1), (1, 0), (1, 11)],
        "hash": [(NUMBER, NUMBER), (NUMBER, -NUMBER), (NUMBER, NUMBER + 2**64), low, (-1, 2**64 - 1), (10, 16)],
    }
    if grammar.hash_style == "text":
        found["hash"].append(("00ab", "ab"))
    if grammar.dtype_names is not None:
        found["dtype"] = [
            ("bfloat16", "bfloat16"),
            ("bfloat16", "float16"),
            ("uint8", "int8"),
            ("float8_e4m3fn", "float8_e5m2"),
        ]
    if grammar.server_layers:
        found["layer"] = [(None, None), (0, 1), (1, 0), (1, 11), (None, 0), (2, None)]
    if grammar.tags:
        one, both = [["a", "1"]], [["a", "1"], ["b", "2"]]
        found["tags"] = [([], []), ([], one), (one, [["a", "2"]]), (both, one), (one, [["b", "1"]])]
        if not grammar.tags_become_settings:
            found["tags"].insert(0, (both, both[::-1]))
    if grammar.prefix:
        found["fmt"] = [("vllm", "vllm"), ("vllm", "sglang")]
    return found


def descriptions(profile: LmProfile) -> dict[str, list[tuple[Any, Any]]]:
    """For each part of a description: what it is when a value is stored, and what is expected later."""
    shapes: list[tuple[Any, Any]] = [
        ([2, 2, 4, 8], [2, 2, 4, 8]),
        ([2, 2, 4, 8], [2, 4, 2, 8]),
        ([2, 2, 4, 8], [1, 4, 4, 8]),
        ([2, 2, 4, 8], [2, 2, 4, 16]),
    ]
    if profile.short_shapes:
        shapes += [([4, 4, 8], [4, 4, 8, 1]), ([128, 1], [128])]
    return {
        "format": [("KV_2LTD", "KV_2LTD"), ("KV_T2D", "KV_2TD"), ("KV_MLA_FMT", "KV_2LTD")],
        "dtype": [("float16", "float16"), ("float16", "bfloat16"), ("uint8", "float8_e4m3fn"), ("float32", "float16")],
        "shape": shapes,
    }
