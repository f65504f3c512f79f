"""Chunk hashes derived again in few lines, for keys that some other place would have made. Nothing here is product code.

The one thing that is shared is the idea of `hash`: integers and tuples of them hash alike in every CPython since 3.8.
"""

import hashlib
import struct

import cbor2
import xxhash
from blake3 import blake3

TOKENS = [(index * 7919) % 50000 for index in range(53)]
NONE = 0xFCA86420
"""hash(None) from CPython 3.12 on."""
SALTED_0 = {"3.10": -5282990986457227702, "3.12": 5313149338359954478}
"""hash('0') under PYTHONHASHSEED=0, as these interpreters gave it."""


def cut(tokens=TOKENS, size=16, *, partial=False):
    end = len(tokens) if partial else len(tokens) // size * size
    return [tuple(tokens[at : at + size]) for at in range(0, end, size)]


def sha(value):
    return hashlib.sha256(cbor2.dumps(value)).digest()


def xxh(value):
    return xxhash.xxh3_128_digest(cbor2.dumps(value))


def first8(digest):
    return struct.unpack(">Q", digest[:8])[0]


def last8(digest):
    return struct.unpack(">Q", digest[-8:])[0]


def little8(digest):
    return struct.unpack("<Q", digest[:8])[0]


def signed8(digest):
    return struct.unpack(">q", digest[:8])[0]


def whole(digest):
    return digest


def chain(pieces, start, link):
    found = [start]
    for piece in pieces:
        found.append(link(found[-1], piece))
    return found[1:]


def digests(pieces, start, *, third=((),), carry=first8, digest=sha):
    """A chain of digests that become something before they go on."""
    return chain(pieces, start, lambda before, piece: carry(digest((before, piece, *third))))


def folded(seed="0", pieces=None, **options):
    """What lmcache 0.4.6 and later make of sha256_cbor."""
    return digests(cut() if pieces is None else pieces, first8(sha(seed)), **options)


def builtins(pieces, start, third=((),)):
    return chain(pieces, start, lambda before, piece: hash((before, piece, *third)))


def texts(pieces, *, form="<I", as_text=True):
    def link(before, piece):
        found = hashlib.sha256(before + b"".join(struct.pack(form, token) for token in piece))
        return found.hexdigest().encode() if as_text else found.digest()

    found = chain(pieces, b"", link)
    return [value.decode() if as_text else value.hex() for value in found]


def token_hashes(pieces):
    start = blake3(bytes(12)).digest()
    return chain(pieces, start, lambda before, piece: blake3(before + struct.pack(f">{len(piece)}I", *piece)).digest())


def written(value):
    """A hash as keys of 0.3.13 and later carry it."""
    return value.hex() if isinstance(value, bytes) else f"{value:x}"


def keys(values, *, model="m", world=1, worker=0, dtype="bfloat16", rest=""):
    """Key strings of 0.3.13 and later."""
    return [f"{model}@{world}@{worker}@{written(value)}@{dtype}{rest}" for value in values]
