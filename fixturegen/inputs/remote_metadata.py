"""Questions about RemoteMetadata, with one to three groups."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

from fixturegen.inputs.frames import SHAPES
from wire.lm.enums import DTYPES, FORMATS
from wire.release import Release

PAIRS = (("float16", "kv"), ("bfloat16", "rank3"), ("uint8", "binary"), ("float32", "inner-zero"), (None, "zeros"))


def questions(release: Release) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Each format and dtype with one group, then two and three groups; decoding of the same and of broken bytes."""
    del release
    for format_name in FORMATS:
        name = format_name.lower().replace("_", "-")
        yield _encode(f"one-{name}", 4096, format_name, [("bfloat16", "kv")])
    for dtype in DTYPES:
        yield _encode(f"one-{str(dtype).lower().replace('_', '-')}", 1, "KV_2LTD", [(dtype, "ones")])
    for shape in SHAPES:
        yield _encode(f"one-shape-{shape}", 0, "KV_2LTD", [("float16", shape)])
        yield _encode(f"one-binary-shape-{shape}", 0, "BINARY", [("uint8", shape)])
    for count in (2, 3):
        for start in range(len(PAIRS)):
            groups = [PAIRS[(start + index) % len(PAIRS)] for index in range(count)]
            yield _encode(f"groups{count}-{start}", 33554432, "KV_2LTD", groups)
    for count in (1, 2, 3):
        for name, value in _raw(count).items():
            yield f"lm.metadata.decode.groups{count}-{name}", "decode_metadata", {"bytes": {"hex": value.hex()}, "groups": count}


def _encode(name: str, length: int, format_name: str, groups: list[tuple[Any, str]]) -> tuple[str, str, dict[str, Any]]:
    described = [{"dtype": dtype, "shape": list(SHAPES[shape])} for dtype, shape in groups]
    return f"lm.metadata.encode.{name}", "encode_metadata", {"length": length, "format": format_name, "groups": described}


def _raw(count: int) -> dict[str, bytes]:
    group = (2, 2, 4, 16, 64)
    stripped = (6, 4096, 0, 0, 0)
    good = struct.pack(f"<{2 + 5 * count}i", 4096, 1, *(group * count))
    return {
        "plain": good,
        "half": struct.pack(f"<{2 + 5 * count}i", 4096, 1, *((1, *group[1:]) * count)),
        "trailing-zeros": struct.pack(f"<{2 + 5 * count}i", 4096, 1, *(stripped * count)),
        "binary": struct.pack(f"<{2 + 5 * count}i", 4096, 4, *(stripped * count)),
        "bytes-behind": good + b"payload",
        "cut": good[:-1],
        "bad-format": struct.pack(f"<{2 + 5 * count}i", 4096, 99, *(group * count)),
        "bad-dtype": struct.pack(f"<{2 + 5 * count}i", 4096, 1, *((9, *group[1:]) * count)),
    }
