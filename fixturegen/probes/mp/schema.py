"""Types of payloads and results as short texts, and the records, maps and enumerations behind their names.

The texts: ``int``, ``bool``, ``str``, ``bytes``, ``float``; ``map`` and ``any``; ``ext`` for a KV tensor wrapper; ``T?`` a T or
nil, ``[T]`` an array of T, ``(T, U)`` an array of exactly these, ``{T: U}`` a map; and names of records and enumerations.
"""

import dataclasses
import enum
import types
import typing

import msgspec
import torch
from lmcache.v1.multiprocess import custom_types
from table import operations

WRAPPERS = tuple(
    cls for name in ("DeviceIPCWrapper", "CudaIPCWrapper") if isinstance(cls := getattr(custom_types, name, None), type)
)
SCALARS = {int: "int", bool: "bool", str: "str", bytes: "bytes", float: "float", dict: "map", typing.Any: "any", object: "any"}
SENT_AS = {torch.dtype: "str", torch.Size: "[int]"}
"""Classes that the real encoders turn into plain values by a hook."""


def type_text(kind):
    if kind in SCALARS:
        return SCALARS[kind]
    if kind in SENT_AS:
        return SENT_AS[kind]
    if isinstance(kind, type) and issubclass(kind, WRAPPERS):
        return "ext"
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is None:
        return kind.__name__
    if origin in (typing.Union, types.UnionType):
        inner = [argument for argument in arguments if argument is not type(None)]
        if len(inner) != 1 or len(arguments) != 2:
            raise TypeError(f"no text for the union {kind!r}")
        return f"{type_text(inner[0])}?"
    if origin is list or (origin is tuple and arguments[1:] == (...,)):
        return f"[{type_text(arguments[0])}]"
    if origin is tuple:
        return f"({', '.join(map(type_text, arguments))})"
    if origin is dict:
        if all(argument is typing.Any for argument in arguments[1:]):
            return "map"
        return f"{{{type_text(arguments[0])}: {type_text(arguments[1])}}}"
    if origin in (typing.Annotated, typing.NotRequired, typing.Required):
        return type_text(arguments[0])
    if origin is typing.Literal:
        return type_text(type(arguments[0]))
    raise TypeError(f"no text for the type {kind!r}")


def named_classes():
    """Every class with a name that occurs in payloads and results, in the order in which they are met."""
    found, left = {}, []
    for operation in operations():
        left += [*operation.payloads, operation.response]
    while left:
        kind = left.pop(0)
        left[:0] = typing.get_args(kind)
        if is_named(kind) and kind.__name__ not in found:
            found[kind.__name__] = kind
            left += [] if issubclass(kind, enum.Enum) else list(hints(kind).values())
    return found


def is_named(kind):
    if not isinstance(kind, type) or typing.get_origin(kind) is not None or issubclass(kind, WRAPPERS) or kind in SENT_AS:
        return False
    return dataclasses.is_dataclass(kind) or issubclass(kind, (msgspec.Struct, enum.Enum)) or typing.is_typeddict(kind)


def hints(kind):
    return typing.get_type_hints(kind, include_extras=True)


def fields(kind):
    """Name, type and default (or dataclasses.MISSING) of each field of a dataclass or a struct, in order."""
    found = hints(kind)
    if issubclass(kind, msgspec.Struct):
        return [(field.encode_name, found[field.name], struct_default(field)) for field in msgspec.structs.fields(kind)]
    return [(field.name, found[field.name], dataclass_default(field)) for field in dataclasses.fields(kind)]


def struct_default(field):
    if field.default is not msgspec.NODEFAULT:
        return field.default
    return dataclasses.MISSING if field.default_factory is msgspec.NODEFAULT else field.default_factory()


def dataclass_default(field):
    if field.default is not dataclasses.MISSING or field.default_factory is dataclasses.MISSING:
        return field.default
    return field.default_factory()
