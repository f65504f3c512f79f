"""Calls of the gRPC transport, with the messages that ship in the wheel."""

import importlib
import pkgutil

HOME = "lmcache.v1.multiprocess.transport.grpc_impl._proto_gen"
PACKAGE = "lmcache.mp"
TIMEOUT = 30


def grpc_calls(args):
    """Make calls one after another; the outcome of each has the bytes of the request and of the answer, or its status."""
    import grpc

    methods = described()
    with grpc.insecure_channel(args["target"]) as channel:
        return {"outcomes": [call(channel, methods, asked) for asked in args["calls"]]}


def described():
    """Path of every method to its descriptor."""
    package = importlib.import_module(HOME)
    found = {}
    for module in pkgutil.iter_modules(package.__path__):
        if module.name.endswith("_service_pb2"):
            services = importlib.import_module(f"{HOME}.{module.name}").DESCRIPTOR.services_by_name
            for service in services.values():
                for method in service.methods:
                    found[f"/{service.full_name}/{method.name}"] = method
    return found


def call(channel, methods, asked):
    import grpc
    from google.protobuf import json_format, message_factory

    path = f"/{PACKAGE}.{asked['method']}"
    method = methods.get(path)
    if "hex" in asked["request"]:
        request = bytes.fromhex(asked["request"]["hex"])
    else:
        message = message_factory.GetMessageClass(method.input_type)()
        request = json_format.ParseDict(asked["request"], message).SerializeToString(deterministic=True)
    try:
        answer = channel.unary_unary(path)(request, timeout=TIMEOUT)
    except grpc.RpcError as error:
        return {"request": request.hex(), "error": {"type": error.code().name, "message": error.details()}}
    fields = json_format.MessageToDict(
        message_factory.GetMessageClass(method.output_type).FromString(answer),
        preserving_proto_field_name=True,
        always_print_fields_with_no_presence=True,
    )
    return {"request": request.hex(), "ok": {"response": {"hex": answer.hex()}, "fields": fields}}


OPERATIONS = {"mp_grpc_calls": ("lmcache.v1.multiprocess.transport.grpc_impl", grpc_calls)}
