"""What lmcache raised, as an answer of the contract.

The client has few error classes of its own: a wait that ended without a reply, and from 0.5.5 on what went wrong while a request
was encoded or its reply did not fit it. Everything else is ``internal``.
"""

import traceback

from outcomes import Refused, declined

UNSUPPORTED = {"Inapplicable", "Unavailable", "Absent"}
WRITES = {"msgspec_encode", "process_outbound_task", "_process_outbound_task", "key_record", "__post_init__"}
READS = {"msgspec_decode", "process_inbound", "decode_operation", "prepare_store", "prepare_retrieve", "gather_paged_kv_to_cpu"}
"""Also what reads the slots that a server names, and what finds out that they do not fit."""


def failure(op, error):
    """The answer where an exception came instead of a result."""
    if type(error).__name__ in UNSUPPORTED:
        return declined(str(error))
    return {"error": {"class": error_class(op, error), "message": f"{type(error).__name__}: {error}"[:2000]}}


def error_class(op, error):
    if isinstance(error, Refused):
        return error.kind
    if isinstance(error, TimeoutError):
        return "timeout"
    if isinstance(error, OSError):
        return "connection"
    if op.startswith("mp_encode") or op == "mp_object_keys":
        return "refused"
    if op.startswith("mp_decode"):
        return "protocol"
    names = {frame.name for frame in traceback.extract_tb(error.__traceback__)}
    if names & WRITES:
        return "refused"
    if names & READS or str(error).startswith("Response operation"):
        return "protocol"
    return "internal"
