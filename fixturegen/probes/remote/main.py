"""Hosts remote connectors in the real lmcache of one release: the program behind ``lmconform connector``.

Run by the pinned interpreter with lmcache on PYTHONPATH; the argument is the folder for large payloads. It imports torch and
lmcache once, which takes seconds, and then forks a process for each connector that is opened, so that one can be killed and
opened again in a moment. Requests and answers are lines of JSON on the standard streams, one at a time: the forked process takes
them until it ends, and then this one says how it ended. Nothing of ours is imported but what lies in this folder and beside it.
"""

import json
import os
import sys
from pathlib import Path

import lines

lines.claim_output()
for beside in (Path(__file__).resolve().parent.parent, Path(__file__).resolve().parent.parent / "adapter"):
    sys.path.append(str(beside))

import engine  # noqa: E402 # imports lmcache, which may write to the output


def serve():
    lines.say({"ready": engine.about()})
    while True:
        line = lines.take()
        if line is None:
            return
        try:
            request = json.loads(line)
        except ValueError:  # the rest of what a process had begun to read when it was killed
            continue
        if request["op"] == "bye":
            return
        if request["op"] != "open":  # for a process that was killed before it read it
            continue
        child = os.fork()
        if child == 0:
            import calls

            calls.run(request, sys.argv[1])
            os._exit(0)
        _, status = os.waitpid(child, 0)
        lines.say({"ended": os.waitstatus_to_exitcode(status), "pid": child})


if __name__ == "__main__":
    serve()
    sys.stderr.flush()
    os._exit(0)
