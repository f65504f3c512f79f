"""Puts something else where its scratch directory was: argv[1] says what, argv[2] is what a link leads to."""

import os
import sys
from pathlib import Path

from polite import hello, read, write

kind, target = sys.argv[1], sys.argv[2]
scratch = Path(hello()["scratch"])


def replace():
    aside = scratch.parent.with_name("aside")  # kept for a moment, so that what takes its place is another directory
    scratch.rename(aside)
    if kind == "other":
        scratch.mkdir()
    elif kind == "file":
        scratch.touch()
    elif kind != "nothing":
        scratch.symlink_to(target)
    aside.rmdir()


while True:
    request = read()
    if request["op"] == "bye":
        write(id=request["id"], ok={})
        if kind == "at-the-end":
            replace()
        os._exit(0)
    if kind != "at-the-end":
        replace()
    write(id=request["id"], error={"class": "internal", "message": "no"})
