"""Declares that it may be sent several requests at once, and does with the first COUNT of them what its first argument says."""

import os
import sys

from polite import describe, pause, read, write

HOW, COUNT = sys.argv[1], int(sys.argv[2])

first = read()
write(id=first["id"], ok={**describe(), "concurrent": True})


def answer(request, **more):
    write(id=request["id"], ok={"hashes": [f"{request['args']['tokens'][0]:064x}"], **more})


def take(count=COUNT):
    return [read() for _ in range(count)]


if HOW == "backwards":
    while True:
        for asked in reversed(take()):
            answer(asked)
elif HOW == "all-but-the-second":
    for number, asked in enumerate(take()):
        if number != 1:
            answer(asked)
elif HOW == "one-twice":
    requests = take()
    answer(requests[0])
    answer(requests[0])
elif HOW == "an-unknown-one":
    take()
    write(id=99, ok={"hashes": []})
elif HOW == "one-too-many":
    for asked in take():
        answer(asked)
    write(id=99, ok={"hashes": []})
elif HOW == "dies":
    answer(take()[0])
    os._exit(3)
elif HOW == "at-once":
    while True:
        answer(take(1)[0], padding="x" * (1 << 19))
elif HOW == "half":
    answer(take()[0])
    sys.stdout.buffer.write(b'{"id": 3, "ok"')
    sys.stdout.buffer.flush()
pause()
