"""The client protocol, version 1, on the standard streams: lines in, answers out. What it asks for is done by others."""

import json
import os
import platform
import sys
import threading
from pathlib import Path

import scratch
from outcomes import Refused, declined

PROTOCOL = 1
TOOK = "took_ns"
"""In what an operation gives: the time of lmcache's own code, which goes beside the result."""
WRITING = threading.Lock()
ANSWERS = os.fdopen(os.dup(1), "wb")


def claim_output():
    """Call before anything of lmcache is imported: it logs to the standard output, where the answers must stand alone."""
    os.dup2(2, 1)


class Dialogue:
    """``pure`` operations give a result, ``connected`` ones a future of it, so that several may be under way.

    ``about`` gives the members of the answer to ``hello`` that differ, ``failure`` makes the answer of an exception, ``count``
    counts connections, ``close_all`` closes them.
    """

    def __init__(self, about, pure, connected, failure, count, close_all):
        self.about, self.pure, self.connected = about, pure, connected
        self.failure, self.count, self.close_all = failure, count, close_all
        self.always = {"hello": self.hello, "state": self.state, "bye": self.bye}

    def run(self):
        """Answer until ``bye`` or the end of input."""
        for line in sys.stdin.buffer:
            request = json.loads(line)
            number, op, args = request["id"], request["op"], request.get("args", {})
            if op in self.connected:
                self.begin(number, op, args)
            else:
                answer(number, self.attempt(op, self.always.get(op) or self.pure.get(op), args))
            if op == "bye":
                break
        sys.stderr.flush()
        os._exit(0)

    def begin(self, number, op, args):
        try:
            running = self.connected[op](args)
        except BaseException as error:
            answer(number, self.failure(op, error))
            return
        running.add_done_callback(lambda done: answer(number, self.attempt(op, lambda _: done.result(), args)))

    def attempt(self, op, operation, args):
        """The members of one answer."""
        if operation is None:
            return declined(f"{op}: the lmcache client has nothing that does this")
        try:
            found = operation(args)
        except BaseException as error:
            return self.failure(op, error)
        if found is None:
            return {"miss": True}
        took = {TOOK: found.pop(TOOK)} if TOOK in found else {}
        return {"ok": found, **took}

    def hello(self, args):
        """Who this is; any release may be asked for, and gets what this one does."""
        if args["protocol"] != PROTOCOL:
            raise Refused(f"protocol {args['protocol']} is not spoken here, only {PROTOCOL}")
        scratch.enter(args["scratch"])
        return {
            "version": sys.argv[1],
            "language": f"Python {platform.python_version()}",
            "releases": [sys.argv[1], "*"],
            "issues": "https://github.com/LMCache/LMCache/issues",
            "concurrent": True,
            **self.about(),
        }

    def state(self, _args):
        """What this process holds."""
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        return {
            "connections": self.count(),
            "file_descriptors": sum(1 for _ in Path("/proc/self/fd").iterdir()) - 1,
            "threads": sum(1 for _ in Path("/proc/self/task").iterdir()),
            "resident_bytes": pages * os.sysconf("SC_PAGE_SIZE"),
        }

    def bye(self, _args):
        """Close everything."""
        self.close_all()
        return {}


def answer(number, members):
    """Write one line; lines of several threads do not mix."""
    line = json.dumps({"id": number, **members}).encode("ascii") + b"\n"
    with WRITING:
        ANSWERS.write(line)
        ANSWERS.flush()
