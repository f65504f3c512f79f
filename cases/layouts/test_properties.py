"""Properties of packing: what is packed is unpacked as it was."""

import math

from hypothesis import given
from hypothesis import strategies as st

from harness.captures import patterned
from harness.case import case, parameters
from harness.examples import Examples
from harness.judge import Judge
from harness.subject import Subject

FORMATS = ("KV_2LTD", "KV_T2D", "KV_2TD", "KV_MLA_FMT")


@case("LAY-004", "LAY-005", needs=("pack_layout", "unpack_layout"), variants=parameters(*FORMATS))
def test_round_trip(client: Subject, judge: Judge, vector: str, examples: Examples) -> None:
    """Tokens that a client packs and unpacks stand in their slots again, and the other slots are zero."""

    @examples
    @given(st.data())
    def check(data: st.DataObject) -> None:
        layers = 1 if vector in {"KV_T2D", "KV_2TD"} else data.draw(st.integers(1, 3))
        blocks, size, heads, head = (data.draw(st.integers(1, 3)) for _ in range(4))
        shape = [layers, blocks, size, head] if vector == "KV_MLA_FMT" else [layers, 2, blocks, size, heads, head]
        slots = data.draw(st.permutations(range(blocks * size)))[: data.draw(st.integers(1, blocks * size))]
        paged = patterned(layers + blocks, 2 * math.prod(shape))
        common = {"format": vector, "dtype": "float16", "slots": list(slots), "paged_shape": shape}
        packed = client.ok("pack_layout", paged=paged, **common)
        got = client.ok("unpack_layout", bytes=packed["bytes"], shape=packed["shape"], **common)["paged"]
        judge.same_bytes(kept(paged, shape, slots), got, what="the paged memory", source="what this case packed")

    check()


def kept(paged: bytes, shape: list[int], slots: list[int]) -> bytes:
    """The paged memory with zeros in every slot that is not named."""
    outer = math.prod(shape[:-4]) if len(shape) == 6 else shape[0]
    token = 2 * math.prod(shape[-2:] if len(shape) == 6 else shape[-1:])
    slots_of_all = shape[-4] * shape[-3] if len(shape) == 6 else shape[1] * shape[2]
    rows = [paged[start : start + token] for start in range(0, len(paged), token)]
    assert len(rows) == outer * slots_of_all
    wanted = set(slots)
    return b"".join(row if index % slots_of_all in wanted else bytes(token) for index, row in enumerate(rows))
