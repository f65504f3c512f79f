"""The plugin as the second tier of a real server: engines store, the server's own memory is emptied, and engines load."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from harness.case import case, parameters
from harness.judge import Judge
from harness.l2.served.engine import TIMEOUT, Engine, Found, Prompt, prompt
from harness.l2.served.server import SETTLE, STOP, ServedPlugin

in_server = partial(case, targets=("live",), judges="plugin", releases="0.4.6 and later")
MISSES = 12
"""Lookups at once: more than the eight that a server has under way."""
AT_ONCE = 6
LARGE = 2 * 2**20
"""Bytes of a chunk, of which the first tier has room for eight."""
ENOUGH = 12
ENDS = (0, -15)
"""Status of a server that was asked to end: it does so by the signal itself, once everything is closed."""
SALT = "PLUG-HOST-004"
SIZES = parameters((1, 1024), (7, 1024), (3, 64 * 1024), (2, 2**20), name=lambda of: f"{of[0]}x{of[1]}")


def stores(engine: Engine, judge: Judge, wanted: Prompt) -> None:
    """Store a prompt, which the server must take."""
    done = engine.store(wanted)
    said = "no answer in time" if done is None else "not stored"
    judge.holds(done, f"a store of {wanted.chunks} chunks failed: {said}", cite="PLUG-HOST-001", client_answered=said)


def settles(served: ServedPlugin, judge: Judge) -> None:
    """The plugin completes all stores in time."""
    judge.holds(
        served.written_through(SETTLE),
        f"stores into the plugin are not complete after {SETTLE:g} s",
        cite="PLUG-HOST-002",
        client_answered="no completion",
    )


def kept(served: ServedPlugin, engine: Engine, judge: Judge, *prompts: Prompt) -> None:
    """Store prompts, and empty the server's own memory: they are in the plugin alone."""
    for wanted in prompts:
        stores(engine, judge, wanted)
    settles(served, judge)
    engine.clear()
    held = served.first_tier()
    assert not held, f"the first tier was cleared and has {held} objects"


def loads(
    engine: Engine,
    judge: Judge,
    wanted: Prompt,
    expected: int | None = None,
    *,
    because: str,
    cite: str = "PLUG-HOST-002",
    bytes_cite: str = "PLUG-HOST-002",
) -> None:
    """A lookup finds the first chunks of a prompt, all of them unless a number is given, and a load brings their bytes."""
    found = engine.load(wanted)
    right = wanted.chunks if expected is None else expected
    judge.holds(
        found.hits == right,
        f"a lookup {hits(found)}, {right} of {wanted.chunks} chunks was right: {because}",
        cite="PLUG-HOST-009" if found.hits is None else cite,
        client_answered=hits(found),
        conformant_answer=f"found {right} chunks",
    )
    if right:
        same(judge, found, engine.contents(wanted)[:right], because=because, cite=cite, bytes_cite=bytes_cite)


def same(
    judge: Judge, found: Found, expected: Sequence[bytes], *, because: str, cite: str, bytes_cite: str = "PLUG-HOST-002"
) -> None:
    """A load brought these bytes."""
    judge.holds(
        found.data is not None,
        f"a lookup found {found.hits} chunks, and the load behind it missed: {because}",
        cite=cite,
        client_answered="miss",
        conformant_answer=f"{len(expected)} chunks",
    )
    for place, (one, other) in enumerate(zip(expected, found.data or (), strict=True)):
        what = f"chunk {place + 1} of {len(expected)}, {because}"
        judge.same_bytes(one, other, what=what, source="what this case stored", cite=bytes_cite)


def hits(found: Found) -> str:
    """What a lookup said."""
    return f"did not end within {TIMEOUT:g} s" if found.hits is None else f"found {found.hits} chunks"


@in_server("PLUG-HOST-001")
def test_start(served: ServedPlugin, engine: Engine, judge: Judge) -> None:
    """A server starts with the plugin, says that its storage is healthy, and takes stores."""
    judge.holds(engine.alive(), "the server does not answer NOOP", cite="PLUG-HOST-001")
    state = served.status()
    judge.holds(state["num_l2_adapters"] == 1, "the server has no second tier", cite="PLUG-HOST-001")
    judge.holds(state["is_healthy"], "the server says that its storage is not healthy", cite="PLUG-HOST-001")
    stores(engine, judge, prompt(1))


@in_server("PLUG-HOST-002", "PLUG-HOST-009", variants=SIZES)
def test_round_trip(served: ServedPlugin, judge: Judge, vector: tuple[int, int]) -> None:
    """What was stored comes back byte for byte when the server's own memory was emptied, again and again."""
    chunks, size = vector
    with served.engine(chunk_bytes=size) as engine:
        wanted = prompt(chunks)
        kept(served, engine, judge, wanted)
        loads(engine, judge, wanted, because="it was stored, and the first tier cleared")
        engine.clear()
        loads(engine, judge, wanted, because="it was loaded once, and the first tier cleared once more")


@in_server("PLUG-HOST-003", "PLUG-HOST-009")
def test_never_stored(served: ServedPlugin, engine: Engine, judge: Judge) -> None:
    """Lookups of what nobody stored end in time, also more of them at once than a server has under way, and find nothing."""
    kept(served, engine, judge, prompt(2))
    with ThreadPoolExecutor(MISSES) as threads:
        found = list(threads.map(engine.look_up, [prompt(2) for _ in range(MISSES)]))
    judge.holds(
        None not in found, f"{found.count(None)} of {MISSES} lookups did not end within {TIMEOUT:g} s", cite="PLUG-HOST-009"
    )
    judge.holds(
        not any(found), f"lookups of what was never stored found {max(one or 0 for one in found)} chunks", cite="PLUG-HOST-003"
    )


@in_server("PLUG-HOST-003", "PLUG-HOST-002", variants=parameters(1, 3))
def test_first_part(served: ServedPlugin, engine: Engine, judge: Judge, vector: int) -> None:
    """Of a prompt whose first chunks alone were stored, these are found, and no more."""
    whole = prompt(5)
    kept(served, engine, judge, whole.cut(vector))
    loads(engine, judge, whole, vector, because=f"its first {vector} chunks were stored", cite="PLUG-HOST-003")


@in_server("PLUG-HOST-002")
def test_both_tiers(served: ServedPlugin, engine: Engine, judge: Judge) -> None:
    """A prompt whose first chunks are in the server's memory, and the others in the plugin alone, is found as a whole."""
    whole = prompt(5)
    kept(served, engine, judge, whole)
    stores(engine, judge, whole.cut(2))
    settles(served, judge)
    loads(engine, judge, whole, because="all of it was stored, and two chunks stored again after the first tier was cleared")
    engine.clear()
    loads(engine, judge, whole, because="all of it was stored, two chunks of it twice, and the first tier cleared")


@in_server("PLUG-HOST-004")
def test_salts(served: ServedPlugin, engine: Engine, judge: Judge) -> None:
    """The same tokens of different owners are different objects; nobody finds those of others."""
    plain = prompt(2)
    owners = [plain, plain.of("alice"), plain.of("alice2"), plain.of("bob")]
    kept(served, engine, judge, *owners)
    for one in owners:
        loads(engine, judge, one, because=f"the owner {one.salt or 'without a salt'!r} stored it", cite=SALT, bytes_cite=SALT)
    for stranger in (plain.of("ali"), plain.of("Alice"), plain.of("carol")):
        loads(engine, judge, stranger, 0, because=f"{stranger.salt!r} stored nothing, others did", cite=SALT, bytes_cite=SALT)


@in_server("PLUG-HOST-005", "PLUG-HOST-002")
def test_several_at_once(served: ServedPlugin, engine: Engine, judge: Judge) -> None:
    """Requests that load at the same time, while others store, all get their own bytes."""
    old, new = [prompt(3) for _ in range(AT_ONCE)], [prompt(3) for _ in range(AT_ONCE)]
    kept(served, engine, judge, *old)
    with ThreadPoolExecutor(2 * AT_ONCE) as threads:
        storing = [threads.submit(engine.store, one) for one in new]
        loading = [threads.submit(engine.load, one) for one in old]
    for wanted, load in zip(old, loading, strict=True):
        found = load.result()
        judge.holds(found.hits == 3, f"a lookup {hits(found)} of 3, at the same time as others", cite="PLUG-HOST-005")
        same(
            judge,
            found,
            engine.contents(wanted),
            because="at the same time as others",
            cite="PLUG-HOST-005",
            bytes_cite="PLUG-HOST-005",
        )
    judge.holds(all(one.result() for one in storing), "a store failed at the same time as loads", cite="PLUG-HOST-005")
    settles(served, judge)
    engine.clear()
    for wanted in new:
        loads(engine, judge, wanted, because="it was stored while others loaded", cite="PLUG-HOST-005")


@in_server("PLUG-HOST-006", "PLUG-HOST-002")
def test_evicted(served: ServedPlugin, judge: Judge) -> None:
    """What the server drops from its full memory is still found, and loaded byte for byte."""
    with served.engine(chunk_bytes=LARGE) as engine:
        prompts = [prompt(1) for _ in range(ENOUGH)]
        for wanted in prompts:
            stores_at_last(served, engine, judge, wanted)
        held = served.first_tier()
        assert held < ENOUGH, f"the first tier has room for {ENOUGH} chunks of {LARGE} bytes"
        engine.clear()  # a full one has, for a moment, no room for what is loaded
        for wanted in prompts:
            loads(engine, judge, wanted, because="more was stored since than the first tier has room for", cite="PLUG-HOST-006")


def stores_at_last(served: ServedPlugin, engine: Engine, judge: Judge, wanted: Prompt) -> None:
    """Store into a memory that may be full for a moment, until the server has dropped something."""
    judge.holds(
        served.has_room(LARGE, SETTLE),
        f"the server finds nothing to drop from its memory for {SETTLE:g} s; what the plugin has to store may still be locked",
        cite="PLUG-HOST-006",
    )
    stores(engine, judge, wanted)
    settles(served, judge)


@in_server("PLUG-HOST-007", "PLUG-HOST-002", needs=("folder",))
def test_restart(served: ServedPlugin, engine: Engine, judge: Judge) -> None:
    """A server that was killed finds what was stored when it runs again on the same storage."""
    first, second = prompt(3), prompt(2)
    kept(served, engine, judge, first)
    stores(engine, judge, second)
    settles(served, judge)
    served.restart()
    engine.connect()
    for wanted in (first, second):
        loads(engine, judge, wanted, because="it was stored, and the server killed and started again", cite="PLUG-HOST-007")


@in_server("PLUG-HOST-009", "PLUG-HOST-010")
def test_rest(served: ServedPlugin, engine: Engine, judge: Judge) -> None:
    """When all requests have ended, nothing is locked or under way, and the server uses no processor."""
    wanted = prompt(4)
    kept(served, engine, judge, wanted)
    loads(engine, judge, wanted, because="it was stored, and the first tier cleared")
    engine.look_up(prompt(2))
    judge.holds(
        served.idle(SETTLE), f"something is locked or under way {SETTLE:g} s after the last request", cite="PLUG-HOST-009"
    )
    busy = served.processor()
    judge.holds(
        busy < 0.5,
        f"a server that has nothing to do keeps a processor busy for {busy:.0%} of the time",
        cite="PLUG-HOST-010",
        client_answered=f"{busy:.0%}",
    )


@in_server("PLUG-HOST-011", "PLUG-HOST-012", needs=("folder",))
def test_damaged(served: ServedPlugin, engine: Engine, judge: Judge) -> None:
    """Of what was damaged where the plugin keeps it, no engine gets a wrong byte; stored again, it is found again."""
    wanted = prompt(4)
    kept(served, engine, judge, wanted)
    flipped = flip(served.folder)
    assert flipped, f"the plugin keeps nothing in {served.folder}"
    found = engine.load(wanted)
    right = engine.contents(wanted)
    judge.holds(found.hits is not None, f"a lookup {hits(found)} after stored bytes were damaged", cite="PLUG-HOST-009")
    for place, got in enumerate(found.data or ()):
        judge.same_bytes(right[place], got, what=f"chunk {place + 1}, stored bytes of which were damaged", cite="PLUG-HOST-011")
    kept(served, engine, judge, wanted)
    loads(engine, judge, wanted, because="it was stored again after it was damaged", cite="PLUG-HOST-012")


def flip(folder: Path) -> int:
    """Flip a bit in the middle of every file; how many there were."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.stat().st_size]
    for path in files:
        with path.open("r+b") as file:
            middle = path.stat().st_size // 2
            file.seek(middle)
            (byte,) = file.read(1)
            file.seek(middle)
            file.write(bytes([byte ^ 0x10]))
    return len(files)


@in_server("PLUG-HOST-008")
def test_end(served: ServedPlugin, engine: Engine, judge: Judge) -> None:
    """A server that is asked to end does so in time, and not in another way than without the plugin."""
    kept(served, engine, judge, prompt(2))
    status = served.stop()
    ended = "had to be killed" if status is None else f"ended with status {status}"
    judge.holds(
        status is not None,
        f"a server that was asked to end did not within {STOP:g} s, and was killed",
        cite="PLUG-HOST-008",
        client_answered=ended,
    )
    judge.holds(
        status in ENDS,
        f"a server that was asked to end {ended}",
        cite="PLUG-HOST-008",
        client_answered=ended,
        conformant_answer="the signal or status 0",
    )
