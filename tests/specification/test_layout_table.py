"""The published axes put the elements of paged memory where every release puts them."""

import numpy as np
from specification_reader import RELEASES, captured, tables

AXES = {"2": "kv", "1": "kv", "layers": "layer", "tokens": "token", "hidden": "hidden", "head_size": "hidden"}


def element_size(dtype):
    rows = tables("layouts.md", "Axes")[1]
    (size,) = {int(row["bytes of an element, little-endian"]) for row in rows if dtype in row["dtypes"].split(", ")}
    return size


def chunk_of(args):
    """The bytes of a chunk by the published shape and the published paged memory."""
    (row,) = [row for row in tables("layouts.md", "Axes")[0] if row["format"] == args["format"]]
    shape = row["shape of a chunk, the outermost axis first"].strip("[]").split(", ")
    paged = row["cut from paged memory"].strip("[]").split(", ")
    sizes = dict(zip(paged, args["paged_shape"], strict=True))
    memory = np.frombuffer(bytes.fromhex(args["paged"]["hex"]), dtype=f"V{element_size(args['dtype'])}")
    hidden = sizes.get("heads", 1) * sizes["head_size"]
    flat = memory.reshape(sizes["layers"], sizes.get("2", 1), sizes["blocks"] * sizes["block_size"], hidden)
    taken = flat[:, :, args["slots"]]
    order = ["layer", "kv", "token", "hidden"]
    wanted = [AXES[name] for name in shape]
    missing = [order.index(axis) for axis in order if axis not in wanted]
    return taken.transpose([*missing, *(order.index(axis) for axis in wanted)]).tobytes()


def test_the_published_axes_make_the_bytes_of_every_chunk():
    made = 0
    for release in RELEASES:
        for vector in captured(release, "pack_layout"):
            if "ok" in vector:
                assert chunk_of(vector["args"]).hex() == vector["ok"]["bytes"]["hex"], (release, vector["id"])
                made += 1
    assert made > 500
