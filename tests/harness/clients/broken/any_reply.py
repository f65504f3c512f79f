"""What a broken adapter of a whole run does right: hello and bye, and one thing wrong with everything else.

python any_reply.py KIND [ARGUMENT]
"""

import os
import signal
import sys
import threading
import time
from pathlib import Path

from polite import raw, read, write

OPERATIONS = ("parse_key", "format_key", "encode_request", "pack_layout")


def wrong_about(kind, argument):
    """What is done instead of an answer to one request."""

    def child_that_writes(request):
        if os.fork() == 0:
            os.setsid() if argument == "escape" else None
            while True:
                os.write(1, b"x")
                time.sleep(0.01)
        os._exit(0)

    def grow(request):
        held = []
        while True:
            held.append(bytes(16 << 20).replace(b"\0", b"\1"))

    def grow_in_a_child(request):
        os.fork() or grow(request)
        signal.pause()

    def fill_scratch(request):
        with (scratch / "big").open("wb") as file:
            while True:
                file.write(bytes(1 << 20))

    def file_answer(name, length):
        write(id=answer_id(), ok={"bytes": {"file": name, "length": length}, "shape": [3]})

    def sparse(request):
        with (scratch / "sparse").open("wb") as file:
            file.truncate(1 << 40)
        file_answer("sparse", 1 << 40)

    def fifo(request):
        os.mkfifo(scratch / f"fifo-{request['id']}")
        file_answer(f"fifo-{request['id']}", 3)

    def linked(request):
        (scratch / "link").unlink(missing_ok=True)
        (scratch / "link").symlink_to("/etc/passwd")
        file_answer("link", 3)

    def short(request):
        (scratch / "short").write_bytes(b"ab")
        file_answer("short", 3)

    def without_scratch(request):
        for entry in scratch.iterdir():
            entry.unlink()
        scratch.rmdir()
        file_answer("gone", 3)

    def answer_id():
        return request["id"]

    def closes(descriptor):
        os.close(descriptor)
        signal.pause()

    def endless_line(request):
        while True:
            os.write(1, b"x" * 65536)

    def endless_lines(request):
        while True:
            os.write(1, b'{"id": 0}\n' * 6000)

    def flood(request):
        def errors():
            while True:
                os.write(2, b"on and on and on\n" * 1000)

        threading.Thread(target=errors, daemon=True).start()
        signal.pause()

    def half_then(end):
        raw(b'{"id": %d, "ok": {"ke' % request["id"])
        end()

    def twice(request):
        write(id=request["id"], error={"class": "refused", "message": "no"})
        write(id=request["id"], error={"class": "refused", "message": "no"})

    table = {
        "hangs": lambda request: signal.pause(),
        "stops": lambda request: os.kill(os.getpid(), signal.SIGSTOP),
        "ignores-sigterm": lambda request: (signal.signal(signal.SIGTERM, signal.SIG_IGN), signal.pause()),
        "exits-0": lambda request: os._exit(0),
        "exits-3": lambda request: os._exit(3),
        "segfaults": lambda request: os.kill(os.getpid(), signal.SIGSEGV),
        "aborts": lambda request: os.abort(),
        "half-then-exits": lambda request: half_then(lambda: os._exit(0)),
        "half-then-silence": lambda request: half_then(signal.pause),
        "child-writes-on": child_that_writes,
        "closes-stdin": lambda request: (os.close(0), twice(request)),
        "closes-stdout": lambda request: closes(1),
        "endless-line": endless_line,
        "endless-lines": endless_lines,
        "floods-stderr": flood,
        "grows": grow,
        "grows-in-a-child": grow_in_a_child,
        "fills-scratch": fill_scratch,
        "sparse-file": sparse,
        "fifo": fifo,
        "symlink": linked,
        "short-file": short,
        "traversal": lambda request: file_answer("../../etc/passwd", 3),
        "removes-scratch": without_scratch,
        "garbage": lambda request: raw(b"Segmentation fault (not really)\n"),
        "empty-line": lambda request: raw(b"\n"),
        "not-utf-8": lambda request: raw(b'{"id": %d, "ok": {"text": "\xff"}}\n' % request["id"]),
        "nul-bytes": lambda request: raw(b"\0" * 100 + b"\n"),
        "nan": lambda request: raw(b'{"id": %d, "ok": {"text": NaN}}\n' % request["id"]),
        "deep-nesting": lambda request: raw(b"[" * 200_000 + b"\n"),
        "line-of-20-mb": lambda request: raw(b'{"id": %d, "ok": {"text": "%s"}}\n' % (request["id"], b"a" * 20_000_000)),
        "twice": twice,
        "wrong-id": lambda request: write(id=request["id"] + 1, error={"class": "refused", "message": "no"}),
        "old-id": lambda request: write(id=1, error={"class": "refused", "message": "no"}),
        "another-op": lambda request: write(id=request["id"], ok={"exists": True}),
        "unknown-class": lambda request: write(id=request["id"], error={"class": "oops", "message": "no"}),
        "null-members": lambda request: write(id=request["id"], ok={"text": "a", "key": None, "bytes": None}, error=None),
    }
    return table[kind]


def main(kind, argument=""):
    """Answer until the end of input."""
    global request, scratch
    starts_slowly(kind, argument)
    while True:
        request = read()
        op = request["op"]
        if op == "hello":
            scratch = Path(request["args"]["scratch"])
            write(id=request["id"], ok=described())
        elif op == "bye":
            if kind == "ignores-sigterm":
                signal.pause()
            write(id=request["id"], ok={})
            if kind == "deaf-to-the-end":
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
                signal.pause()
            if kind == "speaks-after-bye":
                os.write(1, b"and another thing\n")
            sys.exit(0)
        elif op in {"parse_key", "pack_layout"} and kind not in GOOD:
            wrong_about(kind, argument)(request)
        else:
            write(id=request["id"], error={"class": "refused", "message": "not today"})


GOOD = ("slow-start", "dies-at-second-start", "deaf-to-the-end", "speaks-after-bye")


def starts_slowly(kind, argument):
    if kind == "slow-start":
        time.sleep(float(argument))


def described():
    return {"name": "broken", "version": "0", "language": "Python", "operations": list(OPERATIONS), "releases": ["*"]}


if __name__ == "__main__":
    main(*sys.argv[1:])
