"""A server with a storage plugin, both in this process, right or with one defect: what cases inside servers are tried on."""

import contextlib
import hashlib
import threading
from dataclasses import dataclass, field
from pathlib import Path

from harness.l2.served.engine import Found, contents
from harness.mp.targets import CHUNK_SIZE

ROOM = 16 * 2**20


@dataclass
class Pretended:
    """Two tiers: a dictionary, and a folder with a file for each object."""

    folder: Path
    defect: str = ""
    memory: dict = field(default_factory=dict)
    locked: int = 0
    running: bool = True
    volatile: dict = field(default_factory=dict)
    order: list = field(default_factory=list)
    loading: int = 0
    second: threading.Event = field(default_factory=threading.Event)

    def has(self, name):
        return self.defect == name

    # What cases ask of the server

    @contextlib.contextmanager
    def engine(self, *, chunk_bytes=1024):
        yield PretendedEngine(self, chunk_bytes)

    def status(self):
        return {"num_l2_adapters": 1, "is_healthy": not self.has("is not healthy")}

    def first_tier(self):
        return len(self.memory)

    def written_through(self, _patience):
        return not self.has("stores never complete")

    def idle(self, _patience):
        return not self.has("locks stay")

    def has_room(self, size, _patience):
        if self.has("locks stay"):
            return sum(map(len, self.memory.values())) + size <= ROOM
        while sum(map(len, self.memory.values())) + size > ROOM:
            del self.memory[next(iter(self.memory))]
        return True

    def processor(self):
        return 0.97 if self.has("descriptor stays readable") else 0.01

    def restart(self):
        self.memory.clear()
        self.volatile.clear()

    def stop(self):
        return {"close hangs": None, "close ends the process": 9}.get(self.defect, -15)

    # The plugin

    def place(self, key):
        return self.folder / hashlib.sha256(repr(key).encode()).hexdigest()

    def named(self, model, salt, tokens):
        if self.has("ignores salts"):
            salt = ""
        if self.has("salts without case"):
            salt = salt.lower()
        if self.has("salts by their beginning"):
            salt = salt[:3]
        return (model, salt, tokens)

    def keep(self, key, data):
        if self.has("keeps nothing") or (self.has("a second store removes") and self.held(key)):
            self.place(key).unlink(missing_ok=True)
            return
        if self.has("forgets at the end"):
            self.volatile[key] = data
            return
        if self.has("takes damaged objects for whole ones") and self.place(key).exists():
            return
        self.place(key).write_bytes(hashlib.sha256(data).digest() + data)
        self.order.append(key)
        if self.has("holds five objects"):
            for old in self.order[:-5]:
                self.place(old).unlink(missing_ok=True)

    def held(self, key):
        if self.has("forgets at the end"):
            return self.volatile.get(key)
        if not self.place(key).exists():
            return None
        stored = self.place(key).read_bytes()
        digest, data = stored[:32], stored[32:]
        if hashlib.sha256(data).digest() != digest and not self.has("checks nothing"):
            return None
        return data


@dataclass
class PretendedEngine:
    """An engine before it."""

    server: Pretended
    chunk_bytes: int
    model: int = 0

    def __post_init__(self):
        self.model = id(self)

    def connect(self):
        """Nothing to do."""

    def alive(self):
        return not self.server.has("NOOP is not answered")

    def contents(self, wanted):
        return contents(wanted, self.chunk_bytes)

    def store(self, wanted):
        if self.server.has("stores are refused"):
            return False
        for key, data in zip(self.keys(wanted), self.contents(wanted), strict=True):
            self.server.memory[key] = data
            self.server.keep(self.server.named(*key), data)
        return True

    def look_up(self, wanted):
        return self.load(wanted).hits

    def load(self, wanted):
        server = self.server
        if server.has("lookups never end") and not any(map(self.have, self.keys(wanted))):
            return Found(None)
        server.loading += 1
        if server.loading > 1:
            server.second.set()
        found = []
        for key in self.keys(wanted):
            data = self.have(key)
            if data is None:
                break
            found.append(data)
        if server.has("mixes what is under way") and server.second.wait(0.2):
            found.reverse()
        if server.has("finds one too many"):
            found.append(b"\0" * self.chunk_bytes)
        if server.has("finds what it cannot load"):
            return Found(wanted.chunks)
        if server.has("swaps two bytes") and found:
            found[-1] = found[-1][1::-1] + found[-1][2:]
        if server.has("loses what was loaded"):
            for key in self.keys(wanted):
                server.place(server.named(*key)).unlink(missing_ok=True)
        server.loading -= 1
        return Found(len(found), found or None)

    def have(self, key):
        known = self.server.memory.get(key)
        return known if known is not None else self.server.held(self.server.named(*key))

    def clear(self):
        self.server.memory.clear()

    def keys(self, wanted):
        ends = range(CHUNK_SIZE, len(wanted.tokens) + 1, CHUNK_SIZE)
        return [(self.model, wanted.salt, wanted.tokens[:end]) for end in ends]
