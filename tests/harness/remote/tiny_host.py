"""Stands for the program of the pinned environment: the same lines, and a connector that does what its module is called."""

import json
import os
import sys
import time


def say(members):
    os.write(1, json.dumps(members).encode() + b"\n")


def opened(args):
    if args.get("hang"):
        time.sleep(600)
    say({"ok": {"class": "tiny:Connector"}})
    for line in iter(read_line, b""):
        op = json.loads(line)["op"]
        if op == "leave":
            say({"ok": {}})
            return
        if op == "noise":
            os.write(1, json.loads(os.environ["NOISE"]).encode() + b"\n")
            continue
        if op == "hang":
            time.sleep(600)
        if op == "die":
            sys.stderr.write("I am dying\n")
            sys.stderr.flush()
            os.kill(os.getpid(), 9)
        if op == "end_loop":
            say({"loop_ended": "the event loop of the engine ended with SystemExit: 3"})
        elif op == "fault":
            say({"fault": {"class": "KeyError", "message": "x", "place": "calls.py:1 f"}})
        else:
            say({"ok": {"was": op}, "seconds": 0.0, "held": 0.0})


def read_line():
    line = b""
    while not line.endswith(b"\n"):
        byte = os.read(0, 1)
        if not byte:
            return b""
        line += byte
    return line


say({"ready": {"python": "3"}})
for request in iter(read_line, b""):
    try:
        told = json.loads(request)
    except ValueError:  # the rest of what a killed process had begun to read
        continue
    if told["op"] != "open":
        continue
    child = os.fork()
    if child == 0:
        say({"began": told["args"].get("pid", os.getpid())})
        if told["args"].get("refuse"):
            say({"refused": {"class": told["args"]["refuse"], "message": "no such thing", "place": "x.py:1 f"}})
        else:
            opened(told["args"])
        os._exit(0)
    _, status = os.waitpid(child, 0)
    say({"ended": os.waitstatus_to_exitcode(status), "pid": child})
