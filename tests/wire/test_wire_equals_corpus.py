"""The wire functions against every vector of every captured release: the same answers, and the same refusals.

This proves the rows of the profile tables; the last test says whether there is one that no captured release touches.
"""

import pytest

import wire.chunks
from fixturegen.corpus import captured_releases, load_corpus
from fixturegen.vector import MASKED, raw
from wire.chunks import CHUNK_CHAINS, chunk_hashes, chunk_keys
from wire.errors import DecodeError, EncodeError
from wire.hashes import token_hashes
from wire.keys import KEY_GRAMMARS, CacheKey, format_key, parse_key, parse_key_as_server
from wire.layouts import carrier, pack, unpack
from wire.lm.frames import Description, Reply, Request, decode_reply, decode_request, encode_reply, encode_request
from wire.lm.metadata import Group, RemoteMetadata, decode_metadata, encode_metadata
from wire.lm.profile import HEADER_LAYOUTS, HIGHEST_FORMATS, METADATA_GROUPS, SHORT_SHAPES, STRICT_ENUMS, lm_profile
from wire.release import KNOWN_RELEASES

np = pytest.importorskip("numpy")

RELEASES = captured_releases()

PARSED_BY_CLASS_ONLY = frozenset({"lm.key.parse.layer-negative"})
"""Texts whose meaning lies in the class that was asked to read them, and not in the text.

``LayerCacheEngineKey.from_string`` hands the part behind the dtype to ``int`` and so takes layer -1. :func:`parse_key` is given
no class. It tells a layer from a tag as ``parse_cache_key`` does, which is what servers call: a layer is all digits. So -1 is
neither, and is refused, as every server refuses it (vector ``lm.key.server.layer-negative``). No release writes such a key.
"""


WRITTEN_AND_NEVER_READ = frozenset({"lm.key.format.hash-bytes", "lm.key.format.hash-short-bytes"})
"""Digests in the releases that put Python's notation of bytes into a key: 0.3.3 to 0.3.5.

No parser reads ``b'...'`` as a hash, so such a key is useless, and :func:`format_key` refuses it as KEY-FMT-009 demands.
"""


def key_of(value):
    return CacheKey(
        model=value["model"],
        world_size=value["world_size"],
        worker_id=value["worker_id"],
        chunk_hash=hash_of(value["chunk_hash"]),
        dtype=value["dtype"],
        fmt=value["fmt"],
        layer=value["layer"],
        tags=tuple((name, text) for name, text in value["tags"]),
    )


def key_value(key):
    return {
        "model": key.model,
        "world_size": key.world_size,
        "worker_id": key.worker_id,
        "chunk_hash": hash_value(key.chunk_hash),
        "dtype": key.dtype,
        "fmt": key.fmt,
        "layer": key.layer,
        "tags": [list(tag) for tag in key.tags],
    }


def hash_of(value):
    ((kind, text),) = value.items()
    return {"int": int, "text": str, "bytes": bytes.fromhex}[kind](text)


def hash_value(value):
    if isinstance(value, int):
        return {"int": str(value)}
    return {"bytes": value.hex()} if isinstance(value, bytes) else {"text": value}


def about_of(args):
    return Description(args["length"], args["format"], args["dtype"], tuple(args["shape"]), args["location"])


def about_value(about):
    return {
        "length": about.length,
        "format": about.format,
        "dtype": about.dtype,
        "shape": list(about.shape),
        "location": about.location,
    }


def hexed(data):
    return {"hex": data.hex()}


def ask_encode_request(release, args):
    request = Request(args["command"], format_key(release, key_of(args["key"])), about_of(args))
    return {"bytes": hexed(encode_request(lm_profile(release), request))}


def ask_decode_request(release, args):
    request = decode_request(lm_profile(release), raw(args["bytes"]))
    key = parse_key_as_server(release, request.key)
    return {"command": request.command, "key": key_value(key), **about_value(request.about)}


def ask_encode_reply(release, args):
    return {"bytes": hexed(encode_reply(lm_profile(release), Reply(args["code"], about_of(args))))}


def ask_decode_reply(release, args):
    reply = decode_reply(lm_profile(release), raw(args["bytes"]))
    return {"code": reply.code, **about_value(reply.about)}


def ask_encode_metadata(release, args):
    groups = tuple(Group(group["dtype"], tuple(group["shape"])) for group in args["groups"])
    return {"bytes": hexed(encode_metadata(lm_profile(release), RemoteMetadata(args["length"], args["format"], groups)))}


def ask_decode_metadata(release, args):
    found = decode_metadata(lm_profile(release), raw(args["bytes"]), args["groups"])
    groups = [{"dtype": group.dtype, "shape": list(group.shape)} for group in found.groups]
    return {"length": found.length, "format": found.format, "groups": groups}


def ask_format_key(release, args):
    return {"text": format_key(release, key_of(args["key"]))}


def ask_parse_key(release, args):
    return {"key": key_value(parse_key(release, args["text"]))}


def ask_parse_key_as_server(release, args):
    return {"key": key_value(parse_key_as_server(release, args["text"]))}


def chunks_of(release, args, **changes):
    asked = {
        "chunk_size": args["chunk_size"],
        "algorithm": args["algorithm"],
        "none_hash": hash_of(args["none_hash"]),
        "save_unfull_chunk": args["save_unfull_chunk"],
        "skip": args["skip"],
    }
    return chunk_hashes(release, args["tokens"], **{**asked, **changes})


def ask_chunk_keys(release, args):
    # Where the vector is volatile, any hash(None) gives the chunks, and its keys are masked there.
    chunks = chunks_of(release, args, hash_of_none=0)
    tags = tuple((name, text) for name, text in args["tags"])
    identity = CacheKey(args["model"], args["world_size"], args["worker_id"], 0, args["dtype"], args["fmt"], tags=tags)
    keys = chunk_keys(release, identity, chunks)
    return {"chunks": [{"start": chunk.start, "end": chunk.end, "key": key} for chunk, key in zip(chunks, keys, strict=True)]}


def ask_token_hashes(release, args):
    return {"hashes": [digest.hex() for digest in token_hashes(args["tokens"], args["chunk_size"])]}


def ask_pack_layout(release, args):
    chunk = pack(args["format"], array_of(args["paged"], args["dtype"], args["paged_shape"]), args["slots"])
    return {"bytes": hexed(chunk.tobytes()), "shape": list(chunk.shape)}


def ask_unpack_layout(release, args):
    chunk = array_of(args["bytes"], args["dtype"], args["shape"])
    return {"paged": hexed(unpack(args["format"], chunk, args["slots"], args["paged_shape"]).tobytes())}


def array_of(data, dtype, shape):
    return np.frombuffer(raw(data), dtype=carrier(dtype)).reshape(shape)


def ask_defaults(release, args):
    chain = CHUNK_CHAINS[release]
    algorithm = wire.chunks.TEXT_ALGORITHM if chain.third == "text chain" else "builtin"
    return {"chunk_size": 256, "save_unfull_chunk": chain.saves_unfull_chunk, "algorithm": algorithm}


ASK = {name.removeprefix("ask_"): function for name, function in globals().items() if name.startswith("ask_")}
REFUSAL = {
    **dict.fromkeys(("encode_request", "encode_reply", "encode_metadata", "format_key", "chunk_keys"), EncodeError),
    **dict.fromkeys(("decode_request", "decode_reply", "decode_metadata", "parse_key", "parse_key_as_server"), DecodeError),
}
ELSEWHERE = {"chain_inputs", "deployment_keys"}
"""Operations that no single function answers; tests of their own take them apart."""
PAIRS = [(release, op) for release in RELEASES for op in load_corpus(release).vectors]


def masked_like(expected, got):
    """What we got, masked where the expected value is."""
    if expected == MASKED:
        return MASKED
    if isinstance(expected, dict) and isinstance(got, dict):
        return {name: masked_like(expected.get(name), value) for name, value in got.items()}
    if isinstance(expected, list) and isinstance(got, list) and len(expected) == len(got):
        return [masked_like(left, right) for left, right in zip(expected, got, strict=True)]
    return got


def outcome_of(release, vector):
    try:
        return {"ok": ASK[vector.op](release, vector.args)}
    except REFUSAL.get(vector.op, ()) as refusal:
        return {"error": str(refusal)}


def difference(release, vector):
    """What our code makes of a vector where that is not what the real code made of it, otherwise None."""
    got = outcome_of(release, vector)
    expected = vector.ok
    if expected is None or "error" in got:
        return None if (expected is None) == ("error" in got) else f"{vector.id}: expected {vector.outcome}, got {got}"
    found = masked_like(expected, got["ok"]) if vector.volatile else got["ok"]
    return None if found == expected else f"{vector.id}: expected {expected}, got {found}"


def test_every_known_release_is_captured_and_no_other():
    assert [str(release) for release in RELEASES] == list(KNOWN_RELEASES)


@pytest.mark.parametrize(("release", "op"), [pair for pair in PAIRS if pair[1] not in ELSEWHERE], ids=str)
def test_wire_gives_exactly_the_captured_outcomes(release, op):
    vectors = [vector for vector in load_corpus(release).vectors[op] if not is_exception(vector)]
    found = [difference(release, vector) for vector in vectors]
    assert not [text for text in found if text is not None]


def is_exception(vector):
    if vector.id in WRITTEN_AND_NEVER_READ:
        return vector.ok is not None and "b'" in vector.answer["text"]
    return vector.id in PARSED_BY_CLASS_ONLY


def test_a_digest_in_the_notation_of_python_is_refused_because_no_parser_reads_it():
    written = [
        (release, vector)
        for release in RELEASES
        for vector in load_corpus(release).vectors["format_key"]
        if vector.id in WRITTEN_AND_NEVER_READ and is_exception(vector)
    ]
    assert {str(release) for release, _ in written} == {"0.3.3", "0.3.4", "0.3.5"}
    for release, vector in written:
        with pytest.raises(EncodeError):
            format_key(release, key_of(vector.args["key"]))
        with pytest.raises(DecodeError):
            parse_key(release, vector.answer["text"])


@pytest.mark.parametrize("release", RELEASES, ids=str)
@pytest.mark.parametrize("vector_id", sorted(PARSED_BY_CLASS_ONLY))
def test_a_text_that_only_one_class_reads_is_refused_as_servers_refuse_it(release, vector_id):
    corpus = load_corpus(release)
    vector = corpus.vector(vector_id)
    assert vector.args["class"] == "layer"
    assert vector.answer["key"]["layer"] == -1
    assert corpus.vector(vector_id.replace(".parse.", ".server.")).ok is None
    with pytest.raises(DecodeError):
        parse_key(release, vector.args["text"])


@pytest.mark.parametrize("release", RELEASES, ids=str)
def test_the_class_that_was_asked_is_the_one_that_the_text_names(release):
    for vector in load_corpus(release).vectors["parse_key"]:
        if vector.ok is not None and vector.id not in PARSED_BY_CLASS_ONLY:
            layered = parse_key(release, vector.args["text"]).layer is not None
            assert layered == (vector.args["class"] == "layer"), vector.id


@pytest.mark.parametrize("release", RELEASES, ids=str)
def test_keys_are_masked_exactly_where_they_cannot_be_derived_without_the_hash_of_none(release):
    for vector in load_corpus(release).vectors["chunk_keys"]:
        if vector.ok is None:
            continue
        keys = [chunk["key"] for chunk in vector.answer["chunks"]]
        if vector.volatile is None:
            assert MASKED not in keys, vector.id
            chunks_of(release, vector.args)
        else:
            assert keys == [MASKED] * len(keys), vector.id
            with pytest.raises(EncodeError, match=r"contain hash\(None\)"):
                chunks_of(release, vector.args)


CHAINS = [release for release in RELEASES if "chain_inputs" in load_corpus(release).vectors]


def recorded_steps(seen):
    third = {2: lambda _: "absent", 3: lambda value: {None: "none", (): "empty tuple"}[value[2]]}
    return [{"prefix": hash_value(value[0]), "tokens": list(value[1]), "third": third[len(value)](value)} for value in seen]


@pytest.mark.parametrize("release", CHAINS, ids=str)
def test_integers_are_chained_step_by_step_as_captured(release, monkeypatch):
    vector = load_corpus(release).vector("lm.chain.ints")
    answers = iter([hash_of(answer) for answer in vector.args["answers"]])
    seen = []
    monkeypatch.setattr(wire.chunks, "tuple_hash", lambda value, **_: seen.append(value) or next(answers))
    chunks = chunks_of(release, vector.args, hash_of_none=0)
    assert recorded_steps(seen) == vector.answer["steps"]
    assert [hash_value(chunk.chunk_hash) for chunk in chunks] == vector.answer["hashes"]


@pytest.mark.parametrize("release", CHAINS, ids=str)
def test_digests_are_chained_and_folded_step_by_step_as_captured(release, monkeypatch):
    vector = load_corpus(release).vector("lm.chain.bytes")
    answers = iter([hash_of(answer) for answer in vector.args["answers"]])
    seen = []
    monkeypatch.setattr(wire.chunks, "DIGESTS", {"recorded": lambda value: seen.append(value) or next(answers)})
    # Digests stay bytes here if the starting hash is bytes; the capture starts from the integer 0, so that prefix is set aside.
    chunks = chunks_of(release, vector.args, algorithm="recorded", none_hash=bytes(8))
    steps, expected = recorded_steps(seen), vector.answer["steps"]
    assert steps[0] == {**expected[0], "prefix": hash_value(0 if CHUNK_CHAINS[release].folds else bytes(8))}
    assert steps[1:] == expected[1:]
    assert [hash_value(chunk.chunk_hash) for chunk in chunks] == vector.answer["hashes"]


def test_the_captures_hold_folded_and_unfolded_chains_of_digests():
    kinds = {str(release): set(load_corpus(release).vector("lm.chain.bytes").answer["hashes"][0]) for release in CHAINS}
    assert kinds["0.4.1"] == {"bytes"}
    assert kinds["0.5.6"] == {"int"}


def test_releases_without_a_choice_of_hash_say_so():
    for release in RELEASES:
        if release not in CHAINS:
            assert "chain_inputs" in load_corpus(release).manifest.unavailable


TABLES = (HEADER_LAYOUTS, HIGHEST_FORMATS, STRICT_ENUMS, SHORT_SHAPES, METADATA_GROUPS, KEY_GRAMMARS, CHUNK_CHAINS)


def test_a_capture_proves_every_row_of_the_tables():
    rows = [(table.name, where) for table in TABLES for where, _ in table.rows()]
    assert [f"{name} {where}" for name, where in rows if not any(release in where for release in RELEASES)] == []
