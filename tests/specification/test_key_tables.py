"""The published tables of keys and hashes write every captured key string, from the tokens on."""

import functools
import hashlib
import pickle
import re
import struct

import cbor2
import xxhash
from blake3 import blake3
from key_reader import Refused, read_key, write_key
from specification_reader import RELEASES, captured, holds, number, numbers_in, only, tables

MASK = (1 << 64) - 1


def key_of(value):
    return {name: number(member) for name, member in value.items()}


def refused(read, release, *args, **options):
    try:
        read(release, *args, **options)
    except Refused as refusal:
        return refusal
    return None


def test_the_published_grammar_writes_every_key_string():
    written = unwritable = 0
    for release in RELEASES:
        for vector in captured(release, "format_key"):
            key = key_of(vector["args"]["key"])
            if refused(write_key, release, key):
                text = vector.get("ok", {}).get("text")
                assert text is None or refused(read_key, release, text) or key != read_key(release, text), (release, vector["id"])
                unwritable += 1
            elif "ok" in vector:
                assert write_key(release, key) == vector["ok"]["text"], (release, vector["id"])
                written += 1
    assert written > 1000
    assert unwritable > 10


def test_the_published_grammar_reads_and_refuses_key_fields_as_servers_do():
    read = closed = 0
    for release in RELEASES:
        for vector in captured(release, "parse_key_as_server"):
            text = vector["args"]["text"].strip()
            if "ok" in vector:
                wanted = key_of(vector["ok"]["key"])
                found = read_key(release, text, as_server=True)
                assert {name: found[name] for name in wanted} == wanted, (release, vector["id"])
                read += 1
            else:
                assert refused(read_key, release, text, as_server=True), (release, vector["id"], vector["error"])
                closed += 1
    assert read > 800
    assert closed > 300


@functools.cache
def constants():
    """Step of CPython's hash of a tuple to its numbers."""
    return {row["of"]: numbers_in(row["the hash is"]) for row in tables("keys.md", "Chunk hashes")[2] if row["of"]}, numbers_in(
        " ".join(row["the hash is"] for row in tables("keys.md", "Chunk hashes")[2])
    )


def tuple_hash(value):
    """CPython's hash of a tuple by the steps of the page."""
    steps, every = constants()
    (modulus,) = (one for one in steps["an integer"] if one > 1 << 60)
    begin = steps["a tuple: begin"][0]
    multiplier = steps["for the hash h of each element"][0]
    (last,) = (one for one in every if one > 1 << 63 and one not in {begin, multiplier})
    length = steps["at the end"][-1]
    held = begin
    for element in value:
        if isinstance(element, tuple):
            lane = tuple_hash(element)
        elif element is None:
            lane = steps["None"][0]
        else:
            lane = abs(element) % modulus * (-1 if element < 0 else 1)
            lane = -2 if lane == -1 else lane
        held = (held + (lane & MASK) * multiplier) & MASK
        held = ((held << 31) | (held >> 33)) & MASK
        held = held * last & MASK
    held = (held + (len(value) ^ begin ^ length)) & MASK
    held = steps["if all bits are set"][0] if held == MASK else held
    return held - (1 << 64) if held >> 63 else held


SERIALISED = {
    "canonical CBOR": lambda value: cbor2.dumps(value, canonical=True),
    "pickle, highest protocol": lambda value: pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL),
}
DIGESTS = {"sha256": lambda data: hashlib.sha256(data).digest(), "XXH3, 128 bits": xxhash.xxh3_128_digest}


@functools.cache
def function(name):
    return next(row for row in tables("keys.md", "Chunk hashes")[1] if row["name"] == name)


def hashed(name, value, returns):
    """What a function of the table gives for a value."""
    row = function(name)
    if row["function"] == "CPython's hash of a tuple":
        return tuple_hash(value)
    digest = DIGESTS[row["function"]](SERIALISED[row["what is hashed, as bytes"]](value))
    if returns == "bytes":
        return digest
    found = int.from_bytes(digest, "big")
    return found & MASK if "low 64 bits" in row["result"] else found


@functools.cache
def chain(release):
    return only(tables("keys.md", "Chunk hashes")[0], release)


def folded(release, value):
    whole = chain(release)["a digest goes on as"]
    if isinstance(value, bytes) and whole == "the integer of its first 8 bytes, big-endian":
        return int.from_bytes(value[:8], "big")
    return value


def chunk_hashes(release, args, name, returns, start):
    """The hashes of all chunks, by what the table of chains says is hashed."""
    size, tokens = args["chunk_size"], args["tokens"]
    keep = args["save_unfull_chunk"]
    end = len(tokens) if keep else len(tokens) // size * size
    what = chain(release)["what is hashed"]
    previous = "" if chain(release)["the first previous"] == "the empty text" else folded(release, start)
    for begin in range(0, end, size):
        piece = tokens[begin : begin + size]
        if what == "the previous hash as text, then each token as little-endian uint32":
            previous = hashlib.sha256(previous.encode() + struct.pack(f"<{len(piece)}I", *piece)).hexdigest()
        else:
            third = {"(previous, tokens)": (), "(previous, tokens, None)": (None,), "(previous, tokens, ())": ((),)}[what]
            previous = folded(release, hashed(name, (previous, tuple(piece), *third), returns))
        yield begin, previous


def keys(release, args, name, returns, start, **changed):
    found = []
    for begin, value in chunk_hashes(release, args, name, returns, start):
        if begin >= args["skip"]:
            identity = {part: args.get(part) for part in ("model", "world_size", "worker_id", "dtype", "fmt", "tags")}
            found.append(write_key(release, {**identity, **changed, "layer": None, "chunk_hash": value}))
    return found


def test_the_published_chains_name_every_chunk():
    named = 0
    for release in RELEASES:
        for vector in captured(release, "chunk_keys"):
            if "ok" not in vector or "volatile" in vector or vector["args"]["skip"] % vector["args"]["chunk_size"]:
                continue
            args = vector["args"]
            start = number(args["none_hash"])
            found = keys(release, args, args["algorithm"], args.get("returns", "int"), start)
            assert found == [each["key"] for each in vector["ok"]["chunks"]], (release, vector["id"])
            named += len(found)
    assert named > 800


@functools.cache
def vllm(version):
    """The row of the published table that a version of vLLM is in, and its module and functions."""
    if version is None:
        return None
    rows = tables("keys.md", "Deployments")[0]
    for row in rows:
        first, _, before = row["vLLM"].replace(" and later", "").partition(", before ")
        if holds(f"{first} and later", version) and not (before and holds(f"{before} and later", version)):
            return row
    raise AssertionError(f"no row for vLLM {version}")


def found_function(release, version, setting):
    """The function that the published tables say a release takes, and what it returns."""
    rows = [row for row in tables("keys.md", "Deployments")[1] if holds(row["lmcache"], release)]
    held = vllm(version)
    if held is None or rows[0]["looks in"] == "nowhere":
        return "builtin" if held is None else "sha256_hex", "int"
    offered = held["functions"].split(", ")
    wanted = [one for row in rows for one in re.split(", else ", row["takes"]) if one != "the function of that name"]
    if held["module"] not in rows[0]["looks in"].split(", then "):
        return "builtin", "int"
    if rows[0]["where one is missing"].startswith("none is found") and not set(wanted) <= set(offered):
        return "builtin", "int"
    tried = next((re.split(", else ", row["takes"]) for row in rows if row["setting"] == setting), None)
    if tried is None:
        tried = [setting] if any(row["setting"] == "any other text" for row in rows) else []
    name = next((one for one in tried if one in offered), "builtin")
    return name, {"integers": "int", "digests": "bytes"}[held["they return"]] if name != "builtin" else "int"


def test_the_published_tables_find_the_function_of_every_captured_deployment():
    found = 0
    for release in RELEASES:
        for vector in captured(release, "deployment_keys"):
            if "ok" not in vector or "function" not in vector["ok"]:
                continue
            args, answer = vector["args"], vector["ok"]
            name, returns = found_function(release, args["vllm"], args["algorithm"])
            assert (answer["function"].rpartition(".")[2], answer["returns"]) == (name, returns), (release, vector["id"])
            found += 1
    assert found > 1000


def test_the_published_start_of_a_chain_is_that_of_every_captured_deployment():
    started = 0
    for release in RELEASES:
        for vector in captured(release, "deployment_keys"):
            answer = vector.get("ok", {})
            if "none_hash" not in answer or answer["none_hash"] in (None, {"masked": True}):
                continue
            args, value = vector["args"], number(answer["none_hash"])
            name, returns = found_function(release, args["vllm"], args["algorithm"])
            rows = tables("keys.md", "Deployments")[2]
            none = rows[0]["vllm.v1.core.kv_cache_utils"]
            if args["vllm"] is None or not args["kv_cache_utils"] or release == none.rpartition(" ")[2]:
                assert rows[0]["NONE_HASH"] == "the integer 0"
                assert value == 0, (release, vector["id"])
            elif name == "builtin":
                continue
            else:
                unset = re.search(r"H of the text (\S+);", rows[-1]["NONE_HASH"])[1]
                text = args["seed"] if args["seed"] is not None else unset
                assert value == hashed(name, text, returns), (release, vector["id"])
            started += 1
    assert started > 700


def test_the_published_tables_lead_from_a_deployment_to_its_key_strings():
    named = 0
    for release in RELEASES:
        for vector in captured(release, "deployment_keys"):
            answer, args = vector.get("ok", {}), vector["args"]
            masked = "volatile" in vector or answer.get("none_hash") in (None, {"masked": True})
            if masked or args["skip"] % args["chunk_size"]:
                continue
            name, returns = found_function(release, args["vllm"], args["algorithm"])
            collapses = [row for row in tables("keys.md", "Deployments")[3] if row["setting"] == "save_only_first_rank"]
            world = args["world_size"]
            if args["mla"] and args["save_only_first_rank"] is not False and holds(collapses[0]["releases"], release):
                world = 1
            found = keys(release, args, name, returns, number(answer["none_hash"]), world_size=world)
            assert found == [each["key"] for each in answer["chunks"]], (release, vector["id"])
            named += len(found)
    assert named > 2000


def test_the_published_defaults_are_those_of_every_release():
    rows = tables("keys.md", "Deployments")[3]
    names = {"chunk_size": "chunk_size", "save_unfull_chunk": "save_unfull_chunk", "pre_caching_hash_algorithm": "algorithm"}
    for release in RELEASES:
        (vector,) = captured(release, "defaults")
        for row in rows:
            if row["setting"] in names and holds(row["releases"], release):
                assert row["default"] == str(vector["ok"][names[row["setting"]]]).lower(), (release, row)


def test_the_published_token_hash_is_that_of_every_release():
    (rows,) = tables("keys.md", "Token hashes")
    told = {row["of a token hash"]: row["is"] for row in rows}
    hashes = 0
    first = [each for each in RELEASES if captured(each, "token_hashes")]
    for release in first:
        for vector in captured(release, "token_hashes"):
            previous, size = bytes.fromhex(told["the first previous"]), vector["args"]["chunk_size"]
            tokens = vector["args"]["tokens"]
            for index, wanted in enumerate(vector["ok"]["hashes"]):
                piece = tokens[index * size : (index + 1) * size]
                previous = blake3(previous + struct.pack(f">{size}I", *piece)).digest()
                assert previous.hex() == wanted, (release, vector["id"])
                hashes += 1
    assert hashes > 100
    assert told["the releases"] == f"{first[0]} and later"
