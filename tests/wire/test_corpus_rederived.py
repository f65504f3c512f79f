"""The corpus derived once more without our codecs: few lines of struct, hashlib and Python's own hash.

No codec of ours is used here. Where one agrees with the captures by a mistake in how the two are compared, this still differs.
"""

import hashlib
import struct

import pytest
from blake3 import blake3

from fixturegen.corpus import captured_releases, load_corpus

CORPORA = {str(release): load_corpus(release) for release in captured_releases()}
COMMAND = {"PUT": 1, "GET": 2, "EXIST": 3, "LIST": 4, "HEALTH": 5}
CODE = {"SUCCESS": 200, "FAIL": 400}
FORMAT = ["UNDEFINED", "KV_2LTD", "KV_T2D", "KV_2TD", "BINARY", "BINARY_BUFFER", "KV_MLA_FMT", "EC_TD", "HS_TD"]
DTYPE = [None, "half", "float16", "bfloat16", "float32", "float64", "uint8", "float8_e4m3fn", "float8_e5m2"]
LOCATION = [None, "LocalCPUBackend", "LocalDiskBackend"]
KEY_NAMES = {"float16": "half", "float32": "float", "float64": "double"}

every_release = pytest.mark.parametrize("release", list(CORPORA))


def releases_where(condition):
    """A mark with the captured releases whose number (four parts for a post release) fulfils a condition."""
    return pytest.mark.parametrize("release", [release for release in CORPORA if condition(number(release))])


def answered(release, op):
    return [vector for vector in CORPORA[release].vectors[op] if vector.ok is not None]


def number(release):
    return tuple(int(part) for part in release.replace(".post", ".").split("."))


def about(args):
    shape = [*args["shape"], 0, 0, 0][: max(4, len(args["shape"]))]
    return [args["length"], FORMAT.index(args["format"]), DTYPE.index(args["dtype"])], shape, LOCATION.index(args["location"])


def hash_text(release, chunk_hash):
    ((kind, digest),) = chunk_hash.items()
    if (0, 3, 3) <= number(release) < (0, 3, 6):
        return str(int(digest) if kind == "int" else bytes.fromhex(digest))
    return f"{int(digest):x}" if kind == "int" else digest


def key_text(release, key):
    parts = [key["model"], key["world_size"], key["worker_id"], hash_text(release, key["chunk_hash"])]
    if number(release) < (0, 3, 13):
        parts.insert(0, key["fmt"])
    if number(release) >= (0, 3, 9, 1):
        name = KEY_NAMES.get(key["dtype"], key["dtype"]).replace("float8", "fp8")
        if number(release) < (0, 3, 14):
            name = name.replace("e4m3fnuz", "e4m3fn").replace("e4m3fn", "e4m3").replace("e5m2fnuz", "e5m2")
        parts.append(name)
    if key["layer"] is not None:
        parts.append(key["layer"])
    return "@".join([*map(str, parts), *(f"{name}%{value}" for name, value in key["tags"])])


@every_release
def test_request_headers(release):
    for vector in answered(release, "encode_request"):
        start, shape, location = about(vector.args)
        middle = [location] if number(release) >= (0, 3, 3) else []
        numbers = [COMMAND[vector.args["command"]], *start, *middle, *shape]
        key = key_text(release, vector.args["key"]).encode()
        expected = struct.pack(f"<{len(numbers)}i", *numbers) + key + b" " * (150 - len(key))
        assert vector.answer["bytes"]["hex"] == expected.hex(), vector.id


@every_release
def test_reply_headers(release):
    for vector in answered(release, "encode_reply"):
        start, shape, location = about(vector.args)
        numbers = [CODE[vector.args["code"]], *start, *shape, *([location] if number(release) >= (0, 3, 3) else [])]
        assert vector.answer["bytes"]["hex"] == struct.pack(f"<{len(numbers)}i", *numbers).hex(), vector.id


@every_release
def test_key_strings(release):
    for vector in answered(release, "format_key"):
        assert vector.answer["text"] == key_text(release, vector.args["key"]), vector.id


@releases_where(lambda found: found < (0, 3, 3))
def test_text_chain(release):
    def chain(chunks):
        digest = ""
        for chunk in chunks:
            digest = hashlib.sha256(digest.encode() + struct.pack(f"<{len(chunk)}I", *chunk)).hexdigest()
            yield {"text": digest}

    _compare_chunks(release, chain)


@releases_where(lambda found: (0, 3, 3) <= found < (0, 3, 4))
def test_builtin_chain_of_pairs(release):
    def chain(chunks):
        prefix = 0
        for chunk in chunks:
            prefix = hash((prefix, tuple(chunk)))
            yield {"int": str(prefix)}

    _compare_chunks(release, chain)


@releases_where(lambda found: found >= (0, 4, 1))
def test_builtin_chain_with_the_empty_tuple(release):
    def chain(chunks):
        prefix = 0
        for chunk in chunks:
            prefix = hash((prefix, tuple(chunk), ()))
            yield {"int": str(prefix)}

    _compare_chunks(release, chain)


def _compare_chunks(release, chain):
    compared = 0
    for vector in answered(release, "chunk_keys"):
        args, size = vector.args, vector.args["chunk_size"]
        chunks = [args["tokens"][start : start + size] for start in range(0, len(args["tokens"]), size)]
        if not args["save_unfull_chunk"]:
            chunks = [chunk for chunk in chunks if len(chunk) == size]
        expected = [
            {"start": start, "end": start + len(chunk), "key": key_text(release, {**args, "chunk_hash": digest, "layer": None})}
            for start, chunk, digest in zip(range(0, size * len(chunks), size), chunks, chain(chunks), strict=True)
            if start >= args["skip"]
        ]
        assert vector.answer["chunks"] == expected, vector.id
        compared += len(expected)
    assert compared > 50


@releases_where(lambda found: found >= (0, 3, 14))
def test_token_hashes(release):
    for vector in answered(release, "token_hashes"):
        tokens, size = vector.args["tokens"], vector.args["chunk_size"]
        digest, expected = blake3(bytes(8) + bytes(4)).digest(), []
        for start in range(0, len(tokens) // size * size, size):
            digest = blake3(digest + struct.pack(f">{size}I", *tokens[start : start + size])).digest()
            expected.append(digest.hex())
        assert vector.answer["hashes"] == expected, vector.id
