"""Pure operations, through the modules that captured the corpus."""

import answers
import scratch
from releases import require_release

ASKED = (
    "mp_encode_request",
    "mp_decode_request",
    "mp_encode_reply",
    "mp_decode_reply",
    "mp_object_keys",
    "mp_encode_registration",
)


def operation(name):
    _, ask = answers.OPERATIONS[name]

    def run(args):
        require_release(args["release"])
        found = ask(args)
        return {**found, "bytes": scratch.left(bytes.fromhex(found["bytes"]["hex"]))} if "bytes" in found else found

    return run


OPERATIONS = {name: operation(name) for name in ASKED if name in answers.OPERATIONS}
