"""What is left of a folder after a loss of power: what was synced, and any part of the rest."""

from pathlib import Path
from random import Random

import pytest
from watched_programs import watched

from harness.l2.calls.disk import Disk
from harness.l2.calls.watcher import GO, why_not

pytestmark = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))

SEEDS = range(8)
CONTENT = bytes(range(1, 101))


def after_power_loss(tmp_path: Path, program: str, seed: int) -> dict[str, bytes]:
    """The files of a folder in which a program ran before the power went."""
    folder = tmp_path / str(seed)
    folder.mkdir()
    disk = Disk(folder, tmp_path / f"{seed}-attic")
    status, _ = watched(folder, program, lambda call: disk.before(call) or GO)
    assert status == 0
    disk.lose_power(Random(seed))
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def write(name: str, *, sync: bool) -> str:
    synced = "os.fsync(file)" if sync else "pass"
    return f"file = os.open({name!r}, os.O_WRONLY | os.O_CREAT); os.write(file, bytes(range(1, 101))); {synced}\n"


SYNC_FOLDER = 'os.fsync(os.open(".", os.O_RDONLY))\n'


def test_what_was_synced_with_its_name_is_there(tmp_path: Path) -> None:
    program = write("f", sync=True) + SYNC_FOLDER
    assert all(after_power_loss(tmp_path, program, seed) == {"f": CONTENT} for seed in SEEDS[:4])


def test_what_was_not_synced_may_be_cut_or_blank(tmp_path: Path) -> None:
    found = [after_power_loss(tmp_path, write("f", sync=False) + SYNC_FOLDER, seed)["f"] for seed in SEEDS]
    assert any(len(content) < 100 for content in found)
    assert any(len(content) == 100 and b"\0" in content for content in found)
    assert all(content.rstrip(b"\0") == CONTENT[: len(content.rstrip(b"\0"))] for content in found)


def test_a_name_that_was_not_synced_may_be_gone_or_old(tmp_path: Path) -> None:
    program = write("f", sync=True) + SYNC_FOLDER + 'os.rename("f", "g")\n'
    found = [after_power_loss(tmp_path, program, seed) for seed in SEEDS]
    assert {"f": CONTENT} in found
    assert {"g": CONTENT} in found


def test_what_was_removed_may_be_back(tmp_path: Path) -> None:
    program = write("f", sync=True) + SYNC_FOLDER + 'os.unlink("f")\n'
    found = [after_power_loss(tmp_path, program, seed) for seed in SEEDS]
    assert {"f": CONTENT} in found
    assert {} in found


def test_a_replaced_file_may_be_back(tmp_path: Path) -> None:
    program = (
        (write("f", sync=True) + 'other = os.open("g", os.O_WRONLY | os.O_CREAT); os.write(other, b"new"); os.fsync(other)\n')
        + SYNC_FOLDER
        + 'os.rename("g", "f")\n'
    )
    found = [after_power_loss(tmp_path, program, seed) for seed in SEEDS]
    assert {"f": CONTENT, "g": b"new"} in found
    assert {"f": b"new"} in found


def test_changes_of_names_are_lost_from_the_last_on(tmp_path: Path) -> None:
    program = "".join(f'os.close(os.open("{number}", os.O_CREAT))\n' for number in range(4))
    for seed in SEEDS:
        names = sorted(after_power_loss(tmp_path, program, seed))
        assert names == [str(number) for number in range(len(names))]
