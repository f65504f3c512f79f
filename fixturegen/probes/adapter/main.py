"""The real lmcache of one release as a client under test: answers the client protocol, version 1, on its standard streams.

Run by the pinned interpreter with lmcache on PYTHONPATH; arguments are the release and the folders of vLLM (``chains.py``). It
imports torch, the real lmcache and nothing of ours but what lies in this folder and beside it. Every operation is done by
lmcache's own code, unmodified. What this program adds is what a caller has to: values of the contract become real objects and
back, None becomes a miss, exceptions become error classes (`outcomes.py`). It has no timeouts, repairs nothing, and where lmcache
has no way to do something it answers ``unsupported``.
"""

import json
import os
import platform
import sys
import threading
from pathlib import Path

ANSWERS = os.fdopen(os.dup(1), "wb")
os.dup2(2, 1)  # lmcache logs to standard output; the answers must stand alone there
sys.path.append(str(Path(__file__).resolve().parent.parent))

import scratch  # noqa: E402
from outcomes import Refused, declined, failure  # noqa: E402
from surroundings import surround  # noqa: E402

surround()

import connections  # noqa: E402
import pure  # noqa: E402

PROTOCOL = 1
WRITING = threading.Lock()


def main():
    """Answer until ``bye`` or the end of input."""
    for line in sys.stdin.buffer:
        request = json.loads(line)
        number, op, args = request["id"], request["op"], request.get("args", {})
        if op in connections.OPERATIONS:
            begin(number, op, args)
        else:
            answer(number, attempt(op, ALWAYS.get(op) or pure.OPERATIONS.get(op), args))
        if op == "bye":
            break
    sys.stderr.flush()
    os._exit(0)


def begin(number, op, args):
    """Hand a request to lmcache's event loop; it answers from there, so that several may be under way."""
    try:
        running = connections.OPERATIONS[op](args)
    except BaseException as error:
        answer(number, failure(op, error))
        return
    running.add_done_callback(lambda done: answer(number, attempt(op, lambda _: done.result(), args)))


def attempt(op, operation, args):
    """The members of one answer."""
    if operation is None:
        return declined(f"{op}: the lmcache client has nothing that does this")
    try:
        found = operation(args)
    except BaseException as error:
        return failure(op, error)
    return {"miss": True} if found is None else {"ok": found}


def answer(number, members):
    """Write one line; lines of several threads do not mix."""
    line = json.dumps({"id": number, **members}).encode("ascii") + b"\n"
    with WRITING:
        ANSWERS.write(line)
        ANSWERS.flush()


def hello(args):
    """Who this is; any release may be asked for, and gets what this one does."""
    if args["protocol"] != PROTOCOL:
        raise Refused(f"protocol {args['protocol']} is not spoken here, only {PROTOCOL}")
    scratch.enter(args["scratch"])
    return {
        "name": "lmcache",
        "version": sys.argv[1],
        "language": f"Python {platform.python_version()}",
        "operations": [*pure.operations(), *connections.OPERATIONS],
        "releases": [sys.argv[1], "*"],
        "issues": "https://github.com/LMCache/LMCache/issues",
        "concurrent": True,
    }


def state(_args):
    """What this process holds."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return {
        "connections": connections.count(),
        "file_descriptors": sum(1 for _ in Path("/proc/self/fd").iterdir()) - 1,
        "threads": sum(1 for _ in Path("/proc/self/task").iterdir()),
        "resident_bytes": pages * os.sysconf("SC_PAGE_SIZE"),
    }


def bye(_args):
    """Close everything."""
    connections.close_all()
    return {}


ALWAYS = {"hello": hello, "state": state, "bye": bye}

if __name__ == "__main__":
    main()
