"""What every adapter here does right: it says hello, so that what it does wrong comes with the first real request."""

import json
import os
import sys


def read():
    line = sys.stdin.buffer.readline()
    if not line:
        os._exit(0)
    return json.loads(line)


def write(**members):
    sys.stdout.buffer.write(json.dumps(members).encode() + b"\n")
    sys.stdout.buffer.flush()


def raw(data):
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def describe(operations=("token_hashes", "pack_layout")):
    return {"name": "broken", "version": "0", "language": "Python", "operations": list(operations), "releases": ["*"]}


def hello():
    request = read()
    write(id=request["id"], ok=describe())
    return request["args"]


def pause():
    while True:
        sys.stdin.buffer.readline() or os._exit(0)
