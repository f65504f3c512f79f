"""What differs between the multiprocess servers of the releases, and how each is started."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from docs.generator.spec.mp_operations import FIRST
from docs.generator.spec.words import code, spanned
from docs.generator.table import table
from fixturegen.mp.launch import CPU_TENSORS, GRPC, NO_DATA_PATH, NO_SERVER, POOL_PREFIX, SHARED_MEMORY, STATUS_PATH, Launch
from mockserver.mp import behaviour as held
from wire.mp.frames import COERCED
from wire.release import KNOWN_RELEASES, RangeTable, Release

_YES_NO: Final = {True: "yes", False: "no"}
_CONVERTED: Final = {True: "is converted from other values", False: "is no other value"}
_LOCKS: Final = {
    True: "`num_kv_readers` says",
    False: "the tensor-parallel size says where it is more than the world size, else one",
}
_RULES: Final[tuple[tuple[RangeTable[Any], str, dict[Any, str]], ...]] = (
    (held.UNKNOWN_OPERATION_KILLS, "an unknown operation", {True: "ends the message thread", False: "is dropped"}),
    (held.BOOLEAN_OPERATIONS, "a boolean as operation", {True: "counts as 0 or 1", False: "is an unknown operation"}),
    (held.STREAM_CONTROL, "an empty frame as operation", {True: "is about a stream", False: "is an unknown operation"}),
    (COERCED, "an integer or a boolean that is a payload as a whole", _CONVERTED),
    (
        held.LOOKUP_FLAGS,
        "LOOKUP gives (up to 0.3.15)",
        {True: "a boolean for each key", False: "the number of leading chunks that are there"},
    ),
    (
        held.LOOKUP_JOBS,
        "LOOKUP leaves behind",
        {"none": "nothing, it answers at once", "number": "a job with a number", "request": "a job under the request id"},
    ),
    (held.LOOKUP_OF_ALL, "LOOKUP of a key with a rank", {True: "is not answered", False: "is answered"}),
    (held.LOOKUP_NEEDS_LAYOUT, "LOOKUP for a model that nobody registered", {True: "finds nothing", False: "is like any other"}),
    (held.MISSING_JOB, "a poll for a lookup that nobody made is answered", {None: "nil", 0: "0"}),
    (held.COUNTED_READERS, "a lookup takes as many locks as", _LOCKS),
    (
        held.FREE,
        "FREE_LOOKUP_LOCKS gives back",
        {
            "range": "the chunks of the key",
            "hits": "of these what the lookup found, where that is known",
            "result": "what the lookup found, or nothing",
        },
    ),
    (
        held.WINDOWS_NEED_LAYOUT,
        "FREE_LOOKUP_LOCKS of whole chunks for a model that nobody registered",
        {True: "is not answered (in 0.5.6 only behind a lookup)", False: "is answered"},
    ),
    (held.CLEAR_FORCES, "CLEAR without a flag removes what is locked", _YES_NO),
    (
        held.PREPARE_NEEDS_CONTEXT,
        "PREPARE_STORE of an instance that is not registered",
        {True: "is not answered", False: "is answered"},
    ),
    (
        held.STAGED,
        "what is written and not committed",
        {True: "lies apart from what can be found", False: "has its place already, and is locked"},
    ),
    (held.ENGINE_DRIVEN, "engines may copy their chunks themselves", _YES_NO),
    (held.SHARED_POOL, "and do so in shared memory", _YES_NO),
    (held.CPU_TENSORS, "KV tensors may lie in shared memory of the client", _YES_NO),
    (GRPC, "gRPC may take the place of ZeroMQ", _YES_NO),
    (held.MANDATORY, "a reply waits for a peer that does not read", _YES_NO),
)


def differences() -> str:
    """One row for each way of a server and the releases that have it."""
    return table(("what", "releases", "is so"), _differences())


def _differences() -> Iterator[tuple[str, str, str]]:
    for rule, what, words in _RULES:
        for span, value in rule.rows():
            yield what, spanned(span, first=FIRST), words[value]


def starts() -> str:
    """How the server of each release is started on a machine without a GPU."""
    return table(("releases", "arguments of Python behind `-m`", "state over HTTP"), _starts())


def _starts() -> Iterator[tuple[str, str, str]]:
    before: tuple[str, str] | None = None
    rows: list[tuple[str, tuple[str, str]]] = []
    for text in KNOWN_RELEASES:
        release = Release.parse(text)
        if release < Release.parse(FIRST) or NO_SERVER[release] is not None:
            continue
        words = Launch(l1_gb=1).arguments(release, "HOST", 0, 0 if STATUS_PATH[release] else None, "NAME")
        shown = " ".join(
            "PORT" if word == "0" and words[index - 1].endswith("port") else word for index, word in enumerate(words)
        )
        found = (code(shown), code(STATUS_PATH[release]) if STATUS_PATH[release] else "-")
        if found != before:
            rows.append((text, found))
        before = found
    for span, found in RangeTable("starts", *rows).rows():
        yield str(span), *found


def pool() -> str:
    """Shared memory and data paths of servers without a GPU."""
    shared = next(span for span, value in SHARED_MEMORY.rows() if value)
    moves = next(span for span, value in NO_DATA_PATH.rows() if value is None)
    tensors = next(span for span, value in CPU_TENSORS.rows() if value)
    rows = [
        ("first release that moves chunks without a GPU", str(moves.first)),
        ("first release whose first tier can lie in shared memory", str(shared.first)),
        ("first release that takes KV tensors in shared memory of the client", str(tensors.first)),
        ("name of the shared memory", f"{code(POOL_PREFIX)} and what `--shm-name` says; none with an empty `--shm-name`"),
        ("a slot begins at a multiple of", f"{held.ALIGNMENT} bytes"),
        ("a lock of a reader that nobody gives back ends after", f"{held.READ_SECONDS:.0f} s"),
        ("a place that was prepared and not committed is given up after", f"{held.WRITE_SECONDS:.0f} s"),
    ]
    return table(("of memory and locks", "is"), rows)
