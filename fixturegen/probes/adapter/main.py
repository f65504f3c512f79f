"""The real lmcache of one release as a client under test: answers the client protocol, version 1, on its standard streams.

Run by the pinned interpreter with lmcache on PYTHONPATH; arguments are the release and the folders of vLLM (``chains.py``). It
imports torch, the real lmcache and nothing of ours but what lies in this folder and beside it. Every operation is done by
lmcache's own code, unmodified. What this program adds is what a caller has to: values of the contract become real objects and
back, None becomes a miss, exceptions become error classes (`outcomes.py`). It has no timeouts, repairs nothing, and where lmcache
has no way to do something it answers ``unsupported``.
"""

import sys
from pathlib import Path

import dialogue
from outcomes import failure
from surroundings import surround

sys.path.append(str(Path(__file__).resolve().parent.parent))
dialogue.claim_output()
surround()

import connections  # noqa: E402
import pure  # noqa: E402


def about():
    return {"name": "lmcache", "operations": [*pure.operations(), *connections.OPERATIONS]}


if __name__ == "__main__":
    talk = dialogue.Dialogue(about, pure.OPERATIONS, connections.OPERATIONS, failure, connections.count, connections.close_all)
    talk.run()
