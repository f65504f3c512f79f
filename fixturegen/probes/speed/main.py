"""Measures the real lmcache: reads a job a line from standard input, answers each with one line of JSON.

Run by the pinned interpreter with lmcache, and for vLLM's hash functions the files of a vLLM, on PYTHONPATH. A job is
``{"work": NAME, "args": {...}, "seconds": SECONDS}``; the answer is ``{"per_second": NUMBER}``, or without seconds
``{"sample": ANYTHING}``, something of what the work makes that can be compared, or ``{"error": TEXT}``.
"""

import json
import os
import sys
import time
from pathlib import Path

ANSWERS = os.fdopen(os.dup(1), "w", buffering=1)
os.dup2(2, 1)  # lmcache logs to standard output; the answers must stand alone there
sys.path[1:1] = [str(Path(__file__).resolve().parents[1] / folder) for folder in ("", "mp")]

import works  # noqa: E402


def main():
    prepared = {}
    for line in sys.stdin:
        job = json.loads(line)
        name = json.dumps([job["work"], job["args"]], sort_keys=True)
        try:
            if name not in prepared:
                prepared[name] = works.WORKS[job["work"]](**job["args"])
            units, work = prepared[name]
            if job["seconds"] is None:
                answer = {"sample": work.sample(work.once())}
            else:
                answer = {"per_second": per_second(work.once, units, job["seconds"])}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        ANSWERS.write(json.dumps(answer) + "\n")


def per_second(once, units, seconds):
    """Units of work a second of processor time, from at least one repetition."""
    times, begin = 0, time.process_time()
    while not times or time.process_time() - begin < seconds:
        once()
        times += 1
    return times * units / max(time.process_time() - begin, 1e-9)


if __name__ == "__main__":
    main()
