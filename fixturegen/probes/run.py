"""Asks the real lmcache: reads a job from standard input, prints one JSON answer on standard output.

Run by the pinned interpreter with lmcache on PYTHONPATH. A job is ``{"vectors": [{"id", "op", "args"}, ...]}``; the answer has
``outcomes`` (id to ``{"ok"}``, ``{"error"}`` or ``{"inapplicable"}``, with ``source`` and perhaps ``volatile``), ``layouts`` and
``environment``.
"""

import json
import os
import platform
import sys
from importlib import metadata

ANSWER = os.dup(1)
os.dup2(2, 1)  # lmcache logs to standard output; the answer must stand alone there

import chunks  # noqa: E402
import frames  # noqa: E402
import keys  # noqa: E402
import layouts  # noqa: E402
import remote_metadata  # noqa: E402
import tokens  # noqa: E402
from contract import Inapplicable  # noqa: E402

OPERATIONS = {}
for module in (frames, remote_metadata, keys, chunks, tokens):
    OPERATIONS.update(module.OPERATIONS)


def main():
    job = json.load(sys.stdin)
    outcomes = {vector["id"]: ask(vector["op"], vector["args"]) for vector in job["vectors"]}
    answer = {"environment": environment(), "outcomes": outcomes, "layouts": layouts.capture()}
    with os.fdopen(ANSWER, "w") as output:
        json.dump(answer, output)


def ask(op, args):
    source, operation = OPERATIONS[op]
    try:
        answer = operation(args)
    except Inapplicable as reason:
        return {"inapplicable": str(reason)}
    except Exception as error:
        return {"error": {"type": type(error).__name__, "message": str(error)}, "source": source}
    volatile = answer.pop("volatile", None)
    outcome = {"ok": answer, "source": source}
    if volatile:
        outcome["volatile"] = volatile
    return outcome


def environment():
    packages = {}
    for name in ("torch", "numpy", "transformers", "blake3", "numba", "msgspec"):
        try:
            packages[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            packages[name] = None
    return {
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "platform": f"{platform.system().lower()}-{platform.machine()}",
        "byte_order": sys.byteorder,
        "packages": packages,
    }


if __name__ == "__main__":
    main()
