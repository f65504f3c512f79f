"""Values of the harness to real objects and back: keys, chunks, payloads that may lie in a file, exceptions."""

import dataclasses
import traceback
from pathlib import Path

import keys
import torch
from contract import from_dtype, to_dtype
from lmcache.v1.memory_management import BytesBufferMemoryObj, MemoryFormat

INLINE = 1 << 16
"""Payloads beyond so many bytes go through files."""
MOST_WORDS = 500
"""Characters of the text of a value or an exception that are told."""


class Payloads:
    def __init__(self, folder):
        self.folder = Path(folder)
        self.number = 0

    def taken(self, value):
        return bytes.fromhex(value["hex"]) if "hex" in value else Path(value["file"]).read_bytes()

    def left(self, data):
        data = bytes(data)
        if len(data) <= INLINE:
            return {"hex": data.hex()}
        self.number += 1
        path = self.folder / f"answer-{self.number}"
        path.write_bytes(data)
        return {"file": str(path)}


FIELDS = {field.name for field in dataclasses.fields(keys.CacheEngineKey)}
"""What keys of this release are made of."""


def key_of(value):
    """A key; parts that this release does not have are left out."""
    return keys.build(
        {
            **value,
            "layer": None,
            "fmt": "vllm" if "fmt" in FIELDS else None,
            "dtype": value["dtype"] if "dtype" in FIELDS else None,
            "tags": value["tags"] if "request_configs" in FIELDS else [],
        }
    )


def bytes_of(memory_object):
    return bytes(memoryview(memory_object.byte_array).cast("B"))


def chunk_object(local, chunk, payload):
    """A memory object of the pool, filled, as an engine has it before it stores."""
    fmt, shape, dtype = MemoryFormat[chunk["format"]], torch.Size(chunk["shape"]), to_dtype(chunk["dtype"])
    if fmt.name == "BINARY_BUFFER":
        return BytesBufferMemoryObj(payload)
    found = local.allocate(shape, dtype, fmt)
    if found is None:
        raise MemoryError(f"the pool has no {len(payload)} bytes left")
    memoryview(found.byte_array).cast("B")[:] = payload
    return found


def described(memory_object, payloads, watch):
    """What came back, and who owns it. Its caller gives it back afterwards."""
    parent = getattr(memory_object, "parent_allocator", None)
    return {
        "payload": payloads.left(bytes_of(memory_object)),
        "format": memory_object.get_memory_format().name,
        "dtype": from_dtype(memory_object.get_dtype()),
        "shape": [int(size) for size in memory_object.get_shape()],
        "references": memory_object.get_ref_count(),
        "from_pool": watch.has(memory_object) or (parent is None and isinstance(memory_object, BytesBufferMemoryObj)),
        "id": id(memory_object),
        "address": getattr(getattr(memory_object, "raw_data", None), "data_ptr", lambda: 0)(),
    }


def words(value, to_text=repr):
    """What a value looks like; a connector may answer one that cannot tell."""
    try:
        return to_text(value)[:MOST_WORDS]
    except Exception as error:
        return f"a {type(value).__name__} whose {to_text.__name__}() raises {type(error).__name__}"


def raised(error):
    """An exception by class, message and the place in the connector."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{Path(frames[-1].filename).name}:{frames[-1].lineno} {frames[-1].name}" if frames else ""
    causes, cause = [], error.__cause__
    while cause is not None:
        causes.append(f", because {type(cause).__name__}: {' '.join(words(cause, str).split())}")
        cause = cause.__cause__
    message = " ".join(words(error, str).split()) + "".join(causes)
    return {"class": type(error).__name__, "message": message, "place": place}


__all__ = ["Payloads", "bytes_of", "chunk_object", "described", "key_of", "raised", "words"]
