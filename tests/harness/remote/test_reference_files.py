"""The files of the reference connector: whole, or not there."""

import pytest

from harness.reference.remote.files import Damaged, Files, digest

ABOUT = {"fmt": "KV_2LTD", "dtype": "float16", "shape": (2, 2, 1, 8)}


@pytest.fixture
def files(tmp_path):
    return Files(str(tmp_path / "store"))


def write(files, key, data=bytes(range(64))):
    files.write(key, memoryview(data), **ABOUT)


def test_what_is_written_is_read(files):
    write(files, "a/b@1")
    head, file = files.open("a/b@1")
    with file:
        assert (head.key, head.shape, head.size) == ("a/b@1", (2, 2, 1, 8), 64)
        assert head.digest == digest(memoryview(file.read()))
    assert files.keys() == ["a/b@1"]


def test_a_key_may_be_longer_than_a_file_name(files):
    write(files, "k" * 1000)
    assert files.has("k" * 1000)


def test_nothing_but_the_object_is_left_in_the_folder(files):
    write(files, "a")
    write(files, "a")
    assert len(list(files.folder.iterdir())) == 1


def test_removed_once(files):
    write(files, "a")
    assert [files.remove("a"), files.remove("a"), files.has("a")] == [True, False, False]


@pytest.mark.parametrize("damage", [b"", b"other\n", b"lmconform-chunk-1\nno json\n", b"lmconform-chunk-1\n{}\n"])
def test_a_head_that_is_none_is_damage(files, damage):
    write(files, "a")
    files.path("a").write_bytes(damage)
    with pytest.raises(Damaged):
        files.open("a")


def test_the_object_of_another_key_is_damage(files):
    write(files, "a")
    files.path("a").rename(files.path("b"))
    with pytest.raises(Damaged, match="another key, a"):
        files.open("b")
