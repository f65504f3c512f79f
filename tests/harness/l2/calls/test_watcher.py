"""File-system calls of a process are seen before they happen, and may be its end."""

import errno
import subprocess
import sys
from pathlib import Path

import pytest
from watched_programs import watched

from harness.l2.calls.call import FileCall
from harness.l2.calls.table import CALLS
from harness.l2.calls.watcher import GO, CannotWatch, Decision, Refuse, Watcher, kill_at, why_not

pytestmark = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))

WRITES_A_FILE = """
descriptor = os.open("new", os.O_WRONLY | os.O_CREAT)
os.write(descriptor, b"0123456789")
os.fsync(descriptor)
os.rename("new", "shown")
"""


def test_calls_are_seen_in_their_order(tmp_path: Path) -> None:
    seen: list[FileCall] = []
    status, watcher = watched(tmp_path, WRITES_A_FILE, lambda call: seen.append(call) or GO)
    assert status == 0
    assert [(call.name, call.path.name) for call in seen] == [
        ("openat", "new"),
        ("write", "new"),
        ("fsync", "new"),
        ("rename", "new"),
    ]
    assert seen[1].size == 10
    assert seen[3].to == tmp_path / "shown"
    assert watcher.count == 4
    assert (tmp_path / "shown").read_bytes() == b"0123456789"


@pytest.mark.parametrize(
    ("number", "left"), [(1, {}), (2, {"new": b""}), (3, {"new": b"0123456789"}), (4, {"new": b"0123456789"})]
)
def test_a_process_is_killed_before_a_call(tmp_path: Path, number: int, left: dict[str, bytes]) -> None:
    status, watcher = watched(tmp_path, WRITES_A_FILE, kill_at(number))
    assert status == -9
    assert watcher.killed_before is not None
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == left


def test_a_process_is_killed_within_a_write(tmp_path: Path) -> None:
    status, _ = watched(tmp_path, WRITES_A_FILE, kill_at(2, part=0.5))
    assert status == -9
    assert (tmp_path / "new").read_bytes() == b"01234"


def test_a_part_of_a_later_write_stands_behind_the_first(tmp_path: Path) -> None:
    program = 'file = os.open("f", os.O_WRONLY | os.O_CREAT); os.write(file, b"first "); os.write(file, b"second")'
    watched(tmp_path, program, kill_at(3, part=0.5))
    assert (tmp_path / "f").read_bytes() == b"first sec"


def test_calls_of_other_threads_are_seen(tmp_path: Path) -> None:
    program = 'import threading; one = threading.Thread(target=os.mkdir, args=("made",)); one.start(); one.join()'
    status, watcher = watched(tmp_path, program, kill_at(1))
    assert status == -9
    assert watcher.killed_before is not None
    assert watcher.killed_before.path == tmp_path / "made"


def test_calls_about_other_folders_go_on(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    status, watcher = watched(inside, f'os.mkdir("{outside}/made"); os.write(1, b"")', kill_at(1))
    assert status == 0
    assert watcher.count == 0


def test_a_call_is_refused(tmp_path: Path) -> None:
    def react(call: FileCall) -> Decision:
        return Refuse(errno.ENOSPC) if call.name == "write" else GO

    program = 'file = os.open("f", os.O_WRONLY | os.O_CREAT)\ntry: os.write(file, b"x")\nexcept OSError as e: sys.exit(e.errno)'
    status, _ = watched(tmp_path, program, react)
    assert status == errno.ENOSPC
    assert (tmp_path / "f").read_bytes() == b""


def test_reading_is_seen_where_it_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"there")
    seen: list[str] = []
    program = 'os.read(os.open("f", os.O_RDONLY), 10)'
    _, watcher = watched(tmp_path, program, lambda call: seen.append(call.name) or GO, frozenset(CALLS))
    assert seen == ["openat", "read"]
    assert watcher.count == 0  # neither changes anything


def test_a_fault_of_ours_ends_the_process(tmp_path: Path) -> None:
    def react(call: FileCall) -> Decision:
        raise ValueError(str(call))

    watcher: Watcher | None = None
    with pytest.raises(AssertionError):
        _, watcher = watched(tmp_path, WRITES_A_FILE, react)
    assert watcher is None


def test_a_process_that_does_not_take_part_is_told_of(tmp_path: Path) -> None:
    watcher = Watcher(tmp_path, lambda _: GO)
    try:
        process = subprocess.Popen([sys.executable, "-S", "-c", ""], pass_fds=watcher.descriptors)
        with pytest.raises(CannotWatch, match="the process ended"):
            watcher.attach()
        process.wait(20)
    finally:
        watcher.stop()
