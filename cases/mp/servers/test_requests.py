"""How requests are read: what a later client adds, leaves out or writes in another way, and names in place of numbers."""

from collections.abc import Callable, Mapping
from typing import Any

from harness.case import SERVERS, Variant, case
from harness.judge import Judge
from harness.mp.benches import Bench
from harness.mp.peer import MpPeer
from harness.mp.targets import MpTarget
from harness.mp.witness import judged
from wire.mp.records import KEY_RECORD, fields_of
from wire.mp.values import pack
from wire.release import Release

DATA = "0.4.6 and later"


def wide(value: Any) -> bytes:
    """Msgpack in its widest forms: numbers in nine bytes, texts, lists and maps with lengths of four."""
    if isinstance(value, bool) or value is None:
        return pack(value)
    if isinstance(value, int):
        return (b"\xcf" if value >= 0 else b"\xd3") + (value & (1 << 64) - 1).to_bytes(8, "big")
    if isinstance(value, str):
        data = value.encode()
        return b"\xdb" + len(data).to_bytes(4, "big") + data
    if isinstance(value, Mapping):
        return b"\xdf" + len(value).to_bytes(4, "big") + b"".join(wide(name) + wide(member) for name, member in value.items())
    return b"\xdd" + len(value).to_bytes(4, "big") + b"".join(map(wide, value))


def _defaults_left_out(release: Release, record: Mapping[str, Any]) -> Mapping[str, Any]:
    kept = {field.name for field in fields_of(release, KEY_RECORD[release]) if field.required} | {"num_kv_readers"}
    return {name: value for name, value in record.items() if name in kept}


Writer = Callable[[Release, Mapping[str, Any]], bytes]
WRITERS: dict[str, Writer] = {
    "unknown-members": lambda _, record: pack({**record, "invented": [1, {"a": None}], "x_later": "text"}),
    "reordered": lambda _, record: pack(dict(reversed(list(record.items())))),
    "defaults-left-out": lambda release, record: pack(_defaults_left_out(release, record)),
    "wide-forms": lambda _, record: wide(record),
}


def writers(_: Release) -> list[Variant]:
    """Variants: how a key is written."""
    return [Variant(name, writer) for name, writer in WRITERS.items()]


@case("SRV-MP-018", releases=DATA, targets=SERVERS, variants=writers, judges="server", runs=("server",))
def test_keys_as_others_write_them(judge: Judge, release: Release, mp_server: MpTarget, vector: Writer) -> None:
    """A key that is written in another way than lmcache writes it means the same to every operation."""
    with Bench(judge, release, mp_server) as bench, judged(judge, "SRV-MP-018"):
        peer, prompt = bench.peer, bench.prompt(2)
        bench.stored(prompt, bench.contents(2))
        wanted = bench.again(prompt)

        def ask(name: str, worker: int | None, *more: Any) -> Any:
            operation = peer.table.named(name)
            uid = peer.new_uid()
            peer.raw(uid, pack(operation.number), vector(release, wanted.record(release, worker)), *map(wide, more))
            return peer.result(name, uid)

        ask("LOOKUP", None, 1)
        found = peer.hits(wanted, None)
        judge.holds(found == 2, f"a lookup found {found} of 2 stored chunks", cite="SRV-MP-018")
        judge.holds(ask("PREPARE_RETRIEVE", 0, bench.engine.instance)["success"], "a retrieve of them failed", cite="SRV-MP-018")
        judge.holds(ask("COMMIT_RETRIEVE", 0, bench.engine.instance), "COMMIT_RETRIEVE was answered false", cite="SRV-MP-018")
        ask("FREE_LOOKUP_LOCKS", None, 1)


@case("SRV-MP-018", "SRV-MP-001", releases="0.5.6 and later", targets=SERVERS, judges="server", runs=("server",))
def test_names(judge: Judge, release: Release, mp_server: MpTarget) -> None:
    """An operation is taken by its name in lower case as well, and the reply has the name."""
    with judged(judge, "SRV-MP-018"), MpPeer(release, mp_server) as peer:
        for name, payloads in (("noop", []), ("get_chunk_size", []), ("ping", [None]), ("end_session", ["nobody"])):
            uid = peer.new_uid()
            peer.raw(uid, pack(name), *map(pack, payloads))
            frames = peer.reply(uid)
            judge.holds(frames, f"{name} by its name was not answered", cite="SRV-MP-018")
            assert frames is not None
            judge.holds(
                frames[0] == pack(name),
                f"the reply to {name} has {frames[0].hex()} in the place of the operation",
                cite="SRV-MP-001",
            )


@case("SRV-MP-018", releases="0.3.10 and later", targets=SERVERS, judges="server", runs=("server",))
def test_wide_operations(judge: Judge, release: Release, mp_server: MpTarget) -> None:
    """The number of an operation means the same in nine bytes, and comes back in nine bytes."""
    with judged(judge, "SRV-MP-018"), MpPeer(release, mp_server) as peer:
        for name in ("NOOP", "GET_CHUNK_SIZE"):
            number = wide(peer.table.named(name).number)
            uid = peer.new_uid()
            peer.raw(uid, number)
            frames = peer.reply(uid)
            judge.holds(frames, f"{name} with a number in nine bytes was not answered", cite="SRV-MP-018")
            assert frames is not None
            judge.holds(
                frames[0] == number, f"the reply to {name} has {frames[0].hex()} in the place of the operation", cite="SRV-MP-018"
            )
