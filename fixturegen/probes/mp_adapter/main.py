"""The real client of the multiprocess server, of one release, as a client under test: answers the client protocol, version 1.

Run by the pinned interpreter with lmcache and what the multiprocess protocol imports on PYTHONPATH; the argument is the release.
It imports the real lmcache and nothing of ours but what lies in this folder and in its siblings. Requests, replies and waits are
those of lmcache's own message queue client (``peers.py``), K/V goes through its own worker-side transfer context
(``transfers.py``). What this program adds is what a caller has to: values of the contract become real objects and back, every
wait gets the time that ``connect`` allowed, exceptions become error classes (``failures.py``), and a lookup is polled. It repairs
nothing, and where lmcache has no way to do something it answers ``unsupported``.
"""

import sys
from pathlib import Path

PROBES = Path(__file__).resolve().parent.parent
sys.path += [str(PROBES / "adapter"), str(PROBES / "mp")]

import dialogue  # noqa: E402

dialogue.claim_output()

import calls  # noqa: E402
import codecs_of_release as pure  # noqa: E402
from failures import failure  # noqa: E402


def about():
    return {"name": "lmcache-mp", "operations": [*pure.OPERATIONS, *calls.operations()]}


if __name__ == "__main__":
    dialogue.Dialogue(about, pure.OPERATIONS, calls.OPERATIONS, failure, calls.count, calls.close_all).run()
