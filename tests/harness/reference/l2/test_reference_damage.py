"""What the reference plugin makes of bytes that were altered underneath, and of what killed processes left."""

import fcntl
import os
import random
import shutil

import pytest

from harness.reference.l2 import ReferencePlugin
from harness.reference.l2.folder import place_of
from harness.reference.l2.manifest import Damaged, Manifest

VICTIM, OTHER = "model@00000000@0@01", "model@00000000@0@02"
DATA = random.Random(1).randbytes(2500)  # three fragments


def flip(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 4
    path.write_bytes(data)


def cut(path):
    os.truncate(path, path.stat().st_size - 1)


def empty(path):
    os.truncate(path, 0)


def lengthen(path):
    with path.open("ab") as file:
        file.write(b"!")


def delete(path):
    path.unlink()


def make_a_folder(path):
    path.unlink()
    path.mkdir()


@pytest.fixture
def stored(opened, tmp_path):
    """Two objects, and the folder of the first."""
    plugin = opened()
    assert plugin.store({VICTIM: DATA, OTHER: DATA[::-1]}).ok
    (root,) = tmp_path.iterdir()
    return plugin, place_of(root, VICTIM)


@pytest.mark.parametrize("name", ["manifest", "fragment-00000", "fragment-00002"])
@pytest.mark.parametrize("how", [flip, cut, empty, lengthen, delete, make_a_folder])
def test_a_damaged_object_is_a_miss_alone_and_the_next_store_heals_it(stored, name, how):
    plugin, place = stored
    how(place / name)
    assert not plugin.holds(VICTIM, DATA)
    assert plugin.holds(OTHER, DATA[::-1])
    assert plugin.look([VICTIM, OTHER]) == [False, True]
    assert plugin.count("damaged") == (1,)
    assert plugin.store({VICTIM: DATA}).ok
    assert plugin.holds(VICTIM, DATA)


@pytest.mark.parametrize("how", [cut, delete])
def test_a_store_heals_what_nobody_loaded(stored, how):
    plugin, place = stored
    how(place / "fragment-00001")
    assert plugin.look([VICTIM]) == [False]
    plugin.store({VICTIM: DATA})
    assert plugin.holds(VICTIM, DATA)


def test_an_object_under_the_name_of_another_is_a_miss(stored, tmp_path):
    plugin, place = stored
    (root,) = tmp_path.iterdir()
    shutil.rmtree(place)
    place_of(root, OTHER).rename(place)
    assert not plugin.holds(VICTIM, DATA[::-1])
    assert plugin.look([VICTIM, OTHER]) == [False, False]


def test_swapped_fragments_are_damage(stored):
    plugin, place = stored
    (place / "fragment-00000").rename(place / "aside")
    (place / "fragment-00001").rename(place / "fragment-00000")
    (place / "aside").rename(place / "fragment-00001")
    assert not plugin.holds(VICTIM, DATA)


def test_the_whole_folder_taken_away_is_a_miss_and_stores_work_again(stored, tmp_path):
    plugin, _ = stored
    for path in tmp_path.iterdir():
        shutil.rmtree(path)
    assert not plugin.holds(VICTIM, DATA)
    assert plugin.store({VICTIM: DATA}).ok
    assert plugin.holds(VICTIM, DATA)


def test_an_object_is_shown_only_when_its_manifest_is_written(opened, tmp_path):
    seen = []

    class Watching(ReferencePlugin):
        def _open_folder(self, root, fragment_size, *, durable):
            folder = super()._open_folder(root, fragment_size, durable=durable)
            write = folder._write_file

            def written(path, data):
                seen.append((path.name, place_of(root, VICTIM).exists()))
                write(path, data)

            folder._write_file = written
            return folder

    opened(Watching).store({VICTIM: DATA})
    assert seen == [("fragment-00000", False), ("fragment-00001", False), ("fragment-00002", False), ("manifest", False)]


def test_leftovers_of_a_killed_process_are_swept_away_and_those_of_a_living_one_stay(opened, tmp_path):
    writing = tmp_path / "objects-of-the-test" / "writing"
    dead, living = writing / "dead", writing / "living"
    for corner in (dead, living):
        (corner / "0").mkdir(parents=True)
        (corner / "0" / "fragment-00000").write_bytes(b"half")
    (writing / "stray").write_bytes(b"a file")
    descriptor = os.open(living, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    opened()
    assert not dead.exists()
    assert not (writing / "stray").exists()
    assert (living / "0" / "fragment-00000").exists()
    os.close(descriptor)
    opened()
    assert not living.exists()


def test_two_open_plugins_do_not_sweep_each_other_away(opened, tmp_path):
    first, second = opened(), opened()
    assert len(list((tmp_path / "objects-of-the-test" / "writing").iterdir())) == 2
    for plugin in (first, second):
        plugin.plugin.close()
    assert list((tmp_path / "objects-of-the-test" / "writing").iterdir()) == []


def test_a_manifest_is_read_back():
    manifest = Manifest("key \n with odd signs ä", 5, 2, ("a", "b", "c"))
    assert Manifest.decode(manifest.encode()) == manifest


def test_any_altered_byte_of_a_manifest_is_noticed():
    raw = Manifest("key", 5, 2, ("a", "b", "c")).encode()
    for place in range(len(raw)):
        with pytest.raises(Damaged):
            Manifest.decode(raw[:place] + bytes([raw[place] ^ 1]) + raw[place + 1 :])
        with pytest.raises(Damaged):
            Manifest.decode(raw[:place])
