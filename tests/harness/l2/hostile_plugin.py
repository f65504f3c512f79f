"""Storage plugins that do harm to whoever runs them, on purpose or by accident."""

# ruff: noqa: ARG002, ARG005 -- harm needs no arguments, and the server gives as many buffers as keys

import itertools
import json
import os
import pathlib
import signal
import stat
import struct
import sys
import time

from tiny_plugin import Tiny


class Fatal(BaseException):
    """What no ``except Exception`` catches."""


class Unspeakable(Exception):
    def __str__(self):
        raise Fatal


class NoNumber:
    def __int__(self):
        raise RuntimeError("no number")

    def __repr__(self):
        raise Fatal


class Endless:
    def __iter__(self):
        return itertools.count()


def pipes():
    """The descriptors of this process that are pipes and can be written to."""
    found = []
    for number in sorted(int(entry.name) for entry in pathlib.Path("/proc/self/fd").iterdir() if int(entry.name) > 2):
        try:
            if stat.S_ISFIFO(os.fstat(number).st_mode):
                os.write(number, b"")
                found.append(number)
        except OSError:
            continue
    return found


class OnLookup(Tiny):
    """Does harm when something is looked up."""

    def submit_batch_exists(self, keys):
        given = self.harm()
        return super().submit_batch_exists(keys) if given is None else given

    def harm(self):
        """Whatever it is; a value stands in the place of the number."""


class RaisesFatal(OnLookup):
    def harm(self):
        raise Fatal("not caught by most")


class Leaves(OnLookup):
    def harm(self):
        sys.exit(0)


class RaisesUnspeakable(OnLookup):
    def harm(self):
        raise Unspeakable


class GivesInfinity(OnLookup):
    def harm(self):
        return float("inf")


class GivesNoNumber(OnLookup):
    def harm(self):
        return NoNumber()


class GivesVeryMuch(OnLookup):
    def harm(self):
        return 10**5000


class WritesText(OnLookup):
    def harm(self):
        for number in pipes():
            os.write(number, b"a line of a log file\n" * 50)


class WritesHeader(OnLookup):
    text = b"{}"

    def harm(self):
        for number in pipes():
            os.write(number, struct.pack("<I", len(self.text)) + self.text)


class WritesDeep(WritesHeader):
    text = b"[" * 40_000


class WritesHugeBlob(WritesHeader):
    text = b'{"ok":{},"blobs":[123456789012345]}'


class WritesNegativeBlob(WritesHeader):
    text = b'{"ok":{},"blobs":[-5]}'


class WritesNoFailure(WritesHeader):
    text = b'{"failed":3,"text":null,"blobs":[]}'


class ReplacesJson(OnLookup):
    def harm(self):
        json.dumps = lambda *args, **kwargs: '{"ok":true,"blobs":[]}'


class ClosesAll(OnLookup):
    def harm(self):
        os.closerange(0, 256)


class Stops(OnLookup):
    def harm(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1):
            signal.signal(number, signal.SIG_IGN)
        os.kill(os.getpid(), signal.SIGSTOP)


class Grows(OnLookup):
    def harm(self):
        held = []
        while True:
            held.append(b"x" * (1 << 24))
            time.sleep(0.01)


class NoDescriptor(Tiny):
    def event_fd(self):
        return -1


class HugeDescriptor(Tiny):
    def event_fd(self):
        return 1 << 80


class DrainsFatal(Tiny):
    def drain_completions(self):
        def items():
            yield from super(DrainsFatal, self).drain_completions()
            raise Fatal("in the middle")

        return items()


class DrainsNothingReadable(Tiny):
    def drain_completions(self):
        return [(number, NoTruth(), "", results) for number, _, _, results in super().drain_completions()]


class NoTruth:
    def __bool__(self):
        raise ValueError("the truth of it is ambiguous")


class MakingExits(Tiny):
    def __init__(self, **params):
        raise SystemExit(0)


class LoopedStatistics(Tiny):
    def statistics(self):
        found = {"name": "of itself"}
        found["again"] = found
        return found


class HugeStatistics(Tiny):
    def statistics(self):
        return {"stored": 10**5000}


class HasBadNames(Tiny):
    @property
    def statistics(self):
        raise Fatal("nobody looks at this")
