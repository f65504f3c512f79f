"""Example conversations of the contract, recorded: ``python -m harness.clients.recordings`` makes them again.

Each is a file of JSON Lines beside the schemas: first what it shows, then every line with who wrote it. Nothing in them is
written by hand; only what no two runs have in common is replaced: the scratch directory, ports, numbers of processes and times.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from harness.client import MP_PURE, PURE, Call
from harness.clients.host import TIMED
from harness.clients.samples import sample_arguments, sample_key
from harness.clients.schema_files import DIRECTORY
from harness.clients.session import ClientSession
from harness.clients.stdio import StdioSession
from harness.interpreter import program
from harness.mp.targets import MpTarget, mock_mp_server
from harness.targets import Server, mock_server
from harness.values import sample
from wire.lm.profile import lm_profile
from wire.release import Release

EXAMPLES: Final = DIRECTORY / "examples"
RELEASE: Final = "0.5.6"
_ADAPTERS: Final = "harness.clients.recorded_adapters"
_DEADLINE: Final = 10.0
_SILENCE_MS: Final = 100
_REPLACED: Final = (
    (r'("scratch": ?")[^"]*"', r'\1/dev/shm/lmconform-1234"'),
    (r'("port": ?)\d+', r"\g<1>65432"),
    (r"(127\.0\.0\.1:)\d+", r"\g<1>65432"),
    (r"client-\d+-", "client-1-"),
    (r'("took_ns": ?)\d+', r"\g<1>123456"),
    (r"(known: 0\.3\.1 to )[\w.]+", rf"\g<1>{RELEASE}"),
)

Play = Callable[[ClientSession, Any], None]
"""With a server of the kind that the conversation asks for."""


@dataclass(frozen=True)
class Conversation:
    """One to be recorded: what it shows, with which adapter, and what is asked between ``hello`` and ``bye``."""

    name: str
    shows: str
    play: Play
    command: Sequence[str]
    server: Callable[[Release], AbstractContextManager[Server | MpTarget]] = mock_server


def record(conversation: Conversation) -> str:
    """Hold a conversation; the text of its file."""
    heard: list[dict[str, Any]] = []

    def listen(direction: str, line: bytes) -> None:
        text = line.decode("utf-8")
        for pattern, instead in _REPLACED:
            text = re.sub(pattern, instead, text)
        heard.append({"from": "harness" if direction == "->" else "client", "line": json.loads(text)})

    with conversation.server(Release.parse(RELEASE)) as server:
        session = StdioSession(conversation.command, listen=listen)
        try:
            conversation.play(session, server)
        finally:
            session.stop()
    lines = [{"conversation": conversation.name, "shows": conversation.shows}, *heard]
    return "".join(json.dumps(line) + "\n" for line in lines)


def _hosted(name: str, *options: str) -> list[str]:
    return program("harness.clients.host", [*options, f"{_ADAPTERS}:{name}"])


def _ask(session: ClientSession, op: str, **args: Any) -> None:
    session.call_undeclared(op, args, deadline=_DEADLINE)


def _connect(session: ClientSession, server: Server, name: str, timeout_ms: int = 5000) -> None:
    where = {"protocol": "lm", "host": server.host, "port": server.port}
    _ask(session, "connect", connection=name, **where, release=RELEASE, timeout_ms=timeout_ms)


def _handshake(session: ClientSession, server: Server) -> None:
    del server
    _ask(session, "lmconform_made_up_operation")
    _ask(session, "state")


def _pure(session: ClientSession, server: Server) -> None:
    del server
    for op in PURE:
        _ask(session, op, **sample_arguments(op, RELEASE))


def _connected(session: ClientSession, server: Server) -> None:
    about = {"connection": "c1", "key": sample_key(RELEASE)}
    value = sample(lm_profile(Release.parse(RELEASE)))
    _connect(session, server, "c1")
    _ask(session, "health", connection="c1")
    _ask(session, "exist", **about)
    _ask(session, "get", **about, expect=value.expect)
    _ask(session, "put", **about, **value.stored)
    _ask(session, "exist", **about)
    _ask(session, "get", **about, expect=value.expect)
    _ask(session, "get", **about, expect={**value.expect, "dtype": "float32"})
    _ask(session, "state")
    _ask(session, "close", connection="c1")
    _ask(session, "close", connection="c1")
    _ask(session, "state")


def _timed(session: ClientSession, server: Server) -> None:
    about = {"connection": "c1", "key": sample_key(RELEASE)}
    value = sample(lm_profile(Release.parse(RELEASE)))
    _connect(session, server, "c1")
    _ask(session, "put", **about, **value.stored)
    _ask(session, "exist", **about)
    _ask(session, "get", **about, expect=value.expect)
    _ask(session, "close", connection="c1")


def _errors(session: ClientSession, server: Server) -> None:
    key = sample_key(RELEASE)
    request = sample_arguments("encode_request", RELEASE)
    _ask(session, "encode_request", **{**request, "key": {**key, "model": "m" * 150}})
    _ask(session, "decode_reply", release=RELEASE, bytes=b"\xff" * 36)
    _connect(session, server, "c1")
    _ask(session, "close", connection="c1")
    _ask(session, "exist", connection="c1", key=key)
    _connect(session, server, "c2", _SILENCE_MS)
    _ask(session, "list", connection="c2")
    _ask(session, "parse_key", release=RELEASE, text="m@1@0@7@half@31")


def _unsupported(session: ClientSession, server: Server) -> None:
    del server
    _ask(session, "lmconform_made_up_operation", release=7, bytes=[None])
    _ask(session, "format_key", release="9.9.9", key=sample_key(RELEASE))


def _files(session: ClientSession, server: Server) -> None:
    del server
    paged_shape = [1, 2, 1, 64, 8, 128]
    layout = {"release": RELEASE, "format": "KV_2LTD", "dtype": "uint8"}
    paging = {"paged_shape": paged_shape, "slots": list(range(64))}
    _ask(session, "pack_layout", **layout, paged=bytes(2 * 64 * 8 * 128), **paging)
    _ask(session, "unpack_layout", **layout, bytes=bytes(2 * 64 * 8 * 128), shape=[2, 1, 64, 1024], **paging)


def _backwards(session: ClientSession, server: Server) -> None:
    del server
    keys = [{**sample_key(RELEASE), "chunk_hash": {"int": str(number)}} for number in range(1, 4)]
    session.call_all([Call("format_key", {"release": RELEASE, "key": key}) for key in keys], deadline=_DEADLINE)


def _mp_pure(session: ClientSession, server: MpTarget) -> None:
    del server
    for op in MP_PURE:
        _ask(session, op, **sample_arguments(op, RELEASE))
    _ask(session, "mp_decode_request", release=RELEASE, frames=[{"hex": "18"}, {"hex": "c0"}])


def _mp_connected(session: ClientSession, server: MpTarget) -> None:
    where = {"protocol": "mp", "host": server.host, "port": server.port}
    layout = {"block_size": 16, "num_layers": 1, "hidden_dim_size": 1, "dtype": "float16", "use_mla": False}
    stored = {
        "model_name": "m",
        "world_size": 1,
        "worker_id": 0,
        "tokens": {"range": [0, 40]},
        "start": 0,
        "end": 40,
        "request_id": "stores",
        "cache_salt": "",
    }
    wanted = {**stored, "request_id": "loads"}
    chunks = [bytes(range(64)), bytes(range(64, 128))]
    worker = {"connection": "c1", "instance_id": 7}
    _ask(session, "connect", connection="c1", **where, release=RELEASE, timeout_ms=5000)
    _ask(session, "mp_noop", connection="c1")
    _ask(session, "mp_ping", **worker)
    _ask(session, "mp_chunk_size", connection="c1")
    _ask(session, "mp_register", **worker, context={"model_name": "m", "world_size": 1, **layout})
    _ask(session, "mp_lookup", connection="c1", key=stored, tp_size=1)
    _ask(session, "mp_store", **worker, key=stored, chunks=chunks)
    _ask(session, "mp_retrieve", **worker, key=wanted)
    _ask(session, "mp_lookup", connection="c1", key=wanted, tp_size=1)
    _ask(session, "mp_retrieve", **worker, key=wanted)
    _ask(session, "mp_lookup", connection="c1", key={**wanted, "request_id": "gives up"}, tp_size=1)
    _ask(session, "mp_free_locks", connection="c1", key={**wanted, "request_id": "gives up"}, tp_size=1)
    _ask(session, "mp_end_session", connection="c1", request_id="loads")
    _ask(session, "mp_store", **worker, key={**stored, "start": 1}, chunks=chunks)
    _ask(session, "mp_clear", connection="c1")
    _ask(session, "mp_lookup", connection="c1", key={**wanted, "request_id": "comes too late"}, tp_size=1)
    _ask(session, "mp_unregister", **worker)
    _ask(session, "close", connection="c1")
    _ask(session, "mp_noop", connection="c1")
    _ask(session, "connect", connection="c2", **where, release=RELEASE, timeout_ms=_SILENCE_MS)
    server.misbehave("drop-reply")
    _ask(session, "mp_noop", connection="c2")


def _bye(session: ClientSession, server: Server) -> None:
    _connect(session, server, "c1")
    _ask(session, "state")


_MP: Final = _hosted("RecordedMp")

CONVERSATIONS: Final = (
    Conversation("handshake", "hello, an operation that nobody knows, state, bye", _handshake, _hosted("Recorded")),
    Conversation("pure-operations", "each operation without a connection", _pure, _hosted("Recorded")),
    Conversation("connected", "store and load one value; a miss; a connection closed twice", _connected, _hosted("Recorded")),
    Conversation("errors", "one error of each class", _errors, _hosted("WithABug")),
    Conversation("unsupported", "what a client does not implement", _unsupported, _hosted("Recorded")),
    Conversation("files", "more than 64 KiB, which travel in files of the scratch directory", _files, _hosted("OneAtATime")),
    Conversation("concurrent", "three requests under way, the last one answered first", _backwards, program(_ADAPTERS, [])),
    Conversation("timed", "results with the time that the client itself took for them", _timed, _hosted("Recorded", TIMED)),
    Conversation("mp-pure", "each operation on the multiprocess wire without a connection", _mp_pure, _MP),
    Conversation(
        "mp-connected", "chunks stored, found and loaded over shared memory; misses, refusals and silence", _mp_connected, _MP,
        mock_mp_server,
    ),
    Conversation("bye", "a client with an open connection answers bye and exits with 0", _bye, _hosted("Recorded")),
)  # fmt: skip


def main(arguments: list[str]) -> int:
    """Write all of them into the folder that is given, or beside the schemas."""
    folder = Path(arguments[0]) if arguments else EXAMPLES
    folder.mkdir(exist_ok=True)
    for conversation in CONVERSATIONS:
        (folder / f"{conversation.name}.jsonl").write_text(record(conversation), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
