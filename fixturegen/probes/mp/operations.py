"""The operation table and the records, read off the real classes."""

import dataclasses
import enum
import typing

import msgspec
import schema
from table import SOURCE, aliases, handler, operations, retired
from values import describe


def mp_operations(args):
    del args
    found = {
        "operations": [
            {
                "name": operation.name,
                "wire": operation.wire,
                "payloads": [schema.type_text(kind) for kind in operation.payloads],
                "response": None if operation.response is None else schema.type_text(operation.response),
                "handler": handler(operation),
                **({"streaming": True} if operation.streaming else {}),
            }
            for operation in operations()
        ]
    }
    return {**found, "aliases": aliases(), "retired": retired()}


def mp_records(args):
    del args
    records, maps, enumerations = {}, {}, {}
    for name, kind in schema.named_classes().items():
        if issubclass(kind, enum.Enum):
            enumerations[name] = [member.value for member in kind]
        elif typing.is_typeddict(kind):
            maps[name] = [
                {"field": field, "type": schema.type_text(hint), "required": field in kind.__required_keys__, **choices(hint)}
                for field, hint in schema.hints(kind).items()
            ]
        else:
            records[name] = [
                {"field": field, "type": schema.type_text(hint), **default_of(default)}
                for field, hint, default in schema.fields(kind)
            ]
            if issubclass(kind, msgspec.Struct):
                require_plain_struct(kind)
    return {"records": records, "maps": maps, "enumerations": enumerations}


def choices(hint):
    """The values of a field that may hold only some."""
    while typing.get_origin(hint) in (typing.NotRequired, typing.Required, typing.Annotated):
        hint = typing.get_args(hint)[0]
    return {"values": list(typing.get_args(hint))} if typing.get_origin(hint) is typing.Literal else {}


def default_of(default):
    return {"required": True} if default is dataclasses.MISSING else {"default": describe(default)}


def require_plain_struct(kind):
    """Structs can be arrays, tagged, or picky about members; the records of the protocol are none of it."""
    config = kind.__struct_config__
    if config.array_like or config.tag is not None or config.forbid_unknown_fields or config.omit_defaults:
        raise TypeError(f"{kind.__name__} is a struct of a special kind: {config}")


OPERATIONS = {
    "mp_operations": (SOURCE, mp_operations),
    "mp_records": ("lmcache.v1.multiprocess.custom_types", mp_records),
}
