"""Ranges of keys, cut to whole chunks, which a caller of lmcache's client does before it makes a key."""

from outcomes import Refused
from records import tokens_of


def cut(key, chunk_tokens):
    """The key with its end at that of a whole chunk, and the number of chunks in its range."""
    start, end = key["start"], key["end"] // chunk_tokens * chunk_tokens
    if start % chunk_tokens:
        raise Refused(f"start is {start}, which is not where a chunk of {chunk_tokens} tokens begins")
    count = len(tokens_of(key["tokens"]))
    if not 0 <= start <= key["end"] <= count:
        raise Refused(f"[{start}, {key['end']}) is no range of {count} tokens")
    return {**key, "end": end}, max(end - start, 0) // chunk_tokens
