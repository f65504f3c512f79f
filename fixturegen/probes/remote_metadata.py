"""The prefix of stored values through the real ``RemoteMetadata``."""

import dataclasses

import torch
from contract import Inapplicable, from_bytes, from_dtype, to_bytes, to_dtype
from lmcache.v1 import protocol
from lmcache.v1.memory_management import MemoryFormat
from lmcache.v1.protocol import RemoteMetadata

GROUPED = any(field.name == "shapes" for field in dataclasses.fields(RemoteMetadata))


def prepare(groups):
    if GROUPED:
        protocol.init_remote_metadata_info(groups)
    elif groups != 1:
        raise Inapplicable("metadata of this release has one group")


def encode_metadata(args):
    prepare(len(args["groups"]))
    shapes = [torch.Size(group["shape"]) for group in args["groups"]]
    dtypes = [to_dtype(group["dtype"]) for group in args["groups"]]
    tensors = {"shapes": shapes, "dtypes": dtypes} if GROUPED else {"shape": shapes[0], "dtype": dtypes[0]}
    metadata = RemoteMetadata(length=args["length"], fmt=MemoryFormat[args["format"]], **tensors)
    return {"bytes": from_bytes(metadata.serialize())}


def decode_metadata(args):
    prepare(args["groups"])
    metadata = RemoteMetadata.deserialize(to_bytes(args["bytes"]))
    shapes = metadata.shapes if GROUPED else [metadata.shape]
    dtypes = metadata.dtypes if GROUPED else [metadata.dtype]
    groups = [{"dtype": from_dtype(dtype), "shape": list(shape)} for dtype, shape in zip(dtypes, shapes, strict=True)]
    return {"length": metadata.length, "format": metadata.fmt.name, "groups": groups}


OPERATIONS = {
    "encode_metadata": ("lmcache.v1.protocol.RemoteMetadata.serialize", encode_metadata),
    "decode_metadata": ("lmcache.v1.protocol.RemoteMetadata.deserialize", decode_metadata),
}
