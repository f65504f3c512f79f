"""Answers the questions of a job with the real lmcache that is on the import path."""

import grpc_calls
import messages
import objects
import operations
import registration
from values import Inapplicable

OPERATIONS = {}
for module in (operations, messages, objects, registration, grpc_calls):
    OPERATIONS.update(module.OPERATIONS)


def answers(vectors):
    """Id to outcome."""
    return {vector["id"]: ask(vector["op"], vector["args"]) for vector in vectors}


def ask(op, args):
    source, operation = OPERATIONS[op]
    try:
        return {"ok": operation(args), "source": source}
    except Inapplicable as reason:
        return {"inapplicable": str(reason)}
    except Exception as error:
        refusal = {"type": type(error).__name__, "message": str(error)}
        effect = getattr(error, "effect", None)
        return {"error": refusal if effect is None else {**refusal, "effect": effect}, "source": source}
