"""Asks the real lmcache: reads a job from standard input, prints one JSON answer on standard output.

Run by the pinned interpreter with lmcache on PYTHONPATH. A job is ``{"vectors": [{"id", "op", "args"}, ...], "layouts": bool,
"vllm": {VERSION: {"complete": [FOLDER, ...], "hashing": [FOLDER, ...]}}}``; the answer has ``outcomes`` (id to ``{"ok"}``,
``{"error"}`` or ``{"inapplicable"}``, with ``source`` and perhaps ``volatile`` and ``finding``), ``layouts`` and ``environment``.
"""

import json
import os
import platform
import sys
from importlib import metadata

import torch  # noqa: F401 # once, before processes for each vLLM branch off
from transformers import AutoTokenizer  # noqa: F401 # the same

ANSWER = os.dup(1)
os.dup2(2, 1)  # lmcache logs to standard output; the answer must stand alone there


def main():
    job = json.load(sys.stdin)
    alone, beside = [], {}
    for vector in job["vectors"]:
        version = vector["args"].get("vllm")
        if version is None:
            alone.append(vector)
        else:
            beside.setdefault((version, vector["args"]["kv_cache_utils"]), []).append(vector)
    outcomes = {}
    for (version, complete), vectors in beside.items():
        folders = job["vllm"][version]["complete" if complete else "hashing"]
        outcomes.update(in_a_process_of_its_own(vectors, version, complete, folders))
    if alone:
        from answers import answers

        outcomes.update(answers(alone))
        require_no_vllm()
    answer = {"environment": environment(), "outcomes": outcomes}
    if job["layouts"]:
        import layouts

        answer["layouts"] = layouts.capture()
    with os.fdopen(ANSWER, "w") as output:
        json.dump(answer, output)
        output.flush()
        os._exit(0)


def in_a_process_of_its_own(vectors, version, complete, folders):
    """The outcomes of vectors beside a vLLM, which joins the import path before lmcache is imported, as in a deployment."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.close(reader)
            sys.path.extend(folders)
            from answers import answers

            found = answers(vectors)
            require_vllm(version, complete)
            with os.fdopen(writer, "w") as output:
                json.dump(found, output)
            status = 0
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            sys.stderr.flush()
            os._exit(status)
    os.close(writer)
    with os.fdopen(reader) as answer:
        text = answer.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status != 0:
        raise SystemExit(f"the process with vLLM {version} ended with status {status}")
    return json.loads(text)


def require_vllm(version, complete):
    """What was asked for is what was there; a vLLM that cannot be imported is replaced by lmcache in silence."""
    import vllm

    if vllm.__version__ != version:
        raise RuntimeError(f"vLLM {version} was asked for, {vllm.__version__} came")
    try:
        from vllm.v1.core import kv_cache_utils  # noqa: F401
    except ImportError as error:
        if complete:
            raise RuntimeError(f"vllm.v1.core.kv_cache_utils of {version} cannot be imported: {error}") from error
    else:
        if not complete:
            raise RuntimeError(f"vllm.v1.core.kv_cache_utils of {version} was not to be importable")


def require_no_vllm():
    try:
        import vllm
    except ImportError:
        return
    raise RuntimeError(f"the base environment has vLLM {vllm.__version__}; it must have none")


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
