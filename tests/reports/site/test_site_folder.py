"""A site is written where it may be, and is whole or not at all."""

import json

import pytest

from reports.site.folder import MARK, FolderError, check_folder, is_complete, write_site

FILES = {"index.html": b"first", "a/b.html": b"second"}


def names(folder):
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_a_new_folder_gets_all_files_and_the_mark(tmp_path):
    write_site(tmp_path / "new" / "site", FILES)
    assert names(tmp_path / "new" / "site") == {*FILES, MARK}
    assert (tmp_path / "new" / "site" / "a" / "b.html").read_bytes() == b"second"
    assert is_complete(tmp_path / "new" / "site")


def test_a_folder_with_other_files_is_refused_and_left_as_it_is(tmp_path):
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(FolderError, match="no site of ours"):
        write_site(tmp_path, FILES)
    assert names(tmp_path) == {"thesis.txt"}


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path):
    (tmp_path / "site").write_text("")
    with pytest.raises(FolderError, match="expected a folder"):
        check_folder(tmp_path / "site")


def test_a_folder_that_cannot_be_written_is_told_before_any_work(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(FolderError, match="file/site: cannot be written: Not a directory; name another folder"):
        check_folder(tmp_path / "file" / "site")


def test_a_second_site_replaces_the_first_and_leaves_what_others_put_there(tmp_path):
    write_site(tmp_path, {**FILES, "old/page.html": b"old"})
    (tmp_path / "CNAME").write_text("example.org")
    write_site(tmp_path, FILES)
    assert names(tmp_path) == {*FILES, MARK, "CNAME"}
    assert not (tmp_path / "old").exists()


def test_a_write_that_fails_leaves_no_first_page_and_no_mark_of_a_whole_site(tmp_path):
    write_site(tmp_path, FILES)
    (tmp_path / "c").write_text("in the way")
    with pytest.raises(FolderError, match="cannot be written"):
        write_site(tmp_path, {**FILES, "c/d.html": b"third"})
    assert not is_complete(tmp_path)
    assert not (tmp_path / "index.html").exists()
    (tmp_path / "c").unlink()
    write_site(tmp_path, FILES)
    assert is_complete(tmp_path)


@pytest.mark.parametrize("name", ["../outside.txt", "/etc/hostname", "", "a/../../outside.txt"])
def test_a_mark_that_names_files_elsewhere_removes_nothing_there(tmp_path, name):
    folder = tmp_path / "site"
    folder.mkdir()
    (tmp_path / "outside.txt").write_text("kept")
    (folder / MARK).write_text(json.dumps({"format": 1, "complete": True, "files": [name]}))
    write_site(folder, FILES)
    assert (tmp_path / "outside.txt").read_text() == "kept"


@pytest.mark.parametrize("text", ["", "[]", '{"format": 2, "files": []}', '{"format": 1, "files": 7}'])
def test_a_mark_that_is_none_of_ours_is_no_mark(tmp_path, text):
    (tmp_path / MARK).write_text(text)
    with pytest.raises(FolderError):
        write_site(tmp_path, FILES)
