"""Storage plugins for tests of the harness: one that keeps objects in memory, and ones that go wrong."""

# ruff: noqa: ARG002, B905 -- what goes wrong needs no arguments, and the server gives as many buffers as keys

import ctypes
import itertools
import os
import signal
import sys
import threading
import time


class Tiny:
    """Does everything in the submit; right, as long as nobody asks for more than that."""

    def __init__(self, size=0, folder=""):
        self.size, self.folder = size, folder
        self.objects, self.done = {}, []
        self.numbers = itertools.count(1)
        self.fd = os.eventfd(0, os.EFD_NONBLOCK)

    def event_fd(self):
        return self.fd

    def complete(self, ok, results):
        number = next(self.numbers)
        self.done.append((number, ok, "", results))
        os.eventfd_write(self.fd, 1)
        return number

    def submit_batch_set(self, keys, buffers):
        self.objects.update((key, bytes(buffer)) for key, buffer in zip(keys, buffers))
        return self.complete(True, None)

    def submit_batch_get(self, keys, buffers):
        found = []
        for key, buffer in zip(keys, buffers):
            data = self.objects.get(key)
            found.append(data is not None and len(data) == len(buffer))
            if found[-1]:
                ctypes.memmove(ctypes.addressof(ctypes.c_char.from_buffer(buffer)), data, len(data))
        return self.complete(True, found)

    def submit_batch_exists(self, keys):
        return self.complete(True, [key in self.objects for key in keys])

    def drain_completions(self):
        done, self.done = self.done, []
        if done:
            os.eventfd_read(self.fd)
        return done

    def close(self):
        if self.fd is not None:
            os.close(self.fd)
        self.fd = None


class LoadsNothing(Tiny):
    """Every load fails, and says why."""

    def submit_batch_get(self, keys, buffers):
        number = self.complete(False, None)
        self.done[-1] = (number, False, "the disk has no more inodes", None)
        return number


class Talks(Tiny):
    def submit_batch_exists(self, keys):
        print("a line on standard output", flush=True)
        os.write(1, b"bytes on descriptor 1\n")
        print("a line on standard error", file=sys.stderr, flush=True)
        return super().submit_batch_exists(keys)


class Hangs(Tiny):
    def submit_batch_exists(self, keys):
        self.asleep_for_ever()

    def asleep_for_ever(self):
        time.sleep(3600)


class NeverCompletes(Tiny):
    def submit_batch_exists(self, keys):
        return next(self.numbers)


class Exits(Tiny):
    def submit_batch_exists(self, keys):
        print("last words", file=sys.stderr, flush=True)
        os._exit(7)


class Dies(Tiny):
    def submit_batch_exists(self, keys):
        os.kill(os.getpid(), signal.SIGSEGV)


class Raises(Tiny):
    def submit_batch_exists(self, keys):
        raise KeyError("no such table")


class GivesUp(Tiny):
    def submit_batch_exists(self, keys):
        sys.exit("the storage is gone")


class GivesUpAtOnce(Tiny):
    def __init__(self, **params):
        sys.exit("the storage is gone")


class RaisesAtOnce(Tiny):
    def __init__(self, **params):
        raise ConnectionError("nobody listens")


class EndsAtOnce(Tiny):
    def __init__(self):
        print("no database", file=sys.stderr, flush=True)
        os._exit(3)


class LeavesAtOnce(Tiny):
    def __init__(self):
        sys.exit("no licence")


class GivesText(Tiny):
    def submit_batch_exists(self, keys):
        return "number one"


class ThreeParts(Tiny):
    def drain_completions(self):
        return [(number, ok, results) for number, ok, _, results in super().drain_completions()]


class TooMany(Tiny):
    def submit_batch_exists(self, keys):
        return self.complete(True, [True] * (len(keys) + 1))


class WritesBeside(Tiny):
    def submit_batch_get(self, keys, buffers):
        for buffer in buffers:
            place = ctypes.addressof(ctypes.c_char.from_buffer(buffer))
            ctypes.memset(place + len(buffer), 0, 1)
        return super().submit_batch_get(keys, buffers)


class WritesLate(Tiny):
    def submit_batch_get(self, keys, buffers):
        self.late = list(buffers)
        return super().submit_batch_get(keys, buffers)

    def close(self):
        for buffer in self.late:
            ctypes.memset(ctypes.addressof(ctypes.c_char.from_buffer(buffer)), 0, len(buffer))


class ReadsLate(Tiny):
    def submit_batch_set(self, keys, buffers):
        self.late = list(zip(keys, buffers))
        return self.complete(True, None)

    def submit_batch_get(self, keys, buffers):
        self.objects.update((key, bytes(buffer)) for key, buffer in self.late)
        return super().submit_batch_get(keys, buffers)


class AssignsSlices(Tiny):
    def submit_batch_get(self, keys, buffers):
        buffers[0][:] = self.objects[keys[0]]
        return self.complete(True, [True])


class HasAChild(Tiny):
    def __init__(self, **params):
        super().__init__(**params)
        self.child = os.fork()
        if not self.child:
            time.sleep(3600)

    def statistics(self):
        return {"child": self.child, "thread": threading.current_thread().name, "odd": {1, 2} & {2}}


class NoLookup(Tiny):
    submit_batch_exists = None


class Lists(Tiny):
    def drain_completions(self):
        return list(map(list, super().drain_completions()))
