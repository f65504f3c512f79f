"""KV tensors in a registration: the blobs by which the server finds the memory of an engine. Nothing here loads a pickle."""

import pickletools
from typing import Any

import msgspec

from harness.captures import Corpus, Vector
from harness.case import answered, case
from harness.judge import Judge
from harness.mp.real_wrappers import RealWrappers
from harness.subject import Subject
from wire.mp.values import to_json
from wire.release import Release

NEEDS = ("mp_encode_registration",)


@case("MP-REG-001", needs=NEEDS, releases="0.5.6 and later", variants=answered("mp_encode_registration"))
def test_data(client: Subject, judge: Judge, vector: Vector) -> None:
    """A tensor is written as the same map of plain data as lmcache's own."""
    got = client.ok("mp_encode_registration", **vector.args)["bytes"]
    judge.same_value(plain(raw(vector)), plain(got), what="the tensor", source=vector)


@case("MP-REG-002", needs=NEEDS, releases="0.3.9.post1 to 0.5.5", variants=answered("mp_encode_registration"))
def test_pickle(client: Subject, judge: Judge, vector: Vector) -> None:
    """A tensor is written as a pickle of the classes and values of lmcache's own, as far as it can be told without loading it."""
    got = client.ok("mp_encode_registration", **vector.args)["bytes"]
    judge.same_value(words_of(raw(vector)), words_of(got), what="the pickled tensor", source=vector)


@case("MP-REG-003", needs=NEEDS, releases="0.3.9.post1 and later", variants=answered("mp_encode_registration"))
def test_bytes(client: Subject, judge: Judge, vector: Vector) -> None:
    """A tensor has the bytes that lmcache writes."""
    got = client.ok("mp_encode_registration", **vector.args)["bytes"]
    judge.same_bytes(raw(vector), got, what="the tensor", source=vector)


@case("MP-REG-001", "MP-REG-002", targets=("live",), needs=NEEDS, releases="0.3.9.post1 and later", own_server=True)
def test_real_class(client: Subject, judge: Judge, corpus: Corpus, release: Release, real_wrappers: RealWrappers) -> None:
    """Every tensor that the client writes is read by lmcache's own class, which finds the fields that the client was given."""
    vectors = [vector for vector in corpus.vectors["mp_encode_registration"] if vector.ok is not None]
    blobs = [client.ok("mp_encode_registration", **vector.args)["bytes"] for vector in vectors]
    for vector, reading in zip(vectors, real_wrappers.read(release, blobs), strict=True):
        judge.holds(reading.refusal is None, f"lmcache does not read the tensor: {reading.refusal}", source=vector)
        expected = corpus.vector(vector.id.replace(".encode.", ".decode.")).answer["fields"]
        judge.same_value(expected, reading.fields, what="the tensor as lmcache reads it", source=vector)


def raw(vector: Vector) -> bytes:
    """The captured bytes."""
    return bytes.fromhex(vector.answer["bytes"]["hex"])


def plain(data: bytes) -> Any:
    """A tensor as JSON, or what is wrong with it."""
    try:
        return to_json(msgspec.msgpack.decode(data))
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        return {"no msgpack": str(error)}


def words_of(data: bytes) -> Any:
    """What a pickle says, in order, without the instructions that only keep or frame values; nothing is executed."""
    found = []
    try:
        for opcode, argument, _ in pickletools.genops(data):
            if opcode.name not in {"PROTO", "FRAME", "MEMOIZE", "PUT", "BINPUT", "LONG_BINPUT"}:
                found.append([_NAMES.get(opcode.name, opcode.name), to_json(argument)])
    except (ValueError, AttributeError, IndexError, UnicodeDecodeError) as error:
        found.append(["no pickle", str(error)])
    return found


_NAMES = {
    "BININT1": "BININT",
    "BININT2": "BININT",
    "LONG1": "BININT",
    "SHORT_BINUNICODE": "BINUNICODE",
    "SHORT_BINBYTES": "BINBYTES",
}
"""Other forms of the same instruction."""
