"""Values of the contract to and from values of the real lmcache.

In JSON a record is an object by field name, bytes are ``{"hex"}``, a KV tensor wrapper is ``{"ext": 1, "data": {"hex"}}``, and
``{"range": [a, b]}`` is the array of these integers.
"""

import dataclasses
import enum
import types
import typing

import msgspec
import schema
import torch
from lmcache.v1.multiprocess import custom_types

(WRAPPER_CONFIG,) = custom_types._CUSTOMERIZED_SERIALIZERS.values()


class Inapplicable(Exception):
    """The release has no such concept, so there is nothing to ask."""


def plain(value):
    """A value of the contract without its recipes."""
    if isinstance(value, dict):
        if set(value) == {"hex"}:
            return bytes.fromhex(value["hex"])
        if set(value) == {"range"}:
            return list(range(*value["range"]))
        return {name: plain(member) for name, member in value.items()}
    return [plain(member) for member in value] if isinstance(value, list) else value


def build(kind, value):
    """The real value of a type for a value of the contract; one that does not fit the type is passed on as it is."""
    if isinstance(value, dict) and set(value) == {"ext", "data"}:
        return WRAPPER_CONFIG.deserializer(bytes.fromhex(value["data"]["hex"]))
    if isinstance(value, dict) and set(value) in ({"hex"}, {"range"}):
        value = plain(value)
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        if value is None:
            return None
        (inner,) = (argument for argument in arguments if argument is not type(None))
        return build(inner, value)
    if origin in (list, tuple) and isinstance(value, list):
        if origin is list or arguments[1:] == (...,):
            return origin(build(arguments[0], member) for member in value)
        return tuple(build(argument, member) for argument, member in zip(arguments, value, strict=True))
    if origin is dict and isinstance(value, dict):
        return {build_key(arguments[0], name): build(arguments[1], member) for name, member in value.items()}
    if kind is torch.dtype and isinstance(value, str):
        return getattr(torch, value)
    if kind is torch.Size and isinstance(value, list):
        return torch.Size(value)
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return kind(value)
    if schema.is_named(kind) and isinstance(value, dict) and not typing.is_typeddict(kind):
        found = {name: member for name, member, _ in schema.fields(kind)}
        return kind(**{name: build(found[name], member) for name, member in value.items()})
    return plain(value)


def build_key(kind, name):
    return int(name) if kind is int else name


def describe(value):
    """The contract's form of a real value."""
    if isinstance(value, schema.WRAPPERS):
        return {"ext": WRAPPER_CONFIG.code, "data": {"hex": WRAPPER_CONFIG.serializer(value).hex()}}
    if isinstance(value, (bytes, bytearray, memoryview)):
        return {"hex": bytes(value).hex()}
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, torch.dtype):
        return str(value).removeprefix("torch.")
    if isinstance(value, (list, tuple)):
        return [describe(member) for member in value]
    if isinstance(value, dict):
        return {str(name): describe(member) for name, member in value.items()}
    if isinstance(value, msgspec.Struct) or dataclasses.is_dataclass(value):
        return {name: describe(getattr(value, name)) for name, _, _ in schema.fields(type(value))}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(f"the contract has no form for a {type(value).__name__}")
