"""Storing and retrieving: the bytes, the places, what is there already, what was never committed, and who else is there."""

from dataclasses import dataclass
from itertools import pairwise

from harness.case import SERVERS, case, parameters
from harness.judge import Judge
from harness.mp.benches import Bench, require_pickles, require_shared
from harness.mp.peer import SLOTS
from harness.mp.targets import MpTarget
from harness.mp.witness import judged, new_instance
from wire.release import Release

DATA = "0.4.6 and later"
SHARED = "0.4.7 and later"


@dataclass(frozen=True)
class Shape:
    """How many chunks of which layout."""

    name: str
    chunks: int
    num_layers: int = 2
    hidden_dim_size: int = 8
    dtype: str = "float16"
    use_mla: bool = False

    def layout(self) -> dict[str, object]:
        """What a registration says of it."""
        return {
            "num_layers": self.num_layers,
            "hidden_dim_size": self.hidden_dim_size,
            "dtype": self.dtype,
            "use_mla": self.use_mla,
        }


SHAPES = (
    Shape("smallest", 1, num_layers=1, hidden_dim_size=1, dtype="uint8", use_mla=True),
    Shape("uneven", 3, num_layers=3, hidden_dim_size=5),
    Shape("page", 2, num_layers=4, hidden_dim_size=16, dtype="float32", use_mla=True),
    Shape("bfloat16", 4, num_layers=2, hidden_dim_size=64, dtype="bfloat16"),
    Shape("many", 200, num_layers=1, hidden_dim_size=2),
    Shape("large", 3, num_layers=16, hidden_dim_size=2048),
)
IN_PICKLES = SHAPES[1:5]


def name_of(shape: Shape) -> str:
    """What stands in the id."""
    return shape.name


def round_trip(bench: Bench, shape: Shape) -> None:
    """Store, find and load a prompt, twice, and its middle alone."""
    prompt, chunks = bench.prompt(shape.chunks), bench.contents(shape.chunks)
    bench.stored(prompt, chunks)
    bench.end(prompt)
    bench.loads(bench.again(prompt), chunks)
    wanted = bench.again(prompt)
    bench.locks(wanted, shape.chunks, "it was stored, and loaded before")
    first, last = shape.chunks // 3, shape.chunks - shape.chunks // 3
    bench.gives(bench.part(wanted, first, last), chunks[first:last])
    bench.free(wanted)
    bench.end(wanted)


@case(
    "SRV-MP-008",
    "SRV-MP-006",
    "SRV-MP-009",
    releases=DATA,
    targets=SERVERS,
    variants=parameters(*SHAPES, name=name_of),
    judges="server",
    runs=("server",),
)
def test_round_trip(judge: Judge, release: Release, mp_server: MpTarget, vector: Shape) -> None:
    """Chunks of any layout and number come back as they were stored, whole and in part."""
    with Bench(judge, release, mp_server, layout=vector.layout()) as bench:
        round_trip(bench, vector)


@case(
    "SRV-MP-008",
    "SRV-MP-019",
    releases=DATA,
    targets=SERVERS,
    variants=parameters(*IN_PICKLES, name=name_of),
    judges="server",
    runs=("server",),
)
def test_round_trip_in_pickles(judge: Judge, release: Release, mp_pickle_server: MpTarget, vector: Shape) -> None:
    """The same where the chunks travel inside the messages."""
    with Bench(judge, release, mp_pickle_server, layout=vector.layout()) as bench:
        require_pickles(bench)
        round_trip(bench, vector)


@case("SRV-MP-006", "SRV-MP-007", releases=DATA, targets=SERVERS, judges="server", runs=("server",))
def test_part_by_part(judge: Judge, release: Release, mp_server: MpTarget) -> None:
    """A prompt that is stored in parts, the last one first, is found from its first chunk on as far as there is no gap."""
    with Bench(judge, release, mp_server) as bench:
        prompt, chunks = bench.prompt(6), bench.contents(6)
        for first, last, found in ((4, 6, 0), (0, 1, 1), (1, 3, 3), (3, 4, 6)):
            bench.stored(bench.part(bench.again(prompt), first, last), chunks[first:last])
            bench.finds(bench.again(prompt), found, f"chunks {first} to {last - 1} came last")
        bench.loads(bench.again(prompt), chunks)


@case("SRV-MP-006", "SRV-MP-009", releases=SHARED, targets=SERVERS, judges="server", runs=("server",))
def test_stored_once(judge: Judge, release: Release, mp_server: MpTarget) -> None:
    """What is there gets no place when it is stored again, and keeps its bytes; the rest of a longer prompt gets one."""
    with Bench(judge, release, mp_server) as bench:
        require_shared(bench)
        prompt, chunks = bench.prompt(3), bench.contents(3)
        bench.stored(bench.part(prompt, 0, 2), chunks[:2])
        with judged(judge):
            again = bench.peer.prepare(bench.engine, bench.part(bench.again(prompt), 0, 2), 2)
            judge.holds(not again.slots, f"{len(again.slots)} of 2 chunks that are there got a place again", cite="SRV-MP-006")
            longer = bench.again(prompt)
            prepared = bench.peer.prepare(bench.engine, longer, 3)
            judge.holds(
                list(prepared.indices) == [2],
                f"chunks {list(prepared.indices)} got places, and chunk 2 alone is missing",
                cite="SRV-MP-006",
            )
            bench.peer.fill(bench.engine, prepared, chunks)
            judge.holds(
                bench.peer.commit(bench.engine, longer), "the commit of the missing chunk was answered false", cite="SRV-MP-006"
            )
        bench.loads(bench.again(prompt), chunks)


@case("SRV-MP-006", releases=SHARED, targets=SERVERS, judges="server", runs=("server",))
def test_uncommitted(judge: Judge, release: Release, mp_server: MpTarget) -> None:
    """What is prepared is found by nobody before it is committed, and from then on by everybody."""
    with Bench(judge, release, mp_server) as bench, Bench(judge, release, mp_server, model=bench.model) as other:
        require_shared(bench)
        prompt, chunks = bench.prompt(2), bench.contents(2)
        with judged(judge):
            prepared = bench.peer.prepare(bench.engine, prompt, 2)
            for one in (bench, other):
                one.finds(one.again(prompt), 0, "nothing of it is committed", cite="SRV-MP-006")
            bench.peer.fill(bench.engine, prepared, chunks)
            other.finds(other.again(prompt), 0, "its bytes are written and not committed", cite="SRV-MP-006")
            judge.holds(bench.peer.commit(bench.engine, prompt), "the commit was answered false", cite="SRV-MP-006")
        other.loads(other.again(prompt), chunks)


@case("SRV-MP-009", releases=SHARED, targets=SERVERS, judges="server", runs=("server",))
def test_places_apart(judge: Judge, release: Release, mp_server: MpTarget) -> None:
    """Places of several stores under way, and of what is stored, do not lie on each other, whatever was given back before."""
    layouts = (
        {"num_layers": 1, "hidden_dim_size": 3},
        {"num_layers": 5, "hidden_dim_size": 33},
        {"num_layers": 2, "hidden_dim_size": 640},
    )
    with Bench(judge, release, mp_server) as bench:
        require_shared(bench)
        engines = [
            bench.register(new_instance(), model=f"{bench.model}/{number}", **layout) for number, layout in enumerate(layouts)
        ]
        taken: list[tuple[int, int]] = []
        for turn in range(6):
            for number, engine in enumerate(engines):
                prompt = bench.prompt(2 + turn % 3, model=f"{bench.model}/{number}")
                with judged(judge):
                    prepared = bench.peer.prepare(engine, prompt, 2 + turn % 3)
                    taken += [(slot.offset, slot.offset + slot.length) for slot in prepared.slots]
                    if turn % 2:
                        judge.holds(bench.peer.commit(engine, prompt), "a commit was answered false", cite="SRV-MP-006")
        ordered = sorted(taken)
        lying = next(((one, other) for one, other in pairwise(ordered) if other[0] < one[1]), None)
        judge.holds(lying is None, f"two places that are in use lie on each other: {lying}", cite=SLOTS)


@case("SRV-MP-008", "SRV-MP-007", releases=DATA, targets=SERVERS, judges="server", runs=("server",))
def test_ranks(judge: Judge, release: Release, mp_server: MpTarget) -> None:
    """A chunk of a world of three is found when all ranks have stored their part, and each gets its own back."""
    with (
        Bench(judge, release, mp_server, world=3, rank=0) as first,
        Bench(judge, release, mp_server, model=first.model, world=3, rank=1) as second,
        Bench(judge, release, mp_server, model=first.model, world=3, rank=2) as third,
    ):
        prompt = first.prompt(2)
        parts = [(bench, bench.contents(2, seed=7 + bench.rank)) for bench in (second, first, third)]
        for stored, (bench, chunks) in enumerate(parts):
            first.finds(first.again(prompt), 0, f"{stored} of 3 ranks have stored it")
            bench.stored(bench.again(prompt), chunks)
        wanted = first.again(prompt)
        first.locks(wanted, 2, "all ranks have stored it")
        for bench, chunks in parts:
            bench.gives(wanted, chunks)
