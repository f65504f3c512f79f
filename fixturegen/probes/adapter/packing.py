"""Chunk bytes from paged K/V and back, with the code of the release that the captures of layouts used."""

import layouts
from contract import Inapplicable

LAB = layouts.open_lab()
MOVERS = {}


def mover_of(format_name):
    """What moves the bytes of a format in this release; a trial decides, once."""
    if format_name not in layouts.ALL_FORMATS:
        raise Inapplicable(f"no layout of {format_name}")
    if format_name not in MOVERS:
        todo = [case for case in layouts.cases() if case.format == format_name]
        trial = next((case for case in todo if case.name == "in-order"), todo[0])
        MOVERS[format_name] = layouts.choose(LAB, format_name, trial)
    return MOVERS[format_name]


def case_of(args):
    shape, slots = tuple(args["paged_shape"]), tuple(args["slots"])
    return layouts.Case(args["format"], args["dtype"], "asked", shape, slots)


def paged_layers(case, data):
    """One tensor a layer, with these bytes."""
    layers = LAB.zeroed(case)
    size = len(data) // len(layers)
    for number, layer in enumerate(layers):
        part = bytearray(data[number * size : (number + 1) * size])
        layer.view(LAB.torch.uint8).view(-1).copy_(LAB.torch.frombuffer(part, dtype=LAB.torch.uint8))
    return layers


def pack_layout(args):
    case, mover = case_of(args), mover_of(args["format"])
    chunk = LAB.chunk(case, layouts.chunk_shape(case.format, case.layers, case.hidden, len(case.slots)), 0)
    layers = paged_layers(case, bytes.fromhex(args["paged"]["hex"]))
    with layouts.replaced(LAB, mover.stubs):
        mover.move(case, layers, chunk, storing=True)
    return {"bytes": {"hex": bytes(chunk.byte_array).hex()}, "shape": [int(size) for size in chunk.tensor.shape]}


def unpack_layout(args):
    case, mover = case_of(args), mover_of(args["format"])
    with layouts.replaced(LAB, mover.stubs):
        return {"paged": layouts.unpacked(LAB, case, mover, args["bytes"]["hex"])}
