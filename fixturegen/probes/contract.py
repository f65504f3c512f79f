"""Values of the client contract to and from values of the real lmcache."""

import torch


class Inapplicable(Exception):
    """The release has no such concept, so there is nothing to ask."""


def to_bytes(value):
    return bytes.fromhex(value["hex"])


def from_bytes(value):
    return {"hex": bytes(value).hex()}


def to_dtype(name):
    return None if name is None else getattr(torch, name)


def from_dtype(dtype):
    return None if dtype is None else str(dtype).removeprefix("torch.")


def to_hash(value):
    if "int" in value:
        return int(value["int"])
    if "bytes" in value:
        return bytes.fromhex(value["bytes"])
    return value["text"]


def from_hash(value):
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if isinstance(value, int):
        return {"int": str(value)}
    return {"text": value}
