"""Calls of the gRPC transport of the multiprocess server: what the bytes of messages are, and which status an error has.

They are made by the pinned interpreter, with the messages that ship in the wheel.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Final

from fixturegen.environment import PinnedEnvironment
from fixturegen.errors import CaptureError
from fixturegen.mp.launch import GRPC, Launch
from fixturegen.mp.pickles import pickled_chunks
from fixturegen.mp.script import CHUNK, CHUNK_BYTES, HIDDEN, LAYERS, tokens
from fixturegen.vector import Json, Vector, patterned
from wire.release import Release

OP: Final = "mp_grpc_call"
SOURCE: Final = "lmcache.v1.multiprocess.transport.grpc_impl.server"
PROBE_TIMEOUT: Final = 120.0
_NO_BYTES: Final[Json] = {"hex": ""}


@dataclass(frozen=True)
class Call:
    """One call; the request is given by its fields, in the JSON of protobuf, or as ``{"hex"}``."""

    name: str
    method: str
    request: Json


def calls() -> list[Call]:
    """All calls, in their order: later ones depend on what earlier ones left in the server."""
    context: dict[str, Json] = {
        "instance_id": 7, "model_name": "grpc", "world_size": 1, "block_size": CHUNK, "num_layers": LAYERS,
        "hidden_dim_size": HIDDEN, "dtype_str": "float16", "use_mla": False,
    }  # fmt: skip
    store = {"key": _key("r1", worker_id=0), "instance_id": 7}
    data = base64.b64encode(pickled_chunks([patterned(1, CHUNK_BYTES)], (2, LAYERS, CHUNK, HIDDEN))).decode()
    lookup = {"key": _key("r2"), "tp_size": 1}
    return [
        Call("noop", "DebugService/Noop", {}),
        Call("chunk-size", "ControllerService/GetChunkSize", {}),
        Call("experimental", "ControllerService/GetExperimental", {}),
        Call("ping", "ControllerService/Ping", {}),
        Call("ping-unknown", "ControllerService/Ping", {"instance_id": 7}),
        Call("lookup-unregistered", "LookupService/Lookup", lookup),
        Call("status-unregistered", "LookupService/QueryPrefetchStatus", {"request_id": "r2"}),
        Call("store-unregistered", "EngineDrivenService/PrepareStore", store),
        Call("register", "EngineDrivenService/RegisterKvCacheEngineDrivenContext", context),
        Call(
            "register-bad-dtype",
            "EngineDrivenService/RegisterKvCacheEngineDrivenContext",
            {**context, "instance_id": 8, "dtype_str": "no_such_type"},
        ),
        Call("prepare-store", "EngineDrivenService/PrepareStore", store),
        Call("commit-store", "EngineDrivenService/CommitStore", {**store, "data": data}),
        Call("lookup", "LookupService/Lookup", lookup),
        Call("status", "LookupService/WaitPrefetchStatus", {"request_id": "r2", "timeout": 5.0}),
        Call("free", "LookupService/FreeLookupLocks", lookup),
        Call("end", "LookupService/EndSession", {"request_id": "r2"}),
        Call("lookup-no-readers", "LookupService/Lookup", {"key": _key("r3", num_kv_readers=0), "tp_size": 1}),
        Call("lookup-bad-salt", "LookupService/Lookup", {"key": _key("r4", cache_salt="a@b"), "tp_size": 1}),
        Call("lookup-no-key", "LookupService/Lookup", {}),
        Call("retrieve-no-lookup", "EngineDrivenService/PrepareRetrieve", {**store, "key": _key("r5", worker_id=0)}),
        Call("commit-bad-data", "EngineDrivenService/CommitStore", {"key": _key("r6", first=5, worker_id=0), "instance_id": 7}),
        Call("clear", "ControllerService/Clear", {}),
        Call("clear-force", "ControllerService/Clear", {"force": True}),
        Call("module-call", "ControllerService/ServerModuleCall", {"method": "nobody", "payload": ""}),
        Call("no-handler", "BlendService/CbProtocolHandshake", {}),
        Call("no-method", "DebugService/NoSuchMethod", _NO_BYTES),
        Call("no-service", "NoSuchService/Noop", _NO_BYTES),
        Call("bad-bytes", "ControllerService/Ping", {"hex": "ff"}),
        Call("bad-text", "LookupService/EndSession", {"hex": "0a02fffe"}),
        Call("unknown-field", "ControllerService/Ping", {"hex": "f801050807"}),
        Call("noop-again", "DebugService/Noop", {}),
    ]


def grpc_vectors(release: Release, environment: PinnedEnvironment) -> list[Vector]:
    """The calls, with their outcomes from two servers; none where the release speaks ZeroMQ alone.

    Raises:
        EnvironmentUnavailable: the server or the probe does not start.
        CaptureError: the two servers answer differently.
    """
    if not GRPC[release]:
        return []
    asked = calls()
    outcomes, again = calls_made(release, environment, asked), calls_made(release, environment, asked)
    found = []
    for call, outcome, other in zip(asked, outcomes, again, strict=True):
        if outcome != other:
            raise CaptureError(f"lmcache {release} answers {call.method} ({call.name}) differently: {outcome} and {other}")
        args = {"method": f"/lmcache.mp.{call.method}", "request": {"hex": outcome.pop("request")}}
        fields = {} if "hex" in call.request else {"fields": call.request}
        found.append(Vector(f"mp.grpc.{call.name}", OP, {**args, **fields}, outcome, SOURCE))
    return found


def calls_made(release: Release, environment: PinnedEnvironment, asked: list[Call]) -> list[dict[str, Json]]:
    """The outcomes of calls at a server of their own, in their order; each has its ``request`` in hexadecimal as well.

    Raises:
        EnvironmentUnavailable: the server or the probe does not start.
        CaptureError: the calls could not be made.
    """
    with environment.mp_server(release, Launch(shared_memory=False, grpc=True)) as server:
        listed = [{"method": call.method, "request": call.request} for call in asked]
        args = {"target": f"{server.host}:{server.port}", "calls": listed}
        question = {"id": "calls", "op": "mp_grpc_calls", "args": args}
        outcome = environment.run_mp_probe(release, {"vectors": [question]}, timeout=PROBE_TIMEOUT)["outcomes"]["calls"]
    if "ok" not in outcome:
        raise CaptureError(f"the gRPC calls of lmcache {release} could not be made: {outcome}")
    found: list[dict[str, Json]] = outcome["ok"]["outcomes"]
    return found


def _key(request: str, *, first: int = 1, **changes: Json) -> dict[str, Json]:
    key: dict[str, Json] = {
        "model_name": "grpc", "world_size": 1, "token_ids": tokens(1, first=first), "start": 0, "end": CHUNK,
        "request_id": request, "num_kv_readers": 1,
    }  # fmt: skip
    return {**key, **changes}
