"""Exits while a child of it keeps all pipes; the child lives as long as it can hold argv[1], a named pipe, open."""

import os
import signal
import sys

from polite import hello, read

fifo, escape = sys.argv[1:]
ready, tell = os.pipe()
if os.fork() == 0:
    if escape == "escape":
        os.setsid()
    held = os.open(fifo, os.O_RDWR)
    os.write(tell, b"x")
    os.read(held, 1) if escape == "escape" else signal.pause()
    os._exit(0)
os.read(ready, 1)
hello()
read()
os._exit(0)
