"""Answers the questions of a job with the real lmcache that is on the import path."""

import chunks
import deployments
import frames
import keys
import remote_metadata
import tokens
from contract import Inapplicable

OPERATIONS = {}
for module in (frames, remote_metadata, keys, chunks, deployments, tokens):
    OPERATIONS.update(module.OPERATIONS)


def answers(vectors):
    """Id to outcome."""
    return {vector["id"]: ask(vector["op"], vector["args"]) for vector in vectors}


def ask(op, args):
    source, operation = OPERATIONS[op]
    try:
        answer = operation(args)
    except Inapplicable as reason:
        return {"inapplicable": str(reason)}
    except Exception as error:
        return {"error": {"type": type(error).__name__, "message": str(error)}, "source": source}
    outcome = {"source": source}
    for remark in ("volatile", "finding"):
        text = answer.pop(remark, None)
        if text:
            outcome[remark] = text
    return {"ok": answer, **outcome}
