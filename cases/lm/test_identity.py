"""Identity: bytes of another model, rank, hash, dtype, tag, layer or layout are never handed out."""

from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from cases.lm.steps import in_step
from harness.case import FIXTURES, MOCK, SERVERS, Variant, case
from harness.examples import Examples
from harness.judge import Judge
from harness.subject import Subject
from harness.targets import Server
from harness.values import Keys, sample
from wire.keys import KEY_GRAMMARS
from wire.lm.profile import LmProfile
from wire.release import Release

CITES = ("LM-ID-001", "LM-ID-002", "LM-ID-003", "LM-ID-004", "LM-ID-005")


def others(release: Release) -> Sequence[Variant]:
    """Changes of a key, each of which makes it the key of something else."""
    grammar = KEY_GRAMMARS[release]
    changes: dict[str, tuple[str, dict[str, Any]]] = {
        "world-size": ("LM-ID-001", {"world_size": 2}),
        "worker": ("LM-ID-001", {"worker_id": 1}),
        "hash": ("LM-ID-002", {"hash": 0x1A2B3C4D5E6F7082}),
        "hash-sign": ("LM-ID-002", {"hash": -0x1A2B3C4D5E6F7081}),
        "hash-high-bits": ("LM-ID-002", {"hash": 0x1A2B3C4D5E6F7081 + (1 << 64)}),
        "hash-low-half": ("LM-ID-002", {"hash": 0x5E6F7081}),
    }
    if grammar.dtype_names is not None:
        changes["dtype"] = ("LM-ID-003", {"dtype": "float16"})
    if grammar.prefix:
        changes["engine"] = ("LM-ID-001", {"fmt": "huggingface"})
    if grammar.tags:
        changes["tag"] = ("LM-ID-004", {"tags": [["user", "alice"]]})
    if grammar.server_layers:
        changes["layer"] = ("LM-ID-005", {"layer": 0})
    return [Variant(name, change) for name, change in changes.items()]


@case(*CITES, targets=SERVERS, needs=("connect", "put", "get", "exist"), variants=others)
def test_other_key(
    client: Subject, judge: Judge, server: Server, keys: Keys, profile: LmProfile, vector: tuple[str, dict[str, Any]]
) -> None:
    """A value is not found under a key that differs in one part, neither by get nor by exist."""
    cite, change = vector
    must_not_meet(client, judge, server, keys(), keys(**change), profile, cite)


@case("LM-ID-001", targets=SERVERS, needs=("connect", "put", "get", "exist"))
def test_other_model(client: Subject, judge: Judge, server: Server, keys: Keys, profile: LmProfile) -> None:
    """A value of one model is not found for another."""
    must_not_meet(client, judge, server, keys(), keys(model=f"{keys.model}-instruct"), profile, "LM-ID-001")


@case("LM-ID-004", targets=SERVERS, releases="0.3.6 and later", needs=("connect", "put", "get", "exist"))
def test_tag_order(client: Subject, judge: Judge, server: Server, keys: Keys, profile: LmProfile) -> None:
    """Tags are part of identity in their order: swapped, they name something else."""
    tags = [["a", "1"], ["b", "2"]]
    must_not_meet(client, judge, server, keys(tags=tags), keys(tags=tags[::-1]), profile, "LM-ID-004")
    must_not_meet(client, judge, server, keys(tags=[["a", "1"]]), keys(tags=[["a", "2"]]), profile, "LM-ID-004")


@case("LM-ID-005", targets=SERVERS, releases="0.3.14 and later", needs=("connect", "put", "get", "exist"))
def test_other_layer(client: Subject, judge: Judge, server: Server, keys: Keys, profile: LmProfile) -> None:
    """A layer of a chunk is neither another layer nor the whole chunk."""
    must_not_meet(client, judge, server, keys(layer=1), keys(layer=11), profile, "LM-ID-005")
    must_not_meet(client, judge, server, keys(layer=2), keys(), profile, "LM-ID-005")


def replies(release: Release) -> Sequence[Variant]:
    """Header fields of a reply that say something else than the client expects, as faults of the mock."""
    changed = {
        "format-kv-t2d": ("LM-ID-006", "name=format,value=2"),
        "format-binary": ("LM-ID-006", "name=format,value=4"),
        "format-undefined": ("LM-ID-006", "name=format,value=0"),
        "format-unknown": ("LM-ID-006", "name=format,value=99"),
        "dtype-bfloat16": ("LM-ID-007", "name=dtype,value=3"),
        "dtype-float32": ("LM-ID-007", "name=dtype,value=4"),
        "dtype-none": ("LM-ID-007", "name=dtype,value=0"),
        "dtype-unknown": ("LM-ID-007", "name=dtype,value=77"),
        "shape-first": ("LM-ID-008", "name=shape0,value=1"),
        "shape-longer": ("LM-ID-008", "name=shape2,value=8"),
        "shape-permuted": ("LM-ID-008", "name=shape1,value=4 name=shape2,value=2"),
        "shape-zero": ("LM-ID-008", "name=shape3,value=0"),
        "shape-negative": ("LM-ID-008", "name=shape1,value=-2"),
        "length-short": ("LM-ID-009", "name=length,value=255"),
        "length-long": ("LM-ID-009", "name=length,value=257"),
        "length-zero": ("LM-ID-009", "name=length,value=0"),
        "length-negative": ("LM-ID-009", "name=length,value=-1"),
        "length-largest": ("LM-ID-009", "name=length,value=2147483647"),
    }
    del release
    return [Variant(name, change) for name, change in changed.items()]


@case(
    "LM-ID-006",
    "LM-ID-007",
    "LM-ID-008",
    "LM-ID-009",
    "LM-CONN-003",
    targets=MOCK,
    needs=("connect", "put", "get", "exist"),
    variants=replies,
)
def test_reply_disagrees(
    client: Subject, judge: Judge, server: Server, keys: Keys, profile: LmProfile, vector: tuple[str, str]
) -> None:
    """A reply that describes another value than the client expects yields no value, and leaves nothing out of step."""
    cite, change = vector
    connection, value = client.connect(server, timeout_ms=1000), sample(profile)
    client.ok("put", connection=connection, key=keys(), **value.stored)
    client.ok("exist", connection=connection, key=keys())
    server.misbehave(*(f"replace-field:{field},command=GET" for field in change.split()))
    answer = client.call("get", connection=connection, key=keys(), expect=value.expect)
    judge.not_ok(
        "get",
        answer,
        because=f"the reply says {change.replace('name=', '').replace(',value=', ' = ')}, which is not what was expected",
        kinds=("refused", "protocol"),
        miss=True,
        cite=cite,
        **judge.where(server, "GET"),
    )
    server.misbehave()
    in_step(client, judge, connection, keys)


@case("LM-ID-006", "LM-ID-008", targets=SERVERS, needs=("connect", "put", "get", "exist"))
def test_other_layout(client: Subject, judge: Judge, server: Server, keys: Keys, profile: LmProfile) -> None:
    """A value that was really stored in another layout is not handed out as the expected one."""
    connection = client.connect(server, timeout_ms=1000)
    client.ok("put", connection=connection, key=keys(), **sample(profile, "KV_2LTD", "float16").stored)
    client.ok("exist", connection=connection, key=keys())
    for expected in (sample(profile, "KV_MLA_FMT", "float16"), sample(profile, "KV_2LTD", "bfloat16")):
        again = client.connect(server, timeout_ms=1000)
        answer = client.call("get", connection=again, key=keys(), expect=expected.expect)
        judge.not_ok(
            "get",
            answer,
            because="another layout was stored",
            kinds=("refused", "protocol"),
            miss=True,
            **judge.where(server, "GET"),
        )
        in_step(client, judge, again, keys)


@case("LM-ID-001", "LM-ID-002", "LM-ID-003", "LM-ID-004", targets=FIXTURES, needs=("format_key",))
def test_no_two_identities_share_a_key(client: Subject, judge: Judge, keys: Keys, examples: Examples) -> None:
    """Two identities that differ have key strings that differ."""

    @examples
    @given(pairs(keys))
    def check(drawn: tuple[dict[str, Any], dict[str, Any]]) -> None:
        one, other = drawn
        first, second = (client.ok("format_key", key=key)["text"] for key in (one, other))
        judge.holds(
            (one == other) == (first == second),
            f"{'equal' if one == other else 'different'} identities, {'equal' if first == second else 'different'} keys: "
            f"{first} and {second}",
            expected=one,
            got=other,
        )

    check()


def pairs(keys: Keys) -> st.SearchStrategy[tuple[dict[str, Any], dict[str, Any]]]:
    """Two keys that differ in two parts at most: near numbers, and names of the characters that keys are made of."""
    plain = keys()
    numbers = st.sampled_from([0, 1, 10, 11, 12, 16, 0xA, 0x1A, -1, -0x1A, 1 << 62])
    parts: dict[str, st.SearchStrategy[Any]] = {
        "model": st.text("a1/-%", min_size=1, max_size=3),
        "world_size": st.sampled_from([1, 10, 11]),
        "worker_id": st.sampled_from([0, 1, 10]),
        "hash": numbers,
    }
    if plain["dtype"] is not None:
        parts["dtype"] = st.sampled_from(["float16", "bfloat16", "uint8", "int8"])
    some, changed = st.fixed_dictionaries(parts), st.sets(st.sampled_from(sorted(parts)), min_size=1, max_size=2)

    def made(one: dict[str, Any], other: dict[str, Any], names: set[str]) -> tuple[dict[str, Any], dict[str, Any]]:
        return keys(**one), keys(**{**one, **{name: other[name] for name in names}})

    return st.builds(made, some, some, changed)


def must_not_meet(
    client: Subject, judge: Judge, server: Server, one: dict[str, Any], other: dict[str, Any], profile: LmProfile, cite: str
) -> None:
    """What is stored under one key is not found under the other, and both can be stored side by side."""
    connection = client.connect(server)
    first, second = sample(profile, seed=1), sample(profile, seed=2)
    client.ok("put", connection=connection, key=one, **first.stored)
    exists = client.ok("exist", connection=connection, key=other)["exists"]
    judge.holds(exists is False, "exist found a value that was stored under another key", cite=cite, expected=one, got=other)
    answer = client.call("get", connection=connection, key=other, expect=first.expect)
    judge.miss(answer, because="the value was stored under another key", cite=cite, expected=one, got=other)
    client.ok("put", connection=connection, key=other, **second.stored)
    for key, value in ((one, first), (other, second)):
        got = client.ok("get", connection=connection, key=key, expect=value.expect)["payload"]
        judge.same_bytes(value.payload, got, what="the payload under its own key", source="what this case stored", cite=cite)
