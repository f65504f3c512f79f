"""The published tables of the multiprocess server are what every release has, and read every captured message."""

import functools
import pickletools
import re

import msgspec
import pytest
from blake3 import blake3
from specification_reader import MP_RELEASES, captured, holds, of, tables

SCALARS = {
    "int": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "bool": lambda value: isinstance(value, bool),
    "str": lambda value: isinstance(value, str),
    "bytes": lambda value: isinstance(value, bytes),
    "float": lambda value: isinstance(value, float),
    "map": lambda value: isinstance(value, dict),
    "ext": lambda value: isinstance(value, msgspec.msgpack.Ext) and value.code == 1,
}


@functools.cache
def numbers(release):
    """Operation to what the published table has in its frame."""
    found = {}
    for row in tables("mp-operations.md", "Numbers")[0]:
        (cell,) = (cell for head, cell in row.items() if head != "operation" and holds(head, release))
        if cell != "-":
            found[row["operation"]] = int(cell) if cell.isdigit() else cell
    return found


@functools.cache
def signatures(release):
    """Operation to the types of its payloads, its result, and where it is executed."""
    rows = of(tables("mp-operations.md", "Payloads and results")[0], release)
    found = {}
    for row in rows:
        assert row["operation"] not in found, row
        found[row["operation"]] = (types(row["payloads"]), row["result"], row["the server executes it"])
    return found


def types(cell):
    """The types in a cell such as ``key IPCCacheServerKey, ranges [(int, int)]``: the last word of each part."""
    found, word, depth = [], "", 0
    for sign in "" if cell == "none" else f"{cell},":
        depth += (sign in "[({") - (sign in "])}")
        if depth == 0 and sign == ",":
            found.append(word)
            word = ""
        elif depth == 0 and sign == " ":
            word = ""
        else:
            word += sign
    return found


@functools.cache
def records(release):
    """Record to its members in the published order: name, type, default."""
    found = {}
    for row in of(tables("mp-operations.md", "Records")[0], release):
        found.setdefault(row["record"], []).append((row["member"], row["type"], row["where it is missing"]))
    return found


@functools.cache
def enumeration(name, release):
    rows = [row for row in tables("mp-operations.md", "Enumerations")[0] if row["type"] == name]
    return [value for row in rows if holds(row["releases"], release) for value in row["values"].split(", ")]


def test_every_release_has_exactly_the_published_operations_and_numbers():
    for release in MP_RELEASES:
        (vector,) = captured(release, "mp_operations", "mp")
        real = {each["name"]: each["wire"] for each in vector["ok"]["operations"]}
        assert numbers(release) == real, release


def test_every_release_has_exactly_the_published_payloads_results_and_threads():
    threads = {"SYNC": "in its message thread", "BLOCKING": "in a pool"}
    for release in MP_RELEASES:
        (vector,) = captured(release, "mp_operations", "mp")
        real = {
            each["name"]: (each["payloads"], each["response"] or "none", threads[each["handler"]])
            for each in vector["ok"]["operations"]
        }
        assert signatures(release) == real, release


def test_every_release_has_exactly_the_published_records():
    for release in MP_RELEASES:
        (vector,) = captured(release, "mp_records", "mp")
        for name, fields in vector["ok"]["records"].items():
            real = [(each["field"], each["type"], default(each)) for each in fields]
            assert records(release)[name] == real, (release, name)


def default(field):
    if field.get("required"):
        return "must be there"
    value = field["default"]
    if value is None:
        return "nil"
    if value == {"hex": ""}:
        return "no bytes"
    return '""' if value == "" else str(value).lower() if isinstance(value, bool) else str(value)


def test_every_release_has_exactly_the_published_texts_of_enumerations():
    seen = 0
    for release in MP_RELEASES:
        (vector,) = captured(release, "mp_records", "mp")
        for name, values in vector["ok"].get("enumerations", {}).items():
            assert enumeration(name, release) == values, (release, name)
            seen += 1
    assert seen > 5


def is_a(release, kind, value):
    """Whether a msgpack value has a published type, with every member of a record in its order."""
    if kind.endswith("?"):
        return value is None or is_a(release, kind[:-1], value)
    if kind in SCALARS:
        return SCALARS[kind](value)
    if kind.startswith("["):
        return isinstance(value, list) and all(is_a(release, kind[1:-1], each) for each in value)
    if kind.startswith("("):
        inner = kind[1:-1].split(", ")
        return isinstance(value, list) and len(value) == len(inner) and all(map(is_a, [release] * len(inner), inner, value))
    if kind.startswith("{"):
        key, _, member = kind[1:-1].partition(": ")
        return isinstance(value, dict) and all(is_a(release, key, k) and is_a(release, member, v) for k, v in value.items())
    if kind in records(release):
        members = records(release)[kind]
        return list(value) == [name for name, _, _ in members] and all(
            is_a(release, type_, value[name]) for name, type_, _ in members
        )
    if kind == "LayoutHints":
        return isinstance(value, dict)
    return value in enumeration(kind, release)


@pytest.mark.parametrize("side", ["request", "reply"])
def test_the_published_tables_read_every_message_that_an_encoder_wrote_of_plain_values(side):
    read = 0
    for release in MP_RELEASES:
        for vector in captured(release, f"mp_encode_{side}", "mp"):
            if not vector["id"].endswith((".plain", ".none", ".false", ".failed")) or "ok" not in vector:
                continue
            name = vector["args"]["operation"]
            operation, *frames = (msgspec.msgpack.decode(bytes.fromhex(each["hex"])) for each in vector["ok"]["frames"])
            assert operation == numbers(release)[name], (release, vector["id"])
            payloads, result, _ = signatures(release)[name]
            wanted = payloads if side == "request" else [] if result == "none" or not frames else [result]
            assert len(frames) == len(wanted), (release, vector["id"])
            for kind, frame in zip(wanted, frames, strict=True):
                assert is_a(release, kind, frame), (release, vector["id"], kind, frame)
            read += 1
    assert read > 500


def test_a_published_name_means_the_operation_from_the_published_release_on():
    (row,) = [row for row in tables("mp-operations.md", "Numbers")[1] if row["what"].startswith("the name in lower case")]
    begins = re.search(r"\((.*)\)", row["what"])[1]
    for release in MP_RELEASES:
        texts = [vector for vector in captured(release, "mp_decode_request", "mp") if vector["id"].endswith(".operation-name")]
        assert all(("ok" in vector) == holds(begins, release) for vector in texts), release


def test_the_published_names_of_objects_are_those_of_every_release():
    named = 0
    for release in MP_RELEASES:
        for vector in captured(release, "mp_object_keys", "mp"):
            answer = vector.get("ok", {})
            for key, name in zip(answer.get("keys", ()), answer.get("names") or (), strict=False):
                (row,) = of(tables("mp.md", "Names of objects")[0], release)
                form = row["with a salt"] if key.get("cache_salt") else row["name of an object"]
                written = {
                    "model_name": key["model_name"],
                    "kv_rank": f"{key['kv_rank']:08x}",
                    "group": f"{key.get('object_group_id', 0):x}",
                    "chunk_hash": key["chunk_hash"]["hex"],
                    "cache_salt": key.get("cache_salt", ""),
                }
                assert "@".join(written[part] for part in form.split("@")) == name, (release, vector["id"])
                named += 1
    assert named > 100


def test_the_published_hash_is_that_of_every_object():
    """Of whole chunks of a key that names its tokens; the page of keys says how a token hash is made."""
    told = {row["of a token hash"]: row["is"] for row in tables("keys.md", "Token hashes")[0]}
    hashed = 0
    for release in MP_RELEASES:
        for vector in captured(release, "mp_object_keys", "mp"):
            key, size = vector["args"]["key"], vector["args"]["chunk_size"]
            if "ok" not in vector or "token_ids" not in key or key.get("chunk_hash") or key["worker_id"] is None:
                continue
            tokens = key["token_ids"]
            tokens = list(range(*tokens["range"])) if isinstance(tokens, dict) else tokens
            previous, hashes = bytes.fromhex(told["the first previous"]), []
            for begin in range(0, len(tokens) // size * size, size):
                words = b"".join(token.to_bytes(4, "big") for token in tokens[begin : begin + size])
                previous = blake3(previous + words).digest()
                hashes.append(previous.hex())
            assert {each["chunk_hash"]["hex"] for each in vector["ok"]["keys"]} <= set(hashes) or key["end"] > len(tokens), (
                vector["id"]
            )
            hashed += len(vector["ok"]["keys"])
    assert hashed > 100


def test_the_published_maps_are_the_tensors_of_the_releases_that_write_maps():
    rows = {row["class"]: row for row in tables("mp.md", "Registration of KV tensors")[1]}
    forms = tables("mp.md", "Registration of KV tensors")[0]
    read = 0
    for release in MP_RELEASES:
        (form,) = of(forms, release)
        for vector in captured(release, "mp_encode_registration", "mp"):
            data = bytes.fromhex(vector["ok"]["bytes"]["hex"])
            assert form["the data of extension type 1"].startswith("a pickle") == (data[:1] == b"\x80" and data[1] == 4), release
            if data[1:2] == b"\x04" and data[:1] == b"\x80":
                continue
            row = rows[vector["args"]["wrapper"]]
            value = msgspec.msgpack.decode(data)
            members = re.sub(r" \([^)]*\)|: an array of maps of .*", "", row["members in their order"]).split(", ")
            assert list(value) == members, vector["id"]
            assert value["type"] == row["type"]
            metadata = value.get("metadata") or value["planes"][0]["metadata"]
            assert list(metadata) == re.search(r"metadata \(([^)]*)\)", row["members in their order"])[1].split(", ")
            read += 1
    assert read > 10


def test_the_published_attributes_are_those_of_every_pickled_tensor():
    read = 0
    for release in MP_RELEASES:
        rows = {row["class"]: row for row in of(tables("mp.md", "Registration of KV tensors")[2], release)}
        for vector in captured(release, "mp_encode_registration", "mp"):
            data = bytes.fromhex(vector["ok"]["bytes"]["hex"])
            if data[:2] != b"\x80\x04":
                continue
            row = rows[vector["args"]["wrapper"]]
            texts = [argument for _, argument, _ in pickletools.genops(data) if isinstance(argument, str)]
            assert texts[:2] == [row["module that the pickle names"], row["class"]], (release, vector["id"])
            wanted = row["attributes in their order"].split(", ")
            held = [text for text in texts if text in wanted]
            assert held == wanted, (release, vector["id"])
            read += 1
    assert read > 60
