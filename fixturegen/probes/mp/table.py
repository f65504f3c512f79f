"""The real operation table, whatever shape the release gives it: an enumeration until 0.5.5, client methods from 0.5.6 on."""

import functools
import importlib
import inspect
import pkgutil
from dataclasses import dataclass
from typing import Any

try:
    from lmcache.v1.multiprocess import rpc
except ImportError:
    rpc = None

if rpc is None:
    from lmcache.v1.multiprocess import mq, protocol
else:
    from lmcache.v1.multiprocess.transport.zmq_impl import mq, wire

SOURCE = "lmcache.v1.multiprocess.protocol.RequestType" if rpc is None else "lmcache.v1.multiprocess.rpc.get_rpc_specs"
MQ_SOURCE = mq.__name__


@dataclass(frozen=True)
class Operation:
    name: str
    wire: int | str
    upstream: Any
    """What the real functions take for it: a member of the enumeration, or a name."""
    payloads: tuple
    response: Any
    streaming: bool


def operations():
    """Every operation, in the order in which upstream has them."""
    if rpc is None:
        return [
            Operation(
                member.name,
                member.value,
                member,
                tuple(protocol.get_payload_classes(member)),
                protocol.get_response_class(member),
                False,
            )
            for member in protocol.RequestType
        ]
    return [
        Operation(
            name.upper(),
            wire.LEGACY_OPERATION_IDS.get(name, name),
            name,
            spec.payload_types,
            None if spec.response_type is type(None) else spec.response_type,
            spec.streaming,
        )
        for name, spec in rpc.get_rpc_specs().items()
    ]


def aliases():
    """Other names of members: alias to name."""
    if rpc is None:
        return {name: member.name for name, member in protocol.RequestType.__members__.items() if name != member.name}
    return {}


def handler(operation):
    """How the server runs it: SYNC in the message thread, BLOCKING in a pool. None where no definition says so."""
    if rpc is None:
        return protocol.get_handler_type(operation.upstream).name
    return declared_handlers().get(operation.upstream)


@functools.cache
def declared_handlers():
    """Of the newer releases: operation to the kind of handler that an engine module declares for it."""
    from lmcache.v1.multiprocess import ext_server_module, modules
    from lmcache.v1.multiprocess.request_handler import get_request_handler_options

    inner = pkgutil.walk_packages(modules.__path__, f"{modules.__name__}.")
    homes = [ext_server_module, *(importlib.import_module(module.name) for module in inner)]
    found = {}
    for home in homes:
        for _, cls in inspect.getmembers(home, inspect.isclass):
            for name, method in inspect.getmembers(cls, callable):
                options = get_request_handler_options(method)
                if options is not None:
                    found[options.operation or name] = options.handler_type.name
    return found


def retired():
    """Numbers that stand for nothing any more."""
    if rpc is None:
        return []
    used = set(wire.LEGACY_OPERATION_IDS.values())
    return [number for number in range(1, max(used)) if number not in used]


BY_NAME = {operation.name: operation for operation in operations()}
