"""What goes wrong in the storage stays there: a miss, and work goes on."""

import shutil
from collections.abc import Callable
from pathlib import Path

from cases.remote.promises import comes_back, miss, nothing_owed, promise, says, store, stored, whole_or_miss
from harness.case import parameters
from harness.judge import Judge
from harness.remote.chunks import Chunks
from harness.remote.session import Connectors

PATIENCE = 12.0
"""Seconds in which a connector has noticed that its backend is gone, or is back."""


@promise("CONN-ERR-001")
def test_storage_lost(connectors: Connectors, chunks: Chunks, judge: Judge) -> None:
    """When the storage is gone, gets miss, nothing exists, and the engine runs on; when it is back, it is used again."""
    connectors.need_folder()
    connector = connectors.open()
    chunk, another = chunks.chunks(2)
    store(connector, judge, chunk)
    connectors.replace_folder_by_a_file()
    miss(judge, connector.get(chunk.key), because="the folder is gone", cite="CONN-ERR-001")
    says(judge, connector.exists(chunk.key), False, what="exists, when the folder is gone", cite="CONN-ERR-001")
    answer = connector.put(another)
    judge.holds(
        answer.after == answer.before,
        f"a put that failed left the object with {answer.after[0]} references, it had {answer.before[0]}",
        cite="CONN-MEM-001",
    )
    nothing_owed(judge, connector, after="when the folder is gone", cite="CONN-MEM-005")
    connectors.bring_folder_back()
    stored(judge, connector.put(another))
    comes_back(judge, connector.get(another.key), another, after="once the folder was back", cite="CONN-ERR-001")


@promise("CONN-ERR-002", variants=parameters("cut", "empty", "deleted"))
def test_incomplete(connectors: Connectors, chunks: Chunks, judge: Judge, vector: str) -> None:
    """A stored object of which a part is gone is a miss, and no other object suffers."""
    _damage(connectors, chunks, judge, DAMAGES[vector], cite="CONN-ERR-002")


@promise("CONN-ERR-003")
def test_changed(connectors: Connectors, chunks: Chunks, judge: Judge) -> None:
    """A stored object in which a byte has changed is a miss, and no other object suffers."""
    _damage(connectors, chunks, judge, _flip, cite="CONN-ERR-003")


@promise("CONN-ERR-004")
def test_healed(connectors: Connectors, chunks: Chunks, judge: Judge) -> None:
    """What was damaged is there again once it is stored again."""
    connectors.need_folder()
    connector = connectors.open()
    chunk = chunks.chunk()
    store(connector, judge, chunk)
    for damage in (_cut, _empty):
        for path in connectors.files():
            damage(path)
        connector.get(chunk.key)
        stored(judge, connector.put(chunk))
        comes_back(judge, connector.get(chunk.key), chunk, after="damaged and then stored again", cite="CONN-ERR-004")


@promise("CONN-ERR-005")
def test_backend_down(connectors: Connectors, chunks: Chunks, judge: Judge) -> None:
    """While the backend is down, calls come back within seconds as misses; once it is up again, it is used again."""
    backend = connectors.backend
    connector = connectors.open_behind()
    chunk, another = chunks.chunks(2)
    store(connector, judge, chunk)
    backend.stop()
    try:
        got = connector.get(chunk.key)
        judge.holds(
            got.found is None, "a get is answered although the backend is down", cite="CONN-ERR-005", client_answered=str(got)
        )
        judge.holds(
            connector.took < PATIENCE, f"a get took {connector.took:.1f} s while the backend was down", cite="CONN-ERR-005"
        )
        answer = connector.backend_contains(chunk.key)
        says(judge, answer, False, what="contains, while the backend is down", cite="CONN-ERR-005")
        judge.holds(
            connector.took < PATIENCE, f"exists took {connector.took:.1f} s while the backend was down", cite="CONN-ERR-005"
        )
        connector.put(another)
        judge.holds(
            connector.took < PATIENCE, f"a put took {connector.took:.1f} s while the backend was down", cite="CONN-ERR-005"
        )
    finally:
        backend.start()
    connectors.wait_until(lambda: connector.put(another).raised is None, PATIENCE)
    stored(judge, connector.put(another))
    comes_back(judge, connector.get(another.key), another, after="once the backend was back", cite="CONN-ERR-005")
    nothing_owed(judge, connector, after="after the backend was down", cite="CONN-MEM-005")


@promise("CONN-ERR-006")
def test_backend_slow(connectors: Connectors, chunks: Chunks, judge: Judge) -> None:
    """A slow backend makes a get a miss after the engine's timeout; nothing is owed, and later gets are right."""
    backend = connectors.need_backend("slow")
    connector = connectors.open_behind()
    several = chunks.chunks(2)
    store(connector, judge, *several)
    backend.slow(4.0)
    try:
        got = connector.backend_get(several[0].key)
        judge.holds(got.found is None, "a get_blocking outlasted its timeout", cite="CONN-ERR-006", client_answered=str(got))
        judge.holds(got.seconds < 3.5, f"get_blocking took {got.seconds:.1f} s; its timeout is 2 s", cite="CONN-LOOP-003")
    finally:
        backend.slow(0)
    connectors.wait_until(lambda: connector.get(several[0].key).found is not None, PATIENCE)
    for chunk in several:
        comes_back(judge, connector.get(chunk.key), chunk, after="after the backend was slow", cite="CONN-ERR-006")
    nothing_owed(judge, connector, after="after the backend was slow", cite="CONN-ERR-006")


def _damage(connectors: Connectors, chunks: Chunks, judge: Judge, damage: Callable[[Path], None], *, cite: str) -> None:
    connectors.need_folder()
    connector = connectors.open()
    chunk, neighbour = chunks.chunks(2)
    store(connector, judge, chunk)
    touched = connectors.files()
    store(connector, judge, neighbour)
    for path in touched:
        damage(path)
    whole_or_miss(judge, connector.get(chunk.key), chunk, because="after it was damaged", cite=cite)
    own = any(path not in touched for path in connectors.files())
    if own:  # where all lies in one file the neighbour may well be hit
        comes_back(judge, connector.get(neighbour.key), neighbour, after="beside one that was damaged", cite=cite)
    nothing_owed(judge, connector, after="after a damaged object was read", cite="CONN-MEM-005")


def _cut(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 2)


def _empty(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(0)


def _delete(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()


def _flip(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(-9, 2)
        byte = file.read(1)[0]
        file.seek(-9, 2)
        file.write(bytes([byte ^ 0x10]))


DAMAGES = {"cut": _cut, "empty": _empty, "deleted": _delete}
