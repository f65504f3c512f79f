"""The lm:// wire as pure functions: key strings, headers, chunk hashes and layouts. No sockets, no files. See docs/spec/."""

import hashlib
import math
import struct
from dataclasses import dataclass

from harness.client import ClientError, UnsupportedError


def refused(message):
    """What was asked for cannot be said on the wire, or what came is not what was expected."""
    return ClientError("refused", message)


def malformed(message):
    """What came is no message."""
    return ClientError("protocol", message)


# --- What differs between releases. Nothing else in this file compares releases.

RELEASES = (
    "0.3.1 0.3.1.post1 0.3.2 0.3.3 0.3.4 0.3.5 0.3.6 0.3.7 0.3.9 0.3.9.post1 0.3.9.post2 0.3.10 0.3.10.post1 0.3.10.post2 0.3.11 "
    "0.3.12 0.3.13 0.3.14 0.3.15 0.4.1 0.4.2 0.4.3 0.4.4 0.4.5 0.4.6 0.4.7 0.5.0 0.5.1 0.5.2 0.5.3 0.5.4 0.5.5 0.5.6"
).split()


class Release:
    """What a release of lmcache means on the wire."""

    def __init__(self, name):
        if name not in RELEASES:
            raise UnsupportedError(f"this client does not know a release {name!r} of lmcache")

        def since(first):
            return RELEASES.index(name) >= RELEASES.index(first)

        self.name = name
        # Frames
        self.has_location = since("0.3.3")
        self.request_size = 186 if self.has_location else 182
        self.reply_size = 36 if self.has_location else 32
        self.formats = FORMATS[: 7 + since("0.4.5") + since("0.5.1")]
        self.short_shapes = since("0.4.4")
        self.several_groups = since("0.3.12")
        # Keys
        self.has_engine = not since("0.3.13")
        self.has_dtype = since("0.3.9.post1")
        self.has_tags = since("0.3.4")
        self.has_digests = since("0.3.13")
        self.servers_read_layers = since("0.3.14")
        self.hash_is_text = not since("0.3.3")
        self.hash_format = "x" if since("0.3.6") else "d"
        self.hash_base = 16 if since("0.3.4") else 10  # 0.3.4 and 0.3.5 write decimal digits and read them in base 16
        self.tag_mark = "lmcache.tag." if not since("0.3.6") else ""  # without it, a tag that is read is dropped
        self.key_dtypes = KEY_DTYPES if since("0.3.14") else KEY_DTYPES | SHARED_KEY_DTYPES
        # Chunk hashes
        self.third = ((),) if since("0.4.1") else (None,) if since("0.3.4") else ()
        self.folds = since("0.4.6")
        self.cbor_names = {"sha256_cbor"} if since("0.3.9") else set()
        if not since("0.3.9") or since("0.3.9.post2"):
            self.cbor_names.add("sha256_cbor_64bit")


COMMANDS = {"PUT": 1, "GET": 2, "EXIST": 3, "LIST": 4, "HEALTH": 5}
CODES = {"SUCCESS": 200, "FAIL": 400}
FORMATS = ["UNDEFINED", "KV_2LTD", "KV_T2D", "KV_2TD", "BINARY", "BINARY_BUFFER", "KV_MLA_FMT", "EC_TD", "HS_TD"]
DTYPES = {None: 0, "float16": 2, "bfloat16": 3, "float32": 4, "float64": 5, "uint8": 6, "float8_e4m3fn": 7, "float8_e5m2": 8}
SIZES = {"float16": 2, "bfloat16": 2, "float32": 4, "float64": 8, "uint8": 1, "float8_e4m3fn": 1, "float8_e5m2": 1}
LOCATIONS = {None: 0, "LocalCPUBackend": 1, "LocalDiskBackend": 2}
KEY_DTYPES = {
    "float16": "half",
    "bfloat16": "bfloat16",
    "float32": "float",
    "float64": "double",
    "uint8": "uint8",
    "int8": "int8",
    "int16": "int16",
    "int32": "int32",
    "int64": "int64",
    "bool": "bool",
    "float8_e4m3fn": "fp8_e4m3fn",
    "float8_e4m3fnuz": "fp8_e4m3fnuz",
    "float8_e5m2": "fp8_e5m2",
    "float8_e5m2fnuz": "fp8_e5m2fnuz",
}
# Until 0.3.13 two dtypes share a name; whoever reads it gets the later of the two, as real servers do.
SHARED_KEY_DTYPES = {
    "float8_e4m3fn": "fp8_e4m3",
    "float8_e4m3fnuz": "fp8_e4m3",
    "float8_e5m2fnuz": "fp8_e5m2",
}
BINARY = ("BINARY", "BINARY_BUFFER")


def number_of(table, name, what):
    """The number of a name, which a caller gave."""
    if name not in table:
        raise refused(f"there is no {what} {name!r}")
    return table[name]


def name_of(table, number, what):
    """The name of a number, which came over the wire."""
    for name, known in table.items():
        if known == number:
            return name
    raise malformed(f"there is no {what} with the number {number}")


# --- Key strings


def format_key(release, key):
    """The key string; refused where nobody could read the same key back."""
    parts = [key["model"], str(key["world_size"]), str(key["worker_id"]), hash_text(release, key["chunk_hash"])]
    if release.has_engine:
        if key["fmt"] is None:
            raise refused(f"keys of {release.name} begin with fmt, and it is null")
        parts.insert(0, key["fmt"])
    if release.has_dtype:
        parts.append(number_of(release.key_dtypes, key["dtype"], "dtype of a key"))
    if key.get("layer") is not None:
        parts.append(str(key["layer"]))
    for name, value in key["tags"]:
        if not release.has_tags or "%" in name:
            raise refused(f"a key of {release.name} cannot carry the tag {name!r}")
        parts.append(f"{name}%{value}")
    if any("@" in part for part in parts):
        raise refused("'@' separates the parts of a key and cannot stand in one")
    return "@".join(parts)


def hash_text(release, chunk_hash):
    """The hash in a key; upper-case digits, leading zeros or a two's complement would be another key."""
    if release.hash_is_text and "text" in chunk_hash:
        return chunk_hash["text"]
    if not release.hash_is_text and "int" in chunk_hash:
        return format(int(chunk_hash["int"]), release.hash_format)
    if release.has_digests and chunk_hash.get("bytes"):
        return chunk_hash["bytes"]
    raise refused(f"keys of {release.name} have no place for such a hash: {chunk_hash}")


def parse_key(release, text, *, layers=True):
    """The key that a string names. Servers of some releases do not know layer keys: `layers` is False for those."""
    parts = text.split("@")
    if len(parts) < 4 + release.has_engine + release.has_dtype:
        raise malformed(f"the key {text!r} has too few parts for {release.name}")
    key = {"fmt": parts.pop(0) if release.has_engine else None, "model": parts.pop(0)}
    key["world_size"] = integer(parts.pop(0), 10)
    key["worker_id"] = integer(parts.pop(0), 10)
    digits = parts.pop(0)
    key["chunk_hash"] = {"text": digits} if release.hash_is_text else {"int": str(integer(digits, release.hash_base))}
    # Turned around, the table keeps the later of two dtypes with the same name, which is what we want.
    dtypes = {name: dtype for dtype, name in release.key_dtypes.items()}
    key["dtype"] = None
    if release.has_dtype:
        if parts[0] not in dtypes:
            raise malformed(f"the key has an unknown dtype {parts[0]!r}")
        key["dtype"] = dtypes[parts.pop(0)]
    key["layer"] = int(parts.pop(0)) if layers and parts and parts[0].isdecimal() else None
    tags = {}
    for part in parts:
        name, percent, value = part.partition("%")
        if not percent or not release.has_tags:
            raise malformed(f"{part!r} in the key is no tag of {release.name}")
        if name.startswith(release.tag_mark):
            tags[name.removeprefix(release.tag_mark)] = value
    key["tags"] = [list(tag) for tag in tags.items()]
    return key


def integer(text, base):
    """A number in a key."""
    try:
        return int(text, base)
    except ValueError:
        raise malformed(f"{text!r} in the key is no integer") from None


def any_key(release):
    """HEALTH and LIST are about no key, but a server parses the one in their header and closes if it cannot."""
    some_hash = {"text": "0"} if release.hash_is_text else {"int": "0"}
    named = {"model": "m", "world_size": 1, "worker_id": 0, "chunk_hash": some_hash, "dtype": "float16", "fmt": "vllm"}
    return format_key(release, {**named, "tags": []})


# --- Headers: little-endian int32 words, and behind those of a request the key in 150 bytes


@dataclass
class Description:
    """What a header says of a payload, as the names and numbers of the client protocol."""

    length: int
    format: str
    dtype: str | None
    shape: list
    location: str | None = None


# Requests without payload describe nothing, and the real client says it like this.
NOTHING = Description(0, "KV_2LTD", "float16", [0, 0, 0, 0])


def words(*numbers):
    """Numbers as they travel. struct checks the range; bytes wrapped around would describe another payload."""
    try:
        return struct.pack(f"<{len(numbers)}i", *numbers)
    except struct.error as error:
        raise refused(f"a number does not fit into 32 bits: {error}") from None


def wire_shape(release, shape):
    """Four dimensions."""
    if not (1 if release.short_shapes else 4) <= len(shape) <= 4:
        raise refused(f"{release.name} cannot express a shape of {len(shape)} dimensions")
    return [*shape, 0, 0, 0, 0][:4]


def caller_shape(release, form, dimensions):
    """The shape without its padding; the zeros behind the length of a BINARY are none."""
    shape = list(dimensions)
    while release.short_shapes and form not in BINARY and len(shape) > 1 and shape[-1] == 0:
        shape.pop()
    return shape


def format_number(release, name):
    if name not in release.formats:
        raise refused(f"{release.name} has no format {name!r}")
    return FORMATS.index(name)


def format_name(release, number):
    if not 0 <= number < len(release.formats):
        raise malformed(f"{release.name} has no format with the number {number}")
    return FORMATS[number]


def dtype_name(number):
    # 1 is another number of float16: nobody should write it, everybody must read it.
    return name_of(DTYPES, 2 if number == 1 else number, "dtype")


def encode_request(release, command, key, about):
    """A request header. `key` is a key string; its place is measured in bytes of UTF-8, not in characters."""
    field = key.encode()
    if len(field) > 150:
        raise refused(f"the key has {len(field)} bytes, and 150 is the most that a request can carry: {key}")
    first, location = _description_words(release, about)
    head = [COMMANDS[command], *first, *location, *wire_shape(release, about.shape)]
    return words(*head) + field.ljust(150)


def encode_reply(release, code, about):
    """A reply header. The location stands at the end here, and in the middle of a request."""
    first, location = _description_words(release, about)
    return words(number_of(CODES, code, "code"), *first, *wire_shape(release, about.shape), *location)


def _description_words(release, about):
    first = [about.length, format_number(release, about.format), number_of(DTYPES, about.dtype, "dtype")]
    location = number_of(LOCATIONS, about.location, "location")
    if location and not release.has_location:
        raise refused(f"headers of {release.name} carry no location")
    return first, [location] if release.has_location else []


def decode_request(release, header):
    """Command, key string and description."""
    if len(header) != release.request_size:
        raise malformed(f"a request header of {release.name} has {release.request_size} bytes, got {len(header)}")
    command, length, form, dtype, *rest = struct.unpack_from(f"<{len(header[:-150]) // 4}i", header)
    location = rest.pop(0) if release.has_location else 0
    try:
        key = header[-150:].decode().strip()
    except UnicodeDecodeError:
        raise malformed("the key is not UTF-8") from None
    return name_of(COMMANDS, command, "command"), key, _description(release, length, form, dtype, rest, location)


def decode_reply(release, header):
    """Code and description."""
    if len(header) != release.reply_size:
        raise malformed(f"a reply header of {release.name} has {release.reply_size} bytes, got {len(header)}")
    code, length, form, dtype, *rest = struct.unpack(f"<{len(header) // 4}i", header)
    location = rest.pop() if release.has_location else 0
    return name_of(CODES, code, "code"), _description(release, length, form, dtype, rest, location)


def _description(release, length, form, dtype, dimensions, location):
    form = format_name(release, form)
    shape = caller_shape(release, form, dimensions)
    return Description(length, form, dtype_name(dtype), shape, name_of(LOCATIONS, location, "location"))


def payload_size(expect):
    """How many bytes a value has that is what the caller expects."""
    if expect["format"] in BINARY:
        return expect["shape"][0]
    shape = list(expect["shape"])
    while len(shape) > 1 and shape[-1] == 0:
        shape.pop()
    return math.prod(shape) * number_of(SIZES, expect["dtype"], "size of dtype")


# --- Chunk hashes


def cbor(value):
    """Canonical CBOR of integers, bytes, None and tuples of those."""
    if value is None:
        return b"\xf6"
    if isinstance(value, bytes):
        return cbor_head(2, len(value)) + value
    if isinstance(value, tuple):
        return cbor_head(4, len(value)) + b"".join(map(cbor, value))
    magnitude, negative = (value, 0) if value >= 0 else (-1 - value, 1)
    if magnitude < 2**64:
        return cbor_head(negative, magnitude)
    return cbor_head(6, 2 + negative) + cbor(magnitude.to_bytes((magnitude.bit_length() + 7) // 8, "big"))


def cbor_head(major, number):
    """A type and a number, in as few bytes as possible."""
    if number < 24:
        return bytes([major << 5 | number])
    for code, size in ((24, 1), (25, 2), (26, 4), (27, 8)):
        if number < 256**size:
            return bytes([major << 5 | code]) + number.to_bytes(size, "big")
    raise AssertionError(number)


def link_function(release, algorithm, none_hash, returns):
    """The function that makes a hash of the previous one and a tuple of tokens."""
    if release.hash_is_text != (algorithm == "sha256_hex") or release.hash_is_text != ("text" in none_hash):
        raise UnsupportedError(f"lmcache {release.name} has no chain of {algorithm} that starts from {none_hash}")
    if algorithm == "sha256_hex":
        # The chain goes through the digits of a digest, not through its bytes.
        return lambda previous, tokens: hashlib.sha256(previous.encode() + struct.pack(f"<{len(tokens)}I", *tokens)).hexdigest()
    if algorithm == "builtin":
        if "bytes" in none_hash and not release.folds:
            raise UnsupportedError("Python's own hash of bytes differs from process to process")
        # Before CPython 3.12 hash(None) is an address: such keys of 0.3.4 to 0.3.15 hold in one process only, as real ones do.
        return lambda previous, tokens: hash((previous, tokens, *release.third))
    if algorithm in release.cbor_names:

        def link(previous, tokens):
            digest = hashlib.sha256(cbor((previous, tokens, *release.third))).digest()
            # Old versions of vLLM return the last 8 bytes as an integer, and there NONE_HASH is one as well.
            return digest if (returns or next(iter(none_hash))) == "bytes" else int.from_bytes(digest[-8:], "big")

        return link
    raise UnsupportedError(f"this client has no hash function {algorithm}, or the release does not know the name")


def chunk_keys(release, key, tokens, link, none_hash, chunk_size, save_unfull_chunk, skip):
    """The chunks of `tokens` as (start, end, key string)."""
    if chunk_size < 1 or skip < 0 or skip % chunk_size:
        raise refused(f"skip must be a multiple of chunk_size, got {skip} and {chunk_size}")

    def folded(value):
        return int.from_bytes(value[:8], "big") if release.folds and isinstance(value, bytes) else value

    kind, text = next(iter(none_hash.items()))
    previous = folded({"int": int, "bytes": bytes.fromhex, "text": str}[kind](text))
    for start in range(0, len(tokens), chunk_size):
        chunk = tuple(tokens[start : start + chunk_size])
        if len(chunk) < chunk_size and not save_unfull_chunk:
            return
        # Chunks that are skipped count as well: each hash depends on all tokens before it.
        previous = folded(link(previous, chunk))
        if start >= skip:
            yield start, start + len(chunk), format_key(release, {**key, "chunk_hash": as_hash(previous)})


def as_hash(value):
    """A hash as the contract writes it."""
    if isinstance(value, int):
        return {"int": str(value)}
    return {"bytes": value.hex()} if isinstance(value, bytes) else {"text": value}


# --- Layouts: chunks and paged memory are made of the same rows, in another order


def rows(form, dtype, paged_shape, slots):
    """The shape of the chunk, the bytes of paged memory and of a row, and where each row is: (in paged memory, in the chunk)."""
    latent = form == "KV_MLA_FMT"
    if form not in ("KV_2LTD", "KV_T2D", "KV_2TD", "KV_MLA_FMT") or len(paged_shape) != (4 if latent else 6):
        raise refused(f"{form} with a paged shape of {len(paged_shape)} dimensions is no layout of paged memory")
    layers, sides = paged_shape[0], 1 if latent else paged_shape[1]
    blocks, block_size, *row_shape = paged_shape[1 if latent else 2 :]
    hidden, tokens, capacity = math.prod(row_shape), len(slots), blocks * block_size
    if form in ("KV_T2D", "KV_2TD") and layers != 1:
        raise refused(f"{form} holds one layer, not {layers}")
    if any(not 0 <= slot < capacity for slot in slots):
        raise refused(f"there are {capacity} slots, numbered from 0")
    shape = {"KV_T2D": [tokens, 2, hidden], "KV_2TD": [2, tokens, hidden]}.get(form, [sides, layers, tokens, hidden])
    size = hidden * number_of(SIZES, dtype, "size of dtype")

    def places():
        for layer in range(layers):
            for side in range(sides):
                for token, slot in enumerate(slots):
                    in_chunk = token * 2 + side if form == "KV_T2D" else (side * layers + layer) * tokens + token
                    yield ((layer * sides + side) * capacity + slot) * size, in_chunk * size

    return shape, layers * sides * capacity * size, size, places()
