"""Adapters for whole runs: right about hello, bye and refusals, and wrong in one way whenever a key or a layout is asked for.

python wrong_whenever_asked.py KIND
"""

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path

from polite import raw, read, write

OPERATIONS = ("parse_key", "pack_layout", "decode_reply")
WRONG = ("parse_key", "pack_layout")
NO = {"class": "protocol", "message": "not today"}
KINDS = {}


def kind(function):
    KINDS[function.__name__.replace("_", "-")] = function
    return function


def answer_with_file(request, name, length=3):
    write(id=request["id"], ok={"bytes": {"file": name, "length": length}, "shape": [3]})


def answer_as_text(request, members):
    raw(b'{"id": %d, "ok": %s}\n' % (request["id"], members))


@kind
def hangs(request, scratch):
    signal.pause()


@kind
def stops(request, scratch):
    os.kill(os.getpid(), signal.SIGSTOP)


@kind
def ignores_sigterm(request, scratch):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        signal.pause()


@kind
def exits_with_0(request, scratch):
    os._exit(0)


@kind
def exits_with_3(request, scratch):
    os._exit(3)


@kind
def segfaults(request, scratch):
    os.kill(os.getpid(), signal.SIGSEGV)


@kind
def aborts(request, scratch):
    print("assertion failed: sky is green", file=sys.stderr, flush=True)
    os.abort()


@kind
def half_a_line_then_exit(request, scratch):
    raw(b'{"id": %d, "ok": {"ke' % request["id"])
    os._exit(0)


@kind
def half_a_line_then_silence(request, scratch):
    raw(b'{"id": %d, "ok": {"ke' % request["id"])
    signal.pause()


def end_beside_a_child_that_writes(prepare):
    """End with status 0 once the child has written its first byte."""
    has_begun, begins = os.pipe()
    if os.fork() == 0:
        prepare()
        os.write(1, b"x")
        os.write(begins, b"x")
        while True:
            time.sleep(0.01)
            os.write(1, b"x")
    os.read(has_begun, 1)
    os._exit(0)


@kind
def child_writes_on(request, scratch):
    end_beside_a_child_that_writes(prepare=lambda: None)


@kind
def child_leaves_and_writes_on(request, scratch):
    end_beside_a_child_that_writes(prepare=os.setsid)


@kind
def speaks_after_its_answer(request, scratch):
    answer = json.dumps({"id": request["id"], "error": NO})
    raw(f"{answer}\nand another thing\n".encode())
    os._exit(0)


@kind
def closes_stdin(request, scratch):
    write(id=request["id"], error=NO)
    os.close(0)
    signal.pause()


@kind
def closes_stdout(request, scratch):
    os.close(1)
    signal.pause()


@kind
def closes_both(request, scratch):
    os.close(0)
    os.close(1)
    signal.pause()


@kind
def line_without_end(request, scratch):
    while True:
        os.write(1, b"x" * 65536)


@kind
def lines_without_end(request, scratch):
    while True:
        os.write(1, b'{"id": 0}\n' * 6000)


@kind
def floods_stderr(request, scratch):
    while True:
        os.write(2, b"on and on and on\n" * 1000)


@kind
def grows(request, scratch):
    held = []
    while True:
        held.append(b"\1" * (16 << 20))


@kind
def grows_in_a_child(request, scratch):
    if os.fork() == 0:
        os.setsid()
        grows(request, scratch)
    signal.pause()


@kind
def fills_the_scratch(request, scratch):
    with (scratch / "big").open("wb") as file:
        while True:
            file.write(bytes(1 << 20))
            time.sleep(0.002)


@kind
def file_of_holes(request, scratch):
    with (scratch / "holes").open("wb") as file:
        file.truncate((1 << 31) - 1)
    answer_with_file(request, "holes", (1 << 31) - 1)


@kind
def file_is_a_pipe(request, scratch):
    os.mkfifo(scratch / "pipe")
    answer_with_file(request, "pipe")


@kind
def file_is_a_link(request, scratch):
    (scratch / "link").symlink_to("/etc/passwd")
    answer_with_file(request, "link")


@kind
def file_is_elsewhere(request, scratch):
    answer_with_file(request, "../../etc/passwd")


@kind
def file_is_short(request, scratch):
    (scratch / "short").write_bytes(b"ab")
    answer_with_file(request, "short")


@kind
def file_is_missing(request, scratch):
    answer_with_file(request, "nowhere")


@kind
def removes_the_scratch(request, scratch):
    for entry in scratch.iterdir():
        entry.unlink()
    scratch.rmdir()
    answer_with_file(request, "nowhere")


@kind
def replaces_the_scratch(request, scratch):
    removes_the_scratch(request, scratch)
    scratch.symlink_to("/etc")


@kind
def garbage(request, scratch):
    raw(b"Segmentation fault (not really)\n")


@kind
def empty_line(request, scratch):
    raw(b"\n")


@kind
def not_utf_8(request, scratch):
    answer_as_text(request, b'{"text": "\xff"}')


@kind
def nul_bytes(request, scratch):
    raw(b"\0" * 100 + b"\n")


@kind
def nan(request, scratch):
    answer_as_text(request, b'{"text": NaN}')


@kind
def deep_nesting(request, scratch):
    raw(b"[" * 200_000 + b"\n")


@kind
def line_of_20_megabytes(request, scratch):
    answer_as_text(request, b'{"text": "%s"}' % (b"a" * 20_000_000))


@kind
def answers_twice(request, scratch):
    raw(2 * (json.dumps({"id": request["id"], "error": NO}).encode() + b"\n"))


@kind
def id_of_the_next(request, scratch):
    write(id=request["id"] + 1, error=NO)


@kind
def id_of_the_first(request, scratch):
    write(id=1, error=NO)


@kind
def answer_of_another_operation(request, scratch):
    write(id=request["id"], ok={"exists": True})


@kind
def unknown_class_of_error(request, scratch):
    write(id=request["id"], error={"class": "oops", "message": "no"})


@kind
def nothing_but_null(request, scratch):
    write(id=request["id"], ok=None, error=None)


@kind
def waits_for_a_thread(request, scratch):
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()


def main(name):
    """Answer until the end of input."""
    while True:
        request = read()
        if request["op"] == "hello":
            scratch = Path(request["args"]["scratch"])
            about = {"name": "broken", "version": "0", "language": "Python", "operations": list(OPERATIONS), "releases": ["*"]}
            write(id=request["id"], ok=about)
        elif request["op"] in WRONG:
            KINDS[name](request, scratch)
        elif request["op"] == "bye":
            write(id=request["id"], ok={})
            return
        else:
            write(id=request["id"], error=NO)


if __name__ == "__main__":
    main(sys.argv[1])
