"""Capture how the installed lmcache turns paged K/V blocks into chunk bytes.

Run by the interpreter of a pinned environment, without arguments. Imports torch and the real lmcache
and nothing of this project. Writes one JSON object to stdout:

    topic        "lm.layout"
    lmcache      version of the installed package
    vectors      id, input (format, dtype, paged_shape, paged bytes, slots), output (shape, chunk bytes,
                 and ``unpacked``: the paged bytes after the real code loaded that chunk into zeroed blocks;
                 absent where it cannot)
    sources      per format: the lmcache callable that moved the bytes, what was replaced to run it on a CPU
                 (``stubs``: device scheduling of torch, or an empty ``lmcache.c_ops``), where the chunk shape came from
    unavailable  format, step (pack or unpack) and the measured reason; ``vectors`` where only those are missing,
                 else ``shape``: what the release says of a chunk that it cannot fill on a CPU

All bytes are little-endian, C order. A paged array is [layers, 2, blocks, block_size, heads, head_size];
for KV_MLA_FMT it is [layers, blocks, block_size, head_size]. KV_T2D and KV_2TD hold one layer per chunk.
Element k of a paged array is the number k + 1 (the one-byte word k + 1 for the float8 types), so every
element says where it came from and none looks like the zero fill.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import math
import os
import sys
import traceback
import types
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

KV_FORMATS = ("KV_2LTD", "KV_T2D", "KV_2TD")
ALL_FORMATS = (*KV_FORMATS, "KV_MLA_FMT")
WORD_DTYPES = frozenset({"float8_e4m3fn", "float8_e5m2"})


@dataclass(frozen=True)
class Case:
    """One paged array and the slots that one chunk takes from it."""

    format: str
    dtype: str
    name: str
    paged_shape: tuple[int, ...]
    slots: tuple[int, ...]

    @property
    def id(self) -> str:
        """The vector id, the same for the same input in every release."""
        slug = self.format.lower().replace("_", "-").removesuffix("-fmt")
        return f"lm.layout.{slug}.{self.dtype.replace('_', '-')}.{self.name}"

    @property
    def latent(self) -> bool:
        """One vector per token instead of a key and a value."""
        return self.format == "KV_MLA_FMT"

    @property
    def layers(self) -> int:
        """Layers of the paged array."""
        return self.paged_shape[0]

    @property
    def block_size(self) -> int:
        """Slots per block."""
        return self.paged_shape[2 if self.latent else 3]

    @property
    def pages(self) -> int:
        """Slots of one layer."""
        blocks = self.paged_shape[1 if self.latent else 2]
        return blocks * self.block_size

    @property
    def hidden(self) -> int:
        """Elements that one token has in one layer, of keys or of values."""
        return math.prod(self.paged_shape[3:] if self.latent else self.paged_shape[4:])


IN_ORDER = tuple(range(8))
PERMUTED = (5, 0, 7, 2, 1, 6, 3, 4)
GAPS = (1, 2, 6)
RANGE = (1, 2, 3, 4)


def cases() -> list[Case]:
    """Every case, in a fixed order; no array exceeds 255 elements, so k + 1 fits every dtype exactly."""
    whole, layer, odd, latent = (2, 2, 4, 2, 2, 3), (1, 2, 4, 2, 2, 3), (3, 2, 2, 3, 1, 5), (2, 4, 2, 8)
    found = [
        Case("KV_2LTD", "float16", "in-order", whole, IN_ORDER),
        Case("KV_2LTD", "float16", "permuted", whole, PERMUTED),
        Case("KV_2LTD", "float16", "gaps", whole, GAPS),
        Case("KV_2LTD", "float16", "range", whole, RANGE),
        Case("KV_2LTD", "float16", "one-token", whole, (3,)),
        Case("KV_2LTD", "float16", "odd-shape", odd, RANGE),
        Case("KV_2LTD", "bfloat16", "in-order", whole, IN_ORDER),
        Case("KV_2LTD", "bfloat16", "permuted", whole, PERMUTED),
        Case("KV_2LTD", "float32", "range", whole, RANGE),
        Case("KV_2LTD", "float32", "gaps", whole, GAPS),
        Case("KV_2LTD", "uint8", "range", whole, RANGE),
        Case("KV_2LTD", "uint8", "permuted", whole, PERMUTED),
        Case("KV_2LTD", "float8_e4m3fn", "range", whole, RANGE),
        Case("KV_2LTD", "float8_e5m2", "range", whole, RANGE),
    ]
    for name in ("KV_T2D", "KV_2TD"):
        found += [
            Case(name, "float16", "in-order", layer, IN_ORDER),
            Case(name, "float16", "permuted", layer, PERMUTED),
            Case(name, "float16", "one-token", layer, (3,)),
            Case(name, "bfloat16", "gaps", layer, GAPS),
            Case(name, "float32", "permuted", layer, PERMUTED),
            Case(name, "uint8", "range", layer, RANGE),
        ]
    found += [
        Case("KV_MLA_FMT", "float16", "in-order", latent, IN_ORDER),
        Case("KV_MLA_FMT", "float16", "permuted", latent, PERMUTED),
        Case("KV_MLA_FMT", "float16", "one-token", latent, (3,)),
        Case("KV_MLA_FMT", "float16", "odd-head-size", (2, 4, 2, 9), GAPS),
        Case("KV_MLA_FMT", "float16", "one-layer", (1, 4, 2, 8), PERMUTED),
        Case("KV_MLA_FMT", "bfloat16", "gaps", latent, GAPS),
        Case("KV_MLA_FMT", "float32", "range", latent, RANGE),
        Case("KV_MLA_FMT", "uint8", "permuted", latent, PERMUTED),
    ]
    return found


class Unavailable(Exception):
    """This release cannot do it on a CPU; the message is the measured reason."""


def describe(error: BaseException) -> str:
    """Name an exception, its message and the deepest lmcache frame, without line numbers of this script."""
    text = " ".join(str(error).split()) or "no message"
    frames = [
        f"{frame.filename.rpartition('/lmcache/')[2]}:{frame.name}"
        for frame in traceback.extract_tb(error.__traceback__)
        if "/lmcache/" in frame.filename
    ]
    where = f" in lmcache/{frames[-1]}" if frames else ""
    return f"{type(error).__name__}: {text}{where}"


@dataclass
class Lab:
    """torch, the real lmcache, and what had to be replaced to load it."""

    torch: Any
    memory: Any
    allocator: Any
    stubs: tuple[str, ...]
    kernels: str

    def dtype(self, case: Case) -> Any:
        """The torch dtype of a case."""
        found = getattr(self.torch, case.dtype, None)
        if found is None:
            raise Unavailable(f"torch {self.torch.__version__} has no dtype {case.dtype}")
        return found

    def paged(self, case: Case) -> list[Any]:
        """One contiguous tensor per layer."""
        count = math.prod(case.paged_shape)
        numbers = self.torch.arange(1, count + 1)
        wanted = self.dtype(case)
        whole = numbers.to(self.torch.uint8).view(wanted) if case.dtype in WORD_DTYPES else numbers.to(wanted)
        return [layer.clone() for layer in whole.view(case.paged_shape)]

    def zeroed(self, case: Case) -> list[Any]:
        """The same tensors, all zeros."""
        return [self.filled(layer, 0) for layer in self.paged(case)]

    def filled(self, tensor: Any, byte: int) -> Any:
        """The tensor itself, every byte set to ``byte``."""
        tensor.view(self.torch.uint8).fill_(byte)
        return tensor

    def raw(self, tensors: Sequence[Any]) -> bytes:
        """The bytes of the tensors, one after the other."""
        return b"".join(t.contiguous().view(self.torch.uint8).numpy().tobytes() for t in tensors)

    def chunk(self, case: Case, shape: Sequence[int], byte: int) -> Any:
        """A memory object of the real allocator, every byte set to ``byte``."""
        fmt = getattr(self.memory.MemoryFormat, case.format)
        found = self.allocator.allocate(self.torch.Size(shape), self.dtype(case), fmt=fmt)
        self.filled(found.tensor, byte)
        return found


def open_lab() -> Lab:
    """Import torch and lmcache; where lmcache insists on compiled kernels that do not load, they become an empty module."""
    torch: Any = importlib.import_module("torch")
    kernels = "lmcache.c_ops loads"
    stubs: tuple[str, ...] = ()
    try:
        if not any(not name.startswith("_") for name in vars(importlib.import_module("lmcache.c_ops"))):
            kernels = "lmcache.c_ops is an empty module of the environment"
            stubs = ("lmcache.c_ops",)
    except ImportError as error:
        kernels = f"lmcache.c_ops does not load ({describe(error)})"
    try:
        importlib.import_module("lmcache.v1.gpu_connector")
    except ImportError:
        if "lmcache.c_ops" in sys.modules:
            raise
        sys.modules["lmcache.c_ops"] = types.ModuleType("lmcache.c_ops")
        stubs = ("lmcache.c_ops",)
    memory = importlib.import_module("lmcache.v1.memory_management")
    owner = memory
    if not hasattr(owner, "AdHocMemoryAllocator"):
        owner = importlib.import_module("lmcache.v1.memory_allocators.ad_hoc_memory_allocator")
    return Lab(torch, memory, owner.AdHocMemoryAllocator(device="cpu"), stubs, kernels)


def importable(names: Sequence[str]) -> Iterator[Any]:
    """The modules among these that this release has, in order; one that is there but broken raises."""
    for name in names:
        try:
            yield importlib.import_module(name)
        except ModuleNotFoundError as error:
            if not name.startswith(error.name or "?"):
                raise


def module_of(names: Sequence[str]) -> Any:
    """The first of these modules that this release has."""
    for module in importable(names):
        return module
    raise Unavailable(f"this release has none of {', '.join(names)}")


def class_of(names: Sequence[str], wanted: str) -> Any:
    """A class, from the first of these modules that has it."""
    for module in importable(names):
        if hasattr(module, wanted):
            return getattr(module, wanted)
    raise Unavailable(f"this release has no {wanted}")


def attribute(module: Any, name: str) -> Any:
    """What a module calls ``name``; a release that lacks it is no error of the probe."""
    found = getattr(module, name, None)
    if found is None:
        label = getattr(module, "__name__", None) or type(module).__name__
        raise Unavailable(f"{label} has no {name}")
    return found


CONNECTOR_MODULES = ("lmcache.v1.gpu_connector.gpu_connectors", "lmcache.v1.gpu_connector")
FALLBACK_MODULES = ("lmcache.python_ops_fallback", "lmcache.non_cuda_equivalents")
XPU_MODULES = ("lmcache.v1.gpu_connector.xpu_connectors", "lmcache.v1.xpu_connector")
SHAPE_CLASSES = {
    "KV_2LTD": "VLLMPagedMemGPUConnectorV2",
    "KV_T2D": "VLLMPagedMemLayerwiseGPUConnector",
    "KV_2TD": "VLLMBufferLayerwiseGPUConnector",
    "KV_MLA_FMT": "VLLMPagedMemGPUConnectorV2",
}


def chunk_shape(format_name: str, layers: int, hidden: int, tokens: int) -> list[int]:
    """Ask the connector that owns the format; ``get_shape`` reads three attributes and touches no device."""
    found = class_of(CONNECTOR_MODULES, SHAPE_CLASSES[format_name])
    settings = types.SimpleNamespace(num_layers=layers, hidden_dim_size=hidden, use_mla=format_name == "KV_MLA_FMT")
    return [int(n) for n in found.get_shape(settings, tokens)]


class Mover:
    """Real code that moves bytes between paged layers and a chunk."""

    stubs: tuple[str, ...] = ()
    source = ""

    def move(self, case: Case, layers: list[Any], chunk: Any, *, storing: bool) -> None:
        """Paged blocks to chunk when storing, else chunk to paged blocks."""
        raise NotImplementedError


class TensorOps(Mover):
    """The package's own Python twin of its CUDA transfer kernels."""

    def __init__(self, lab: Lab, ops: Any, enums: Any, label: str, format_name: str) -> None:
        self.lab = lab
        self.multi = format_name in {"KV_2LTD", "KV_MLA_FMT"}
        name = "multi_layer_kv_transfer" if self.multi else "single_layer_kv_transfer"
        self.transfer = attribute(ops, name)
        self.direction = attribute(enums, "TransferDirection")
        formats = getattr(enums, "EngineKVFormat", None) or attribute(enums, "GPUKVFormat")
        self.engine_format = attribute(formats, "NL_X_NB_BS_HS" if format_name == "KV_MLA_FMT" else "NL_X_TWO_NB_BS_NH_HS")
        self.source = f"{label}.{name}"

    def move(self, case: Case, layers: list[Any], chunk: Any, *, storing: bool) -> None:
        """Call the op as the connectors do: several layers by address, one layer as a tensor."""
        torch = self.lab.torch
        slots = torch.tensor(case.slots, dtype=torch.int64)
        way = self.direction.D2H if storing else self.direction.H2D
        if self.multi:
            addresses = torch.tensor([layer.data_ptr() for layer in layers], dtype=torch.int64)
            place = (torch.device("cpu"), case.pages)
            self.transfer(chunk.tensor, addresses, slots, *place, way, self.engine_format, block_size=case.block_size)
        else:
            token_major = case.format == "KV_T2D"
            self.transfer(chunk.tensor, layers[0], slots, way, self.engine_format, token_major=token_major)


class XpuConnector(Mover):
    """The Intel connector of the releases where it was plain tensor indexing; only its final wait needs a GPU."""

    stubs = ("torch.xpu.synchronize",)

    def __init__(self, lab: Lab, format_name: str) -> None:
        self.kind = class_of(XPU_MODULES, "VLLMPagedMemXPUConnectorV2")
        if format_name not in {"KV_2LTD", "KV_MLA_FMT"}:
            raise Unavailable(f"{self.kind.__name__} writes KV_2LTD and KV_MLA_FMT only")
        self.lab = lab
        self.source = f"{self.kind.__module__}.{self.kind.__name__}.from_gpu"

    def move(self, case: Case, layers: list[Any], chunk: Any, *, storing: bool) -> None:
        """One call per chunk, with a slot for each of its tokens."""
        connector = self.kind(hidden_dim_size=case.hidden, num_layers=case.layers, use_mla=case.latent)
        slots = self.lab.torch.tensor(case.slots, dtype=self.lab.torch.int64)
        run = connector.from_gpu if storing else connector.to_gpu
        run(chunk, 0, len(case.slots), kvcaches=layers, slot_mapping=slots)


class NestedTupleConnector(Mover):
    """The connector for caches without blocks: it takes a token range, so only runs of consecutive slots fit it."""

    stubs = (
        "torch.cuda.Stream",
        "torch.cuda.stream",
        "torch.cuda.default_stream",
        "torch.Tensor.record_stream",
    )

    def __init__(self, _lab: Lab, format_name: str) -> None:
        self.kind = class_of(CONNECTOR_MODULES, "VLLMNestedTupleGPUConnector")
        if format_name != "KV_2LTD":
            raise Unavailable(f"{self.kind.__name__} writes KV_2LTD only")
        self.source = f"{self.kind.__module__}.{self.kind.__name__}.from_gpu"

    def move(self, case: Case, layers: list[Any], chunk: Any, *, storing: bool) -> None:
        """Blocks of one layer, seen end to end, are the tensor that this connector expects."""
        first, last = case.slots[0], case.slots[-1]
        if case.slots != tuple(range(first, last + 1)):
            raise Unavailable(f"{self.kind.__name__} takes a token range; these slots are not one run")
        heads = case.paged_shape[4:]
        caches = tuple((k.view(case.pages, *heads), v.view(case.pages, *heads)) for k, v in layers)
        connector = self.kind(case.hidden, case.layers)
        run = connector.from_gpu if storing else connector.to_gpu
        run(chunk, first, last + 1, kvcaches=caches)


class GpuConnector(Mover):
    """What the engine itself uses; it needs the compiled kernels, so here it mostly yields the reason why not."""

    stubs = (
        "torch.cuda.Stream",
        "torch.cuda.stream",
        "torch.cuda.current_stream",
        "torch.cuda.synchronize",
    )

    def __init__(self, lab: Lab, format_name: str) -> None:
        self.lab = lab
        self.kind = class_of(CONNECTOR_MODULES, SHAPE_CLASSES[format_name])
        self.layerwise = format_name in {"KV_T2D", "KV_2TD"}
        name = "batched_from_gpu" if self.layerwise else "from_gpu"
        self.source = f"{self.kind.__module__}.{self.kind.__name__}.{name}"

    def move(self, case: Case, layers: list[Any], chunk: Any, *, storing: bool) -> None:
        """Storing only; the layerwise connectors do it in a generator that yields once per layer."""
        if not storing:
            raise Unavailable(f"{self.source} was run in one direction only")
        slots = self.lab.torch.tensor(case.slots, dtype=self.lab.torch.int64)
        connector = self.kind(
            case.hidden,
            case.layers,
            use_gpu=self.layerwise,
            chunk_size=len(case.slots),
            dtype=self.lab.dtype(case),
            device=self.lab.torch.device("cpu"),
            use_mla=case.latent,
        )
        if not self.layerwise:
            connector.from_gpu(chunk, 0, len(case.slots), kvcaches=layers, slot_mapping=slots)
            return
        # The connector sizes its staging buffer by the paged cache, in units of a page; a toy cache would be too small.
        roomy = [self.lab.torch.cat([layer] * 256, dim=1) for layer in layers]
        steps = connector.batched_from_gpu([[chunk]], [0], [len(case.slots)], kvcaches=roomy, slot_mapping=slots, sync=True)
        for _ in steps:
            pass


class IdleStream:
    """Stands for a device stream where nothing is queued: a CPU copy is done when the call returns."""

    def wait_stream(self, stream: object) -> None:
        """Nothing to wait for."""

    def synchronize(self) -> None:
        """Nothing to wait for."""


@contextlib.contextmanager
def replaced(lab: Lab, names: Sequence[str]) -> Iterator[None]:
    """Replace device scheduling (never anything that moves bytes) while a mover runs."""

    def stream_of(*_args: object, **_kwargs: object) -> IdleStream:
        return IdleStream()

    def nothing(*_args: object, **_kwargs: object) -> None:
        return None

    def idle_context(*_args: object, **_kwargs: object) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()

    stand_ins: dict[str, Callable[..., object]] = {
        "Stream": stream_of,
        "default_stream": stream_of,
        "current_stream": stream_of,
        "stream": idle_context,
        "synchronize": nothing,
        "record_stream": nothing,
    }
    with contextlib.ExitStack() as undo:
        for name in names:
            path, _, leaf = name.removeprefix("torch.").rpartition(".")
            owner = getattr(lab.torch, path)
            undo.callback(setattr, owner, leaf, getattr(owner, leaf))
            setattr(owner, leaf, stand_ins[leaf])
        yield


def device_ops(lab: Lab, format_name: str) -> Mover:
    """The operations that recent releases resolve for a CPU."""
    ops = attribute(importlib.import_module("lmcache"), "device_ops")
    enums = importlib.import_module("lmcache.lmcache_native")
    return TensorOps(lab, ops, enums, f"{type(ops).__module__}.{type(ops).__name__}", format_name)


def fallback_ops(lab: Lab, format_name: str) -> Mover:
    """The module that stands in for ``lmcache.c_ops`` where no CUDA is."""
    ops = module_of(FALLBACK_MODULES)
    return TensorOps(lab, ops, ops, ops.__name__, format_name)


ROUTES: tuple[Callable[[Lab, str], Mover], ...] = (
    device_ops,
    fallback_ops,
    XpuConnector,
    NestedTupleConnector,
    GpuConnector,
)


def vector(lab: Lab, case: Case, mover: Mover) -> dict[str, Any]:
    """Run one case through the real code, both ways."""
    shape = chunk_shape(case.format, case.layers, case.hidden, len(case.slots))
    layers = lab.paged(case)
    before = lab.raw(layers)
    stored = []
    for byte in (0x00, 0xFF):
        chunk = lab.chunk(case, shape, byte)
        mover.move(case, layers, chunk, storing=True)
        stored.append(bytes(chunk.byte_array))
    if stored[0] != stored[1]:
        raise Unavailable(f"{mover.source} left bytes of the chunk unwritten")
    if lab.raw(layers) != before:
        raise Unavailable(f"{mover.source} changed the paged blocks while reading them")
    return {
        "id": case.id,
        "input": {
            "format": case.format,
            "dtype": case.dtype,
            "paged_shape": list(case.paged_shape),
            "paged": {"hex": before.hex()},
            "slots": list(case.slots),
        },
        "output": {
            "shape": [int(n) for n in chunk.tensor.shape],
            "bytes": {"hex": stored[0].hex()},
        },
    }


def unpacked(lab: Lab, case: Case, mover: Mover, chunk_hex: str) -> dict[str, str]:
    """Let the real code load a captured chunk into zeroed blocks."""
    chunk = lab.chunk(case, chunk_shape(case.format, case.layers, case.hidden, len(case.slots)), 0)
    words = lab.torch.frombuffer(bytearray.fromhex(chunk_hex), dtype=lab.torch.uint8)
    chunk.tensor.view(lab.torch.uint8).view(-1).copy_(words)
    target = lab.zeroed(case)
    mover.move(case, target, chunk, storing=False)
    return {"hex": lab.raw(target).hex()}


def choose(lab: Lab, format_name: str, trial: Case) -> Mover:
    """The first route that can run the trial case; otherwise Unavailable with the reason of each."""
    reasons = []
    for route in ROUTES:
        mover = None
        try:
            mover = route(lab, format_name)
            with replaced(lab, mover.stubs):
                vector(lab, trial, mover)
        except Unavailable as error:
            reasons.append(str(error))
        except Exception as error:
            label = mover.source if mover else route.__name__
            reasons.append(f"{label}: {describe(error)}")
        else:
            return mover
    raise Unavailable("; ".join(dict.fromkeys([*reasons, lab.kernels])))


def shape_only(format_name: str) -> dict[str, Any]:
    """What can still be learned without bytes: the shape of a three-token chunk."""
    try:
        shape = chunk_shape(format_name, layers=2, hidden=6, tokens=3)
    except Exception as error:
        return {"shape_reason": str(error) if isinstance(error, Unavailable) else describe(error)}
    return {"shape": {"layers": 2, "hidden": 6, "tokens": 3, "chunk": shape}}


def capture_format(lab: Lab, format_name: str, report: dict[str, Any]) -> None:
    """Add the vectors of one format to the report, or why there are none."""
    todo = [case for case in cases() if case.format == format_name]
    trial = next((case for case in todo if case.name == "in-order"), todo[0])
    try:
        mover = choose(lab, format_name, trial)
    except Unavailable as error:
        report["unavailable"].append({"format": format_name, "step": "pack", "reason": str(error), **shape_only(format_name)})
        return
    shape_source = class_of(CONNECTOR_MODULES, SHAPE_CLASSES[format_name])
    report["sources"].append(
        {
            "format": format_name,
            "callable": mover.source,
            "stubs": [*lab.stubs, *mover.stubs],
            "shape_from": f"{shape_source.__module__}.{shape_source.__name__}.get_shape",
        }
    )
    refused: dict[tuple[str, str], list[str]] = {}
    for case in todo:
        step = "pack"
        try:
            with replaced(lab, mover.stubs):
                found = vector(lab, case, mover)
                report["vectors"].append(found)
                step = "unpack"
                found["output"]["unpacked"] = unpacked(lab, case, mover, found["output"]["bytes"]["hex"])
        except Unavailable as error:
            refused.setdefault((step, str(error)), []).append(case.id)
        except Exception as error:
            refused.setdefault((step, describe(error)), []).append(case.id)
    for (step, reason), ids in refused.items():
        report["unavailable"].append({"format": format_name, "step": step, "reason": reason, "vectors": ids})


def capture() -> dict[str, Any]:
    """Everything this release can say; whatever breaks becomes a reason."""
    # With a GPU in sight the compiled kernels would be given CPU pointers.
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    os.environ["LMCACHE_TRACK_USAGE"] = "false"
    report: dict[str, Any] = {
        "topic": "lm.layout",
        "lmcache": None,
        "vectors": [],
        "sources": [],
        "unavailable": [],
    }
    if sys.byteorder != "little":
        reason = "captures need a little-endian machine: lmcache writes native byte order"
        report["unavailable"] = [{"format": name, "reason": reason} for name in ALL_FORMATS]
        return report
    try:
        lab = open_lab()
        report["lmcache"] = getattr(importlib.import_module("lmcache._version"), "__version__", None)
    except Exception as error:
        reason = describe(error)
        report["unavailable"] = [{"format": name, "reason": reason} for name in ALL_FORMATS]
        return report
    for name in ALL_FORMATS:
        try:
            capture_format(lab, name, report)
        except Exception as error:
            report["unavailable"].append({"format": name, "reason": describe(error)})
    return report


def main() -> None:
    """Capture, and write the one JSON object."""
    # lmcache logs to stdout in some releases, also from exit handlers: stdout stays turned away for good.
    answer = os.dup(1)
    os.dup2(2, 1)
    report = capture()
    with os.fdopen(answer, "w", encoding="utf-8") as out:
        json.dump(report, out, indent=1, sort_keys=True)
        out.write("\n")


if __name__ == "__main__":
    main()
