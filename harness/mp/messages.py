"""Messages that no client of lmcache sends, beyond the captured ones, as a table; and requests that ask for far too much."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from harness.mp.benches import Bench
from wire.mp.operations import OperationTable
from wire.mp.values import Value, pack

HUGE: Final = 100 << 20
MANY: Final = 20_000
NESTED: Final = 100_000
Frames = Callable[[OperationTable], Sequence[bytes]]


@dataclass(frozen=True)
class Message:
    """Something that is sent once over a connection of its own."""

    words: str
    """What it is, behind ``after``."""
    frames: Frames
    cite: str = "SRV-MP-101"


def _number(table: OperationTable, name: str = "NOOP") -> bytes:
    return pack(table.named(name).number)


MESSAGES: Final[dict[str, Message]] = {
    "empty-frame": Message("a message of one empty frame", lambda _: [b""]),
    "two-empty-frames": Message("a message of two empty frames", lambda _: [b"", b""]),
    "long-frame": Message("a message of one frame of a MiB", lambda _: [bytes(1 << 20)]),
    "delimiter": Message(
        "a request behind an empty frame, as a REQ socket sends it", lambda table: [b"", b"\x00", _number(table)]
    ),
    "operation-nil": Message("nil in the place of the operation", lambda _: [b"u", b"\xc0"]),
    "operation-map": Message("a map in the place of the operation", lambda _: [b"u", pack({"op": 1})]),
    "operation-list": Message("a list in the place of the operation", lambda _: [b"u", pack([1])]),
    "operation-negative": Message("operation -1", lambda _: [b"u", pack(-1)]),
    "operation-huge": Message("operation 2**64 - 1", lambda _: [b"u", pack((1 << 64) - 1)]),
    "operation-text": Message("a text of 2 MiB in the place of the operation", lambda _: [b"u", pack("x" * (2 << 20))]),
    "operation-no-utf8": Message("a text that is no UTF-8 in the place of the operation", lambda _: [b"u", b"\xa2\xff\xfe"]),
    "operation-extension": Message("an extension value in the place of the operation", lambda _: [b"u", b"\xd4\x01\x00"]),
    "operation-cut": Message("half a number in the place of the operation", lambda _: [b"u", b"\xcd\x01"]),
    "operation-nested": Message("lists in lists, without end, in the place of the operation", lambda _: [b"u", b"\x91" * NESTED]),
    "stream-nobody-has": Message("words about a stream that there is not", lambda _: [b"u", b"", b"ack"]),
    "other-frames-behind": Message(
        "a request with 200 frames too many", lambda table: [b"u", _number(table), *[b"\xc0"] * 200], "SRV-MP-020"
    ),
    "payload-nested": Message(
        "lists in lists, without end, as a payload",
        lambda table: [b"u", _number(table, "LOOKUP"), *[b"\x91" * NESTED] * len(table.named("LOOKUP").payloads)],
        "SRV-MP-020",
    ),
    "payload-lies": Message(
        "a list that says it has 2**32 - 1 elements, as a payload",
        lambda table: [b"u", _number(table, "LOOKUP"), *[b"\xdd\xff\xff\xff\xff"] * len(table.named("LOOKUP").payloads)],
        "SRV-MP-020",
    ),
    "huge-uid": Message("a request whose uid has 100 MiB", lambda table: [bytes(HUGE), _number(table), b"\xc0"], "SRV-MP-104"),
    "huge-payload": Message("a payload of 100 MiB for NOOP", lambda table: [b"u", _number(table), bytes(HUGE)], "SRV-MP-104"),
    "huge-operation": Message(
        "100 MiB in the place of the operation", lambda _: [b"u", b"\xc6" + HUGE.to_bytes(4, "big") + bytes(HUGE)]
    ),
    "many-frames": Message("a message of 20000 frames", lambda table: [b"u", _number(table), *[b"\xc0"] * MANY], "SRV-MP-104"),
}


@dataclass(frozen=True)
class Demand:
    """A whole request that would cost far more than any other."""

    words: str
    ask: Callable[[Bench], tuple[str, Sequence[Value]]]
    """Its operation and payloads."""


def _prepare(end: int) -> Callable[[Bench], tuple[str, Sequence[Value]]]:
    def ask(bench: Bench) -> tuple[str, Sequence[Value]]:
        record = {**bench.prompt(1).record(bench.release, 0), "end": end}
        return "PREPARE_STORE", [record, bench.engine.instance]

    return ask


def _lookup(tokens: int, world: int) -> Callable[[Bench], tuple[str, Sequence[Value]]]:
    def ask(bench: Bench) -> tuple[str, Sequence[Value]]:
        bench.register(world=world)
        prompt = bench.prompt(1, world=world)
        record = {**prompt.record(bench.release, None), "token_ids": list(range(tokens)), "end": tokens}
        return "LOOKUP", [record, world]

    return ask


def _free(bench: Bench) -> tuple[str, Sequence[Value]]:
    bench.register(world=20_000)
    record = {**bench.prompt(1, world=20_000).record(bench.release, None), "token_ids": list(range(800)), "end": 800}
    return "FREE_LOOKUP_LOCKS", [record, 20_000]


DEMANDS: Final[dict[str, Demand]] = {
    "range-without-end": Demand("a store of a range that ends at 2**62", _prepare(1 << 62)),
    "range-of-a-billion": Demand("a store of a range of 2**30 tokens", _prepare(1 << 30)),
    "long-prompt": Demand("a lookup of 262144 tokens", _lookup(1 << 18, 1)),
    "wide-world": Demand("a lookup of a prompt in a world of 20000 ranks", _lookup(1600, 20_000)),
    "wide-free": Demand("the release of locks in a world of 20000 ranks", _free),
}
