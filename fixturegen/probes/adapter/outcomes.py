"""What lmcache raised, as an answer of the contract.

lmcache's client has no error classes of its own, so the class follows from where the exception came from: the operating system
(``connection``), lmcache's code that writes (``refused``) or its code that reads (``protocol``); everything else is ``internal``.
"""

import traceback

WRITES = {"serialize", "to_string", "_prepare_params", "pad_shape_to_4d"}
READS = {"deserialize", "from_string", "parse_cache_key", "strip_shape_padding"}
WRITING_OPERATIONS = {
    "encode_request", "encode_reply", "encode_metadata", "format_key", "chunk_keys", "token_hashes",
    "pack_layout", "unpack_layout",
}  # fmt: skip
READING_OPERATIONS = {"decode_request", "decode_reply", "decode_metadata", "parse_key"}


class Refused(Exception):
    """This program, not lmcache, declines: the arguments make no sense, or name what is not there."""

    def __init__(self, message, kind="refused"):
        super().__init__(message)
        self.kind = kind


def declined(reason):
    """The answer where lmcache has no way to do it."""
    return {"unsupported": {"reason": reason}}


def failure(op, error):
    """The answer where an exception came instead of a result."""
    if type(error).__name__ in {"Inapplicable", "Unavailable"}:
        return declined(str(error))
    return {"error": {"class": error_class(op, error), "message": f"{type(error).__name__}: {error}"[:2000]}}


def error_class(op, error):
    if isinstance(error, Refused):
        return error.kind
    if isinstance(error, TimeoutError):
        return "timeout"
    if isinstance(error, OSError):
        return "connection"
    names = {frame.name for frame in traceback.extract_tb(error.__traceback__) if "/lmcache/" in frame.filename}
    if names & READS:
        return "protocol"
    if names & WRITES:
        return "refused"
    if not isinstance(error, Exception) or isinstance(error, MemoryError):
        return "internal"
    return "refused" if op in WRITING_OPERATIONS else "protocol" if op in READING_OPERATIONS else "internal"
