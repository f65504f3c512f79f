"""Answers pack_layout with a file prepared as argv[1] says."""

import os
import sys
from pathlib import Path

from polite import hello, pause, read, write

scratch = Path(hello()["scratch"])
request = read()
kind = sys.argv[1]
name, length = "answer", 3
if kind == "traversal":
    name = "../answer"
elif kind == "symlink":
    (scratch / name).symlink_to("/etc/hostname")
elif kind == "fifo":
    os.mkfifo(scratch / name)
elif kind == "directory":
    (scratch / name).mkdir()
elif kind == "short":
    (scratch / name).write_bytes(b"ab")
elif kind == "good":
    (scratch / name).write_bytes(b"abc")
write(id=request["id"], ok={"bytes": {"file": name, "length": length}, "shape": [3]})
pause()
