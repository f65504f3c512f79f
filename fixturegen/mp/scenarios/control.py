"""The control plane: every operation once, uids, connections, and what needs no KV data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from fixturegen.mp.script import JOB, POOL, REGISTER, UNREGISTER, Script, counts_lookups, tokens
from wire.mp.operations import STREAMING, Operation, operation_table
from wire.mp.records import RECORDS, Field, fields_of
from wire.mp.types import Array, Map, Named, Optional, Scalar, Tuple, Type
from wire.mp.values import Value
from wire.release import Release

_SCALARS: Final[dict[str, Value]] = {
    "int": 1, "bool": True, "str": "r1", "bytes": b"", "float": 0.5, "map": {}, "any": None,
}  # fmt: skip
_FIELDS: Final[dict[str, Value]] = {"dtype_str": "float16", "block_size": 16, "hidden_dim_size": 2, "model_name": "model"}
"""Members of records that must be sensible."""


def scripts(release: Release) -> Iterator[Script]:
    """The scripts of a release."""
    for operation in operation_table(release).operations:
        if operation.name not in STREAMING:
            yield _once(release, operation)
    yield _uids(release)
    yield _in_flight(release)
    yield _routing_id(release)
    if "PING" in operation_table(release):
        yield _ping(release)
    if operation_table(release).accepts_names:
        yield _names(release)


def _once(release: Release, operation: Operation) -> Script:
    script = _script(
        release, f"once-{operation.name.lower().replace('_', '-')}", f"{operation.name} on a server with nothing in it."
    )
    payloads = [_sample(script, type_) for type_ in operation.payloads]
    if operation.name == "LOOKUP" and counts_lookups(release):
        script.bound["job"] = JOB
        return script.send(operation.name, *payloads).unsure({"": "job"})
    if operation.name == REGISTER[release] and operation.result is not None:
        script.bound["pool"] = POOL
        return script.send(operation.name, *payloads).unsure({"shm_name": "pool"})
    return script.send(operation.name, *payloads).unsure()


def _uids(release: Release) -> Script:
    script = _script(release, "uids", "A server gives back whatever uid a request has, and does not read it.")
    for uid in (b"\x00", b"\xcd\x01\x00", b"", b"\xc1", b"no msgpack at all", bytes(range(64))):
        script.send("NOOP", uid=uid).receive(within=1.0)
    return script


def _in_flight(release: Release) -> Script:
    script = _script(release, "in-flight", "Requests in flight with the same uid are each answered.")
    for _ in range(3):
        script.send("NOOP", uid=b"\x07")
    script.send("GET_CHUNK_SIZE", uid=b"\x07")
    for _ in range(4):
        script.receive()
    return script.silence()


def _routing_id(release: Release) -> Script:
    script = _script(release, "routing-id", "A connection with a routing id of its own, and one that takes it again.")
    script.connect("named", b"worker-0").ask("NOOP", connection="named").close("named")
    return script.connect("again", b"worker-1").ask("NOOP", connection="again")


def _ping(release: Release) -> Script:
    script = _script(release, "ping", "PING with nothing, with an unknown instance, and with a registered one.")
    if not script.table.named("PING").payloads:
        return script.ask("PING")
    script.ask("PING", None).ask("PING", 4_000_000)
    operation, back = REGISTER[release], UNREGISTER[release]
    if operation is not None and back is not None:
        script.setting = "shared-memory"
        script.register().ask("PING", script.instance).ask(back, script.instance).ask("PING", script.instance)
    return script


def _names(release: Release) -> Script:
    script = _script(release, "names", "Operations with a number are taken by their names as well, and answered by the name.")
    for name in ("noop", "get_chunk_size", "NOOP"):
        script.raw(script.uid(), bytes([0xA0 + len(name)]) + name.encode()).receive(within=1.0)
    return script


def _sample(script: Script, type_: Type) -> Value:
    match type_:
        case Scalar("int"):
            return script.instance
        case Scalar(name):
            return _SCALARS.get(name)
        case Optional(Scalar("bool")):
            return True
        case Optional() | Map():
            return None if isinstance(type_, Optional) else {}
        case Array(Scalar("ext")):
            return []
        case Array(Named("EngineGroupInfo")):
            return []
        case Array(element):
            return [_sample(script, element)]
        case Tuple(elements):
            return [_sample(script, element) for element in elements]
        case Named("IPCCacheEngineKey" | "IPCCacheServerKey"):
            return script.key(tokens(1)).record(script.release)
        case Named(name) if name in RECORDS:
            fields = fields_of(script.release, name)
            return {field.name: _member(script, field) for field in fields if field.required}
        case Named("EngineType"):
            return "vllm"
    return {}


def _member(script: Script, field: Field) -> Value:
    if field.name == "instance_id":
        return script.instance
    return _FIELDS[field.name] if field.name in _FIELDS else 1 if field.type == Scalar("int") else _sample(script, field.type)


def _script(release: Release, name: str, title: str) -> Script:
    return Script(release, name, title, "control")
