"""Asks the real lmcache about the multiprocess protocol: a job on standard input, one JSON answer on standard output.

Run by the pinned interpreter with lmcache and its packages on PYTHONPATH. A job is ``{"vectors": [{"id", "op", "args"}, ...]}``;
the answer has ``outcomes`` (id to ``{"ok"}``, ``{"error"}`` or ``{"inapplicable"}``, with ``source``) and ``environment``.
"""

import json
import os
import platform
import sys
from importlib import metadata

ANSWER = os.dup(1)
os.dup2(2, 1)  # lmcache logs to standard output; the answer must stand alone there


def main():
    job = json.load(sys.stdin)
    from answers import answers

    answer = {"outcomes": answers(job["vectors"]), "environment": environment()}
    with os.fdopen(ANSWER, "w") as output:
        json.dump(answer, output)
        output.flush()
        os._exit(0)


def environment():
    packages = {}
    for name in ("torch", "numpy", "blake3", "msgspec", "pyzmq"):
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
