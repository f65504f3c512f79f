"""Token hashes of the multiprocess server through the real ``TokenHasher``."""

from contract import Inapplicable

try:
    from lmcache.v1.multiprocess.token_hasher import TokenHasher
except ImportError:
    TokenHasher = None


def token_hashes(args):
    if TokenHasher is None:
        raise Inapplicable("this release has no TokenHasher")
    hasher = TokenHasher(chunk_size=args["chunk_size"], hash_algorithm="blake3")
    return {"hashes": [bytes(value).hex() for value in hasher.compute_chunk_hashes(args["tokens"])]}


OPERATIONS = {
    "token_hashes": ("lmcache.v1.multiprocess.token_hasher.TokenHasher.compute_chunk_hashes", token_hashes),
}
