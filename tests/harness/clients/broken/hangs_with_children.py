"""Has one child in its group and one that left it; tells argv[1], a named pipe, when it hangs. Deaf to polite signals."""

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
hello()
read()
Path(sys.argv[1]).write_text("hangs\n")
while True:
    signal.pause()
