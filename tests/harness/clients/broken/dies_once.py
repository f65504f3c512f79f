"""Ends at the first request of its first life; argv[1] is a file that remembers."""

import sys
from pathlib import Path

from polite import hello, read, write

hello()
request = read()
if not Path(sys.argv[1]).exists():
    Path(sys.argv[1]).touch()
    sys.exit(7)
while True:
    write(id=request["id"], ok={} if request["op"] == "bye" else {"hashes": []})
    if request["op"] == "bye":
        sys.exit(0)
    request = read()
