"""Request and reply headers through the real ``ClientMetaMessage`` and ``ServerMetaMessage``."""

import dataclasses

import keys
import torch
from contract import Inapplicable, from_bytes, from_dtype, to_bytes, to_dtype
from lmcache.v1 import protocol
from lmcache.v1.memory_management import MemoryFormat
from lmcache.v1.protocol import ClientMetaMessage, ServerMetaMessage

CONSTANTS = getattr(protocol, "Constants", None)


def command(name):
    return getattr(CONSTANTS, f"CLIENT_{name}") if CONSTANTS else protocol.ClientCommand[name]


def command_name(value):
    return named(value, "CLIENT_", getattr(protocol, "ClientCommand", None))


def code(name):
    return getattr(CONSTANTS, f"SERVER_{name}") if CONSTANTS else protocol.ServerReturnCode[name]


def code_name(value):
    return named(value, "SERVER_", getattr(protocol, "ServerReturnCode", None))


def named(value, prefix, enum):
    if enum is not None:
        return value.name
    for name, number in vars(CONSTANTS).items():
        if name.startswith(prefix) and number == value:
            return name.removeprefix(prefix)
    return value  # releases with plain constants hand unknown numbers on


def location(cls, args):
    if any(field.name == "location" for field in dataclasses.fields(cls)):
        return {"location": args["location"]}
    if args["location"] is not None:
        raise Inapplicable("headers of this release have no location")
    return {}


def description(message):
    return {
        "length": message.length,
        "format": message.fmt.name,
        "dtype": from_dtype(message.dtype),
        "shape": list(message.shape),
        "location": getattr(message, "location", None),
    }


def about(cls, args):
    return {
        "length": args["length"],
        "fmt": MemoryFormat[args["format"]],
        "dtype": to_dtype(args["dtype"]),
        "shape": torch.Size(args["shape"]),
        **location(cls, args),
    }


def encode_request(args):
    message = ClientMetaMessage(command=command(args["command"]), key=keys.build(args["key"]), **about(ClientMetaMessage, args))
    return {"bytes": from_bytes(message.serialize())}


def decode_request(args):
    message = ClientMetaMessage.deserialize(to_bytes(args["bytes"]))
    return {"command": command_name(message.command), "key": keys.describe(message.key), **description(message)}


def encode_reply(args):
    message = ServerMetaMessage(code=code(args["code"]), **about(ServerMetaMessage, args))
    return {"bytes": from_bytes(message.serialize())}


def decode_reply(args):
    message = ServerMetaMessage.deserialize(to_bytes(args["bytes"]))
    return {"code": code_name(message.code), **description(message)}


OPERATIONS = {
    "encode_request": ("lmcache.v1.protocol.ClientMetaMessage.serialize", encode_request),
    "decode_request": ("lmcache.v1.protocol.ClientMetaMessage.deserialize", decode_request),
    "encode_reply": ("lmcache.v1.protocol.ServerMetaMessage.serialize", encode_reply),
    "decode_reply": ("lmcache.v1.protocol.ServerMetaMessage.deserialize", decode_reply),
}
