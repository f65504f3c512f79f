"""Key strings, written and read by the table of keys.md alone."""

import functools

from specification_reader import column_of, only, tables

TAG_PREFIX = "lmcache.tag."


class Refused(Exception):
    """The tables say that the real code refuses it."""


@functools.cache
def grammar(release):
    return only(tables("keys.md", "Key string")[0], release)


def parts(release):
    return grammar(release)["parts"].split("@")


@functools.cache
def dtype_names(release):
    """dtype to its name in keys; none where keys have none."""
    rows = tables("keys.md", "Key string")[1]
    return {row["dtype"]: column_of(row, release, "name, ") for row in rows} if "dtype" in parts(release) else {}


def write_key(release, key):
    """The key string of the parts of a key."""
    held = grammar(release)
    written = {**key, "chunk_hash": written_hash(held, key["chunk_hash"]), "dtype": dtype_names(release).get(key["dtype"])}
    found = [str(written[part]) for part in parts(release)]
    if key["layer"] is not None:
        found.append(str(key["layer"]))
    return "@".join([*found, *(f"{name}%{value}" for name, value in key["tags"])])


def written_hash(held, value):
    if isinstance(value, bytes):
        if held["a digest"] != "all of its digits":
            raise Refused("a digest")
        return value.hex()
    return {"as it is": str, "signed decimal": str, "signed hexadecimal": lambda one: f"{one:x}"}[
        held["a hash that is a number is written"]
    ](value)


def read_key(release, text, *, as_server=False):
    """The parts of a key string, as the release reads them."""
    held, names = grammar(release), parts(release)
    pieces = text.split("@")
    if len(pieces) < len(names):
        raise Refused(f"{len(pieces)} parts")
    found = {"fmt": None, "dtype": None, "layer": None, "tags": [], **dict(zip(names, pieces, strict=False))}
    rest = pieces[len(names) :]
    takes_layers = not as_server or held["a server takes layers"] == "yes"
    if takes_layers and rest and rest[0].isdigit():
        found["layer"] = as_number(rest.pop(0))
    if held["tags"] == "no" and rest:
        raise Refused("tags")
    tags = {}
    for piece in rest:
        name, percent, value = piece.partition("%")
        if not percent:
            raise Refused(f"no tag: {piece}")
        tags[name] = value
    if held["tags"] == "yes, read as settings":
        tags = {name.removeprefix(TAG_PREFIX): value for name, value in tags.items() if name.startswith(TAG_PREFIX)}
    found["tags"] = [list(pair) for pair in tags.items()]
    if found["dtype"] is not None:
        known = {name: dtype for dtype, name in dtype_names(release).items()}
        if found["dtype"] not in known:
            raise Refused(f"dtype {found['dtype']}")
        found["dtype"] = known[found["dtype"]]
    found["world_size"], found["worker_id"] = as_number(found["world_size"]), as_number(found["worker_id"])
    base = {"as it is": None, "in base 10": 10, "in base 16": 16}[held["the hash is read"]]
    if base is not None:
        found["chunk_hash"] = as_number(found["chunk_hash"], base)
    return found


def as_number(text, base=10):
    try:
        return int(text, base)
    except ValueError as error:
        raise Refused(str(error)) from None
