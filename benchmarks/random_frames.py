"""Random frames against a mock server: nothing crashes, nothing grows, and a client beside them sees nothing of it.

``python -m benchmarks.random_frames --frames 1000000`` starts a mock in a process of its own and sends it frames that are
right, nearly right or noise, over connections that are closed, cut and reset at any byte, while a well-behaved client stores
and loads its own values. The report gives memory, threads and descriptors of the mock before and after; the exit code is 1
where something was wrong.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import random
import socket
import struct
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection as Pipe
from pathlib import Path
from typing import Final, Self

from mockserver.journal import Journal
from mockserver.lm import LmServer
from wire.keys import any_key
from wire.lm.frames import Description, Request, decode_reply, encode_request
from wire.lm.profile import KEY_FIELD_SIZE, LmProfile, lm_profile
from wire.release import KNOWN_RELEASES, Release

_NUMBERS: Final = (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, -1, -(2**31), 2**31 - 1, 200, 400)
_LENGTHS: Final = (0, 1, 7, 64, 300, -1, -(2**31), 2**31 - 1, 1 << 20)
_KEYS: Final = 64
"""Different keys under which random frames store, so that the store stays small however many frames there are."""
_LARGEST: Final = 4096
"""Bytes of payload that are really sent."""
_RECENT: Final = 2000
"""Exchanges that the journal of the mock remembers."""
_MOST_GROWTH: Final = 32 << 20
"""Bytes by which the memory of the mock may differ between the first tenth of the frames and the end."""


@dataclass(frozen=True)
class Resources:
    """What a process holds."""

    resident_bytes: int
    threads: int
    descriptors: int

    @classmethod
    def of(cls, pid: int) -> Resources:
        """Of a process of this machine."""
        process = Path(f"/proc/{pid}")
        status = dict(line.split(":", 1) for line in (process / "status").read_text().splitlines())
        resident = int(status["VmRSS"].split()[0]) * 1024
        return cls(resident, int(status["Threads"]), len(list((process / "fd").iterdir())))


@dataclass
class Findings:
    """What a run showed."""

    release: str
    seed: int
    frames: int = 0
    connections: int = 0
    seconds: float = 0.0
    exchanges: int = 0
    """Headers that the mock saw whole, those of the well-behaved client included."""
    checks: int = 0
    """Values that the well-behaved client stored and got back."""
    failures: tuple[str, ...] = ()
    """What was wrong; empty where nothing was."""
    warm: Resources | None = None
    """The mock after a tenth of the frames, when every kind of frame has been met."""
    after: Resources | None = None
    """The mock when all frames were sent and their connections have ended."""

    @property
    def frames_per_second(self) -> float:
        """Speed of the senders and the mock together."""
        return self.frames / self.seconds if self.seconds else 0.0


def run(release: Release, frames: int, seed: int, senders: int = 4) -> Findings:
    """Send frames to a mock and look at it.

    The frames follow from ``seed``; in which order those of several senders arrive does not.
    """
    findings = Findings(str(release), seed)
    with _mock(release) as (pid, address, pipe), _Bystander(release, address) as bystander:
        began = time.monotonic()
        tenth = max(1, frames // 10)
        for number, part in enumerate((tenth, frames - tenth)):
            for sent, opened in _in_threads(release, address, part, [f"{seed} {number} {sender}" for sender in range(senders)]):
                findings.frames += sent
                findings.connections += opened
            _ask(pipe, "quiet")
            if not number:
                findings.warm = Resources.of(pid)
        findings.after = Resources.of(pid)
        findings.seconds = time.monotonic() - began
        findings.checks = bystander.stop()
        findings.exchanges, defects = _ask(pipe, "defects")
    findings.failures = (*bystander.failures, *defects, *_growth(findings))
    return findings


def _growth(findings: Findings) -> Iterator[str]:
    warm, after = findings.warm, findings.after
    assert warm is not None
    assert after is not None
    if after.resident_bytes - warm.resident_bytes > _MOST_GROWTH:
        yield f"the mock grew from {warm.resident_bytes >> 20} to {after.resident_bytes >> 20} MiB"
    if after.threads > warm.threads:
        yield f"the mock has {after.threads} threads, {warm.threads} before"
    if after.descriptors > warm.descriptors:
        yield f"the mock has {after.descriptors} descriptors, {warm.descriptors} before"
    if not findings.checks:
        yield "the well-behaved client never got to check a value"


class _Bystander:
    """A client that stores values of its own and loads them, again and again, over one connection."""

    def __init__(self, release: Release, address: tuple[str, int]) -> None:
        self._profile = lm_profile(release)
        self._key = any_key(release)
        self._address = address
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._work)
        self._checks = 0
        self.failures: list[str] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> int:
        """End it; how many values it checked."""
        self._ends.set()
        self._thread.join()
        return self._checks

    def _work(self) -> None:
        chance = random.Random(0)  # noqa: S311  # payloads, no secrets
        try:
            with socket.create_connection(self._address, timeout=30) as link:
                while not self._ends.wait(0.001):
                    self._check(link, chance.randbytes(chance.randrange(1, 20_000)))
        except (OSError, ValueError) as error:
            self.failures.append(f"the well-behaved client: {type(error).__name__}: {error}")

    def _check(self, link: socket.socket, payload: bytes) -> None:
        about = Description(len(payload), "BINARY", "uint8", (len(payload), 0, 0, 0))
        put, get = (encode_request(self._profile, Request(command, self._key, about)) for command in ("PUT", "GET"))
        link.sendall(put + payload + get)
        reply = decode_reply(self._profile, _exactly(link, self._profile.header.reply_size))
        if reply.code != "SUCCESS" or reply.about.length != len(payload):
            raise ValueError(f"{len(payload)} bytes were stored, the reply is {reply}")
        if _exactly(link, len(payload)) != payload:
            raise ValueError("other bytes than were stored")
        self._checks += 1


class _Frames:
    """Random frames of one release: what a sender writes, and how it treats its connection."""

    def __init__(self, release: Release, seed: str) -> None:
        self._profile: LmProfile = lm_profile(release)
        self._chance = random.Random(seed)  # noqa: S311  # test data, no secrets
        whole = any_key(release)
        self._keys = [whole.replace("lmconform", f"random{number}") for number in range(_KEYS)]

    def conversation(self, most: int) -> list[bytes]:
        """The frames of one connection, at most so many; one of them may be odd, and most servers then end it."""
        count = min(most, self._chance.choice((1, 2, 5, 20, 100)))
        odd = count if self._chance.random() < 0.2 else self._chance.choice((0, count - 1, count - 1, count - 1))
        return [self._frame() if number == odd else self._sound() for number in range(count)]

    def end(self) -> str:
        """How the connection ends."""
        return self._chance.choice(("half", "half", "half", "half", "close", "cut", "reset"))

    def cut(self, data: bytes) -> bytes:
        """The data up to any byte."""
        return data[: self._chance.randrange(len(data) + 1)]

    def pieces(self, data: bytes) -> Iterator[bytes]:
        """The data in one piece, most of the time, or in several."""
        size = len(data) if self._chance.random() < 0.8 else self._chance.randrange(1, 500)
        for start in range(0, len(data), max(1, size)):
            yield data[start : start + max(1, size)]

    def _frame(self) -> bytes:
        kind = self._chance.random()
        if kind < 0.2:
            return self._chance.randbytes(self._chance.randrange(1, 400))
        if kind < 0.5:
            return self._flipped(self._sound())
        return self._with_payload(self._header(sound=False))

    def _sound(self) -> bytes:
        return self._with_payload(self._header(sound=True))

    def _with_payload(self, header: bytes) -> bytes:
        command, length = struct.unpack_from("<2i", header)
        return header + self._chance.randbytes(max(0, min(length, _LARGEST))) if command == 1 else header

    def _header(self, *, sound: bool) -> bytes:
        chance, names = self._chance, self._profile.header.request
        values = dict.fromkeys(names, 0) | {"command": chance.randrange(1, 6), "format": 1, "dtype": 2}
        if values["command"] == 1:
            values["length"] = chance.choice((0, 1, 7, 64, 300, _LARGEST))
        if not sound:
            for name in chance.sample(names, chance.randrange(1, 4)):
                values[name] = chance.choice(_LENGTHS if name == "length" else _NUMBERS)
        key = chance.choice(self._keys).encode()
        if not sound and chance.random() < 0.3:
            odd = (b"", b"@" * 5, b"\xff" * KEY_FIELD_SIZE, key[: len(key) // 2], key + b"@x", chance.randbytes(40))
            key = chance.choice(odd)
        return struct.pack(f"<{len(names)}i", *(values[name] for name in names)) + key[:KEY_FIELD_SIZE].ljust(KEY_FIELD_SIZE)

    def _flipped(self, header: bytes) -> bytes:
        changed = bytearray(header)
        changed[self._chance.randrange(len(changed))] ^= 1 << self._chance.randrange(8)
        return bytes(changed)


def _in_threads(release: Release, address: tuple[str, int], frames: int, seeds: Sequence[str]) -> list[tuple[int, int]]:
    results: list[tuple[int, int]] = []

    def work(seed: str) -> None:
        results.append(_send(_Frames(release, seed), address, frames // len(seeds)))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in seeds]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def _send(frames: _Frames, address: tuple[str, int], count: int) -> tuple[int, int]:
    """Frames and connections that were used."""
    sent = opened = 0
    while sent < count:
        conversation = frames.conversation(count - sent)
        sent += len(conversation)
        opened += 1
        end, data = frames.end(), b"".join(conversation)
        with socket.create_connection(address, timeout=30) as link, contextlib.suppress(OSError):
            link.setblocking(False)
            for piece in frames.pieces(frames.cut(data) if end == "cut" else data):
                _offer(link, piece)
            if end == "reset":
                link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            elif end == "half":
                link.shutdown(socket.SHUT_WR)
                link.settimeout(30)
                while link.recv(1 << 16):
                    pass
    return sent, opened


def _offer(link: socket.socket, piece: bytes) -> None:
    """Send, and read what comes meanwhile: a peer that waits for us to read would wait for ever."""
    rest = memoryview(piece)
    while rest:
        with contextlib.suppress(BlockingIOError):
            while link.recv(1 << 16):
                pass
        try:
            rest = rest[link.send(rest) :]
        except BlockingIOError:
            time.sleep(0.0005)


def _exactly(link: socket.socket, count: int) -> bytes:
    data = bytearray()
    while len(data) < count:
        piece = link.recv(count - len(data))
        if not piece:
            raise ValueError(f"the mock ended the connection after {len(data)} of {count} bytes")
        data += piece
    return bytes(data)


@contextlib.contextmanager
def _mock(release: Release) -> Iterator[tuple[int, tuple[str, int], Pipe]]:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(str(release), theirs), daemon=True)
    process.start()
    try:
        assert process.pid is not None
        yield process.pid, ours.recv(), ours
        ours.send("stop")
        process.join(30)
    finally:
        process.kill()
        process.join()


def _serve(release: str, pipe: Pipe) -> None:
    """The process of the mock: tells its address, and answers questions until it is told to stop."""
    with LmServer(release, journal=Journal(max_exchanges=_RECENT, retain_bytes=4 << 20)) as server:
        pipe.send(server.address)
        defects: list[str] = []
        threading.excepthook = lambda failed: defects.append(f"a thread of the mock died: {failed.exc_value!r}")
        while (question := pipe.recv()) != "stop":
            if question == "quiet":
                _wait_for_threads()
            pipe.send((server.journal.exchange_count, tuple(defects)))


def _wait_for_threads() -> None:
    """Until only those are left that always are: the main thread, the one that accepts, and that of the bystander."""
    deadline = time.monotonic() + 30
    while threading.active_count() > 3 and time.monotonic() < deadline:
        time.sleep(0.01)


def _ask(pipe: Pipe, question: str) -> tuple[int, tuple[str, ...]]:
    """How many exchanges there were, and what died; asked for ``quiet``, once no connection but the bystander's is left."""
    pipe.send(question)
    answer: tuple[int, tuple[str, ...]] = pipe.recv()
    return answer


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.random_frames", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--frames", type=int, default=20_000, help="how many (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="another seed, other frames (default: %(default)s)")
    parser.add_argument("--senders", type=int, default=4, help="threads that send (default: %(default)s)")
    parser.add_argument("--lmcache", default=KNOWN_RELEASES[-1], help="the release that is spoken (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="the findings as JSON")
    options = parser.parse_args(arguments)
    if options.frames < 1 or options.senders < 1:
        parser.error("--frames and --senders are 1 or more")
    findings = run(Release.parse(options.lmcache), options.frames, options.seed, options.senders)
    print(json.dumps(asdict(findings), indent=2) if options.json else in_words(findings))  # a program's output
    return 1 if findings.failures else 0


def in_words(findings: Findings) -> str:
    """The findings as lines."""
    warm, after = findings.warm, findings.after
    assert warm is not None
    assert after is not None
    speed = f"{findings.seconds:.1f} s ({findings.frames_per_second:.0f} a second)"
    how = f"lmcache {findings.release}, seed {findings.seed}"
    lines = [
        f"{findings.frames} frames on {findings.connections} connections in {speed}, {how}",
        f"the mock:  {findings.exchanges} exchanges; a frame behind one that is refused, or inside a payload, is none",
        f"           {warm.resident_bytes / 2**20:.1f} MiB after a tenth, {after.resident_bytes / 2**20:.1f} MiB at the end",
        f"           {warm.threads} threads, then {after.threads}; {warm.descriptors} descriptors, then {after.descriptors}",
        f"beside it: {findings.checks} values stored and loaded by a well-behaved client",
        *(f"WRONG: {failure}" for failure in findings.failures),
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
