"""Has one child in its group and one that left it; tells argv[1], a named pipe, when it hangs. Deaf to polite signals.

The path of its scratch directory goes to the end of the file beside the pipe whose name ends in ``.scratch``.
"""

import os
import signal
import sys
from pathlib import Path

from polite import hello, read

for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
for leaves in (False, True):
    if os.fork() == 0:
        if leaves:
            os.setsid()
        while True:
            signal.pause()
scratch = hello()["scratch"]
with Path(f"{sys.argv[1]}.scratch").open("a") as file:
    file.write(f"{scratch}\n")
read()
Path(sys.argv[1]).write_text("hangs\n")
while True:
    signal.pause()
