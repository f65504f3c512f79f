"""Plays the worst collisions against running servers: a store that one question empties, a thread that one message ends."""

from __future__ import annotations

import contextlib
import os
import socket
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol

from fixturegen.environment import open_environment
from fixturegen.errors import CaptureError, EnvironmentUnavailable
from fixturegen.mp import memory
from fixturegen.mp.dealer import Dealers
from fixturegen.mp.launch import NO_DATA_PATH, NO_SERVER, STATUS_PATH
from fixturegen.vector import patterned
from mockserver.mp.server import MpServer as MockServer
from reports.collisions.demonstration import Act, Demonstration, Target
from reports.collisions.effects import UNASKED
from reports.collisions.fates import Fate, Pair
from reports.collisions.harm import Harm
from reports.collisions.matrix import Collisions
from reports.words import count
from wire.errors import WireError
from wire.mp.frames import decode_reply, encode_request
from wire.mp.operations import OperationTable, operation_table
from wire.mp.records import KEY_RECORD, fields_of
from wire.mp.values import Value, pack
from wire.release import Release

CHUNKS: Final = 3
CHUNK: Final = 16
"""Tokens of a chunk, as the servers are started."""
INSTANCE: Final = 7
MODEL: Final = "lmconform/collisions"
PATIENCE: Final = {"live": 5.0, "mock": 0.5}
"""Seconds after which no answer will come any more: a server that works answers in milliseconds."""
ANSWERED: Final = {"live": 30.0, "mock": 10.0}
"""Seconds that an answer may take that must come."""
POLLS: Final = 200


class Running(Protocol):
    """A server that can be played against."""

    release: Release

    @property
    def address(self) -> tuple[str, int]:
        """Host and port."""

    def health(self) -> str:
        """What its health check says, in words."""

    def restart(self) -> None:
        """Start it again at the same address, with an empty store."""


class NoAnswer(Exception):
    """A server did not answer what it must answer."""


@dataclass(frozen=True)
class Play:
    """What is to be shown at one server."""

    server: str
    pair: Pair | None
    """Client and server; None where the message is nobody's."""
    fate: Fate | None
    kind: str
    """``empties``, ``ends`` or ``short``."""


def plays(result: Collisions) -> list[Play]:
    """The worst of each kind, on the newest servers that show it: objects that go, a number that kills, a message that kills."""
    found = []
    emptied = _worst(result, Harm.DESTROYS, lambda server: NO_DATA_PATH[server] is None)
    if emptied is not None:
        found.append(Play(emptied[0].server, *emptied, "empties"))
    ended = _worst(result, Harm.KILLS, lambda server: NO_SERVER[server] is None)
    if ended is not None:
        found.append(Play(ended[0].server, *ended, "ends"))
    able = [release for release in map(Release.parse, result.servers) if NO_SERVER[release] is None]
    if able:
        used = [play.server for play in found]
        newest = str(able[-1])
        found.append(Play(used[0] if used and newest not in used else newest, None, None, "short"))
    return found


def _worst(result: Collisions, harm: Harm, able: Callable[[Release], bool]) -> tuple[Pair, Fate] | None:
    """A pair with a harm of plain use; best one that nobody asks for, of newest releases."""
    found = [
        (pair, fate)
        for pair in result.pairs
        if able(Release.parse(pair.server))
        for fate in pair.troubles
        if fate.grade.harm is harm and fate.grade.plain
    ]
    chosen = max(
        found,
        key=lambda one: (one[1].operation in UNASKED, Release.parse(one[0].server), Release.parse(one[0].client)),
        default=None,
    )
    if chosen is None:
        return None
    pair, fate = chosen
    client, server = (next(name for name in reversed(names) if name in wanted) for names, wanted in (
        (result.generation(pair.client).releases, result.clients),
        (result.generation(pair.server).releases, result.servers),
    ))  # fmt: skip
    return Pair(client, server, pair.fates), fate


Opener = Callable[[Release], AbstractContextManager[Running]]


def demonstrate(result: Collisions, target: Target, runtime: str, progress: Callable[[str], None]) -> list[Demonstration]:
    """Play what :func:`plays` chooses; a server that does not start costs its own demonstrations.

    Raises:
        EnvironmentUnavailable: the runtime cannot work here at all.
    """
    opener = _mock if target == "mock" else _live(runtime)
    chosen = plays(result)
    found: list[Demonstration] = []
    for server in dict.fromkeys(play.server for play in chosen):
        own = [play for play in chosen if play.server == server]
        what = "the real server" if target == "live" else "the mock"
        progress(f"lmcache {server}: {count(len(own), 'demonstration')} against {what}")
        try:
            with opener(Release.parse(server)) as running:
                for number, play in enumerate(own):
                    if number:
                        running.restart()
                    found.append(_played(play, running, target))
        except (EnvironmentUnavailable, CaptureError, OSError) as error:
            done = len([one for one in found if one.server == server])
            found += [_failed(play, target, str(error)) for play in own[done:]]
    return found


def _failed(play: Play, target: Target, problem: str) -> Demonstration:
    client = play.pair.client if play.pair else ""
    return Demonstration(_title(play), client, play.server, target, (), shown=False, verdict="", problem=problem)


def _title(play: Play) -> str:
    if play.pair is None or play.fate is None:
        return "one message of one frame ends the message thread"
    what = "clears the cache" if play.kind == "empties" else "ends the message thread"
    return f"{play.fate.operation} of a client of {play.pair.client} {what}"


def _played(play: Play, running: Running, target: Target) -> Demonstration:
    stage = _Stage(running, target)
    client = play.pair.client if play.pair else ""
    with Dealers(*running.address) as dealers:
        stage.dealers = dealers
        try:
            shown, verdict = _PLAYS[play.kind](stage, play)
        except (NoAnswer, WireError, OSError) as error:
            return replace(_failed(play, target, str(error)), acts=stage.acts)
    return Demonstration(_title(play), client, play.server, target, stage.acts, shown, verdict)


@dataclass
class _Stage:
    """One server, its clients, and what was done so far."""

    running: Running
    target: Target
    acts: list[Act] = field(default_factory=list)
    dealers: Dealers = field(init=False)
    counter: int = 0

    @property
    def table(self) -> OperationTable:
        """The server's operations."""
        return operation_table(self.running.release)

    def told(self, did: str, came: str, sent: Sequence[bytes] = ()) -> None:
        """Remember an act."""
        self.acts.append(Act(did, came, tuple(sent)))

    def send(self, name: str, frames: Sequence[bytes], patience: float) -> list[bytes] | None:
        """Send one message of a client and wait for its reply; the frames behind the uid."""
        self.counter += 1
        uid = pack(self.counter)
        self.dealers.send(name, [uid, *frames])
        while True:
            reply = self.dealers.receive(name, patience)
            if reply is None or reply[0] == uid:
                return None if reply is None else reply[1:]

    def ask(self, name: str, operation: str, payloads: Sequence[Value]) -> Value:
        """The answer that the server's own client gets.

        Raises:
            NoAnswer: none comes.
        """
        reply = self.send(name, encode_request(self.table, operation, payloads), ANSWERED[self.target])
        if reply is None:
            raise NoAnswer(f"the server of lmcache {self.running.release} does not answer {operation}")
        return decode_reply(self.table, operation, reply)

    def lives(self) -> bool:
        """Whether a client of the server's release that comes now gets an answer."""
        name = f"client-{self.counter}"
        self.dealers.connect(name)
        try:
            return self.send(name, encode_request(self.table, "NOOP", []), PATIENCE[self.target]) is not None
        finally:
            self.dealers.close(name)


def _empties(stage: _Stage, play: Play) -> tuple[bool, str]:
    """Store, look up, send the one message, look up again."""
    assert play.pair is not None
    assert play.fate is not None
    release = stage.running.release
    stage.dealers.connect("engine")
    _store(stage)
    before = _hits(stage, "before")
    stage.told(f"an engine of {release} looks its {CHUNKS} chunks up", f"{before} hits")
    table = operation_table(Release.parse(play.pair.client))
    frames = encode_request(table, play.fate.operation, [])
    stage.dealers.connect("older")
    reply = stage.send("older", frames, ANSWERED[stage.target])
    came = "no answer" if reply is None else _read(table, play.fate.operation, reply)
    stage.told(f"a client of {play.pair.client} sends {play.fate.operation}", came, frames)
    after = _hits(stage, "after")
    stage.told(f"the engine of {release} looks them up again", f"{after} hits")
    shown = before == CHUNKS and after == 0
    verdict = f"{before} hits before it, {after} after it: the server executed {play.fate.meets}"
    return shown, verdict if shown else f"{before} hits before it, {after} after it: nothing was lost"


def _read(table: OperationTable, operation: str, reply: Sequence[bytes]) -> str:
    try:
        value = decode_reply(table, operation, reply)
    except WireError as error:
        return f"an answer that it cannot read ({error})"
    return f"an answer, which it reads as {'nil' if value is None else repr(value)}"


def _store(stage: _Stage) -> None:
    """Register, and store the chunks over shared memory.

    Raises:
        NoAnswer: the server does not answer, or does not store.
    """
    context = {
        "instance_id": INSTANCE, "model_name": MODEL, "world_size": 1, "block_size": CHUNK, "num_layers": 1,
        "hidden_dim_size": 2, "dtype_str": "float16", "use_mla": False,
    }  # fmt: skip
    pool = stage.ask("engine", _named(stage.table, "REGISTER_KV_CACHE_ENGINE_DRIVEN_CONTEXT"), [context]) or {}
    key = _key(stage.running.release, "store", worker=0)
    prepared = stage.ask("engine", "PREPARE_STORE", [key, INSTANCE])
    slots = prepared["context"].get("slots", [])
    for number, slot in enumerate(slots):
        if pool.get("shm_name"):
            memory.write(pool["shm_name"], slot["offset"], patterned(number, slot["length"]))
    stored = stage.ask("engine", "COMMIT_STORE", [key, INSTANCE, b""])
    if stored is not True or len(slots) != CHUNKS:
        raise NoAnswer(f"the server of lmcache {stage.running.release} stored {len(slots)} of {CHUNKS} chunks ({stored!r})")
    stage.told(f"an engine of {stage.running.release} stores {CHUNKS} chunks", "stored")


def _named(table: OperationTable, meaning: str) -> str:
    """The release's own name of an operation."""
    return next(operation.name for operation in table.operations if operation.meaning == meaning)


def _key(release: Release, request: str, worker: int | None) -> dict[str, Any]:
    """A key record for all chunks, with the fields of the release."""
    values: dict[str, Value] = {
        "model_name": MODEL, "world_size": 1, "worker_id": worker, "chunk_hash": None,
        "token_ids": list(range(1, CHUNKS * CHUNK + 1)), "start": 0, "end": CHUNKS * CHUNK,
        "request_id": f"lmconform-{request}-{os.getpid()}", "cache_salt": "", "request_configs": None, "num_kv_readers": 1,
    }  # fmt: skip
    return {found.name: values[found.name] for found in fields_of(release, KEY_RECORD[release])}


def _hits(stage: _Stage, request: str) -> int:
    """Chunks that a lookup finds; its locks are given back.

    Raises:
        NoAnswer: no result comes.
    """
    key = _key(stage.running.release, request, worker=None)
    stage.ask("engine", "LOOKUP", [key, 1])
    for _ in range(POLLS):
        found = stage.ask("engine", "QUERY_PREFETCH_STATUS", [key["request_id"]])
        if found is not None:
            if found:
                stage.ask("engine", "FREE_LOOKUP_LOCKS", [{**key, "end": found * CHUNK}, 1])
            stage.ask("engine", "END_SESSION", [key["request_id"]])
            return int(found)
    raise NoAnswer(f"the server of lmcache {stage.running.release} never says how many chunks a lookup finds")


def _ends(stage: _Stage, play: Play) -> tuple[bool, str]:
    """A number that the server does not know."""
    assert play.pair is not None
    assert play.fate is not None
    table = operation_table(Release.parse(play.pair.client))
    frames = [pack(play.fate.number)]
    with contextlib.suppress(WireError):
        frames = encode_request(table, play.fate.operation, [])
    return _kills(stage, f"a client of {play.pair.client} sends {play.fate.operation}", frames)


def _short(stage: _Stage, play: Play) -> tuple[bool, str]:
    """A message of its uid alone."""
    del play
    return _kills(stage, "anybody sends one message of one frame, a uid alone", [])


def _kills(stage: _Stage, did: str, frames: Sequence[bytes]) -> tuple[bool, str]:
    release = stage.running.release
    lived = stage.lives()
    stage.told(f"a client of {release} sends NOOP", "answered" if lived else "no answer")
    if not lived:
        raise NoAnswer(f"the server of lmcache {release} does not answer NOOP from the start")
    stage.dealers.connect("other")
    reply = stage.send("other", frames, PATIENCE[stage.target])
    stage.told(did, "no answer" if reply is None else "an answer", frames)
    lives = stage.lives()
    stage.told(f"another client of {release} sends NOOP", "answered" if lives else "no answer")
    stage.told("the health check is asked", stage.running.health())
    if lives:
        return False, "the server answers others still"
    return True, "the message thread is dead: no client gets an answer until the server is started again"


_PLAYS: Final[dict[str, Callable[[_Stage, Play], tuple[bool, str]]]] = {"empties": _empties, "ends": _ends, "short": _short}


@dataclass
class _RealServer:
    server: Any
    release: Release

    @property
    def address(self) -> tuple[str, int]:
        return self.server.host, self.server.port

    def restart(self) -> None:
        self.server.restart()

    def health(self) -> str:
        path = STATUS_PATH[self.release]
        if path is None:
            return "the server is started without one"
        url = f"http://{self.server.host}:{self.server.http_port}{path.replace('status', 'healthcheck')}"
        try:
            with urllib.request.urlopen(url, timeout=10) as answer:
                return f"{answer.status}, {answer.read(200).decode(errors='replace')}"
        except (OSError, urllib.error.URLError) as error:
            return f"no answer ({error})"


@dataclass
class _MockServer:
    server: MockServer
    release: Release

    @property
    def address(self) -> tuple[str, int]:
        return self.server.address

    def restart(self) -> None:
        self.server.restart()

    def health(self) -> str:
        """The mock has no HTTP; what it has is its port."""
        with socket.create_connection(self.server.address, timeout=10):
            return "a mock has none; its port still takes connections"


def _live(runtime: str) -> Opener:
    environment = open_environment(runtime)

    @contextlib.contextmanager
    def opened(release: Release) -> Iterator[Running]:
        with environment.mp_server(release) as server:
            yield _RealServer(server, release)

    return opened


@contextlib.contextmanager
def _mock(release: Release) -> Iterator[Running]:
    with MockServer(release, chunk_size=CHUNK) as server:
        yield _MockServer(server, release)
