"""Which bytes a store wrote, and what each damage does to them."""

from pathlib import Path

import pytest

from harness.l2.damages import DAMAGES, Damage, strangers, swap
from harness.l2.pieces import Piece, changed, files, narrowed, pieces_of


def test_new_files_belong_to_the_object_alone(tmp_path: Path) -> None:
    (tmp_path / "old").write_bytes(b"old")
    (piece,) = pieces_of(tmp_path, lambda: (tmp_path / "new").write_bytes(b"new one"))
    assert piece == Piece(tmp_path / "new", 0, 7, own=True, size=7)


@pytest.mark.parametrize(
    ("after", "stretch"), [(b"abXdef", (2, 3)), (b"abcdefgh", (6, 8)), (b"XbcdeX", (0, 6)), (b"", None), (b"abcdef", None)]
)
def test_of_a_shared_file_the_stretch_that_changed(after: bytes, stretch: tuple[int, int] | None) -> None:
    found = changed({Path("log"): b"abcdef"}, {Path("log"): after})
    assert [(piece.start, piece.stop) for piece in found] == ([stretch] if stretch else [])
    assert not any(piece.own for piece in found)


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.name)
def test_a_damage_changes_the_folder(tmp_path: Path, damage: Damage) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"stored bytes")
    damage.spoil(Piece(path, 0, 12, own=True, size=12))
    assert files(tmp_path) != {path: b"stored bytes"}
    assert "file" in damage.words.format(file=path.name)


def test_a_flip_stays_within_its_piece(tmp_path: Path) -> None:
    path = tmp_path / "log"
    flips = [damage for damage in DAMAGES if damage.name.startswith("flip") or damage.name == "zeros"]
    for damage in flips:
        path.write_bytes(b"otherstoredother")
        damage.spoil(Piece(path, 5, 11, own=False, size=16))
        assert path.read_bytes()[:5] == path.read_bytes()[11:] == b"other"
        assert path.read_bytes()[5:11] != b"stored"


def test_files_of_two_objects_are_exchanged(tmp_path: Path) -> None:
    objects = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        for part in ("data", "meta"):
            (tmp_path / name / part).write_bytes(f"{part} of {name}".encode())
        objects.append([Piece(path, 0, 11, own=True, size=11) for path in sorted((tmp_path / name).iterdir())])
    assert swap(*objects, only_largest=False) == 2
    assert (tmp_path / "one" / "meta").read_bytes() == b"meta of two"
    assert (tmp_path / "two" / "data").read_bytes() == b"data of one"


def test_strangers_are_put_into_every_folder(tmp_path: Path) -> None:
    (tmp_path / "objects").mkdir()
    assert {path.parent for path in strangers(tmp_path)} == {tmp_path, tmp_path / "objects"}


def test_what_others_have_in_a_shared_file_is_left_alone(tmp_path: Path) -> None:
    path, stored = tmp_path / "database", bytes(range(1, 201))
    path.write_bytes(b"index of all" + stored[:150] + b"page" + stored[150:] + b"end")
    whole = Piece(path, 0, 219, own=False, size=219)
    assert narrowed(whole, stored) == Piece(path, 12, 162, own=False, size=219)
    assert narrowed(whole, bytes(200)) is None


def test_a_file_of_the_object_alone_is_its_own_as_a_whole(tmp_path: Path) -> None:
    (tmp_path / "packed").write_bytes(b"packed")
    piece = Piece(tmp_path / "packed", 0, 6, own=True, size=6)
    assert narrowed(piece, b"something") == piece


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder with a file that is none of the plugin's."""
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "precious").write_bytes(b"not the plugin's")
    return folder


@pytest.mark.parametrize("link", ["a folder", "a file", "a hard link", "the folder itself"])
def test_what_links_lead_to_is_left_alone(tmp_path: Path, outside: Path, link: str) -> None:
    folder = tmp_path / "dir"
    if link == "the folder itself":
        folder.symlink_to(outside)
    else:
        folder.mkdir()
    if link == "a folder":
        (folder / "link").symlink_to(outside)
    elif link == "a file":
        (folder / "link").symlink_to(outside / "precious")
    elif link == "a hard link":
        (folder / "link").hardlink_to(outside / "precious")
    before = {path: path.lstat().st_mtime_ns for path in outside.rglob("*")}
    assert changed({}, files(folder)) == []
    strangers(folder)
    assert {path: path.lstat().st_mtime_ns for path in outside.rglob("*")} == before


def test_a_file_of_two_names_in_the_folder_is_the_plugins(tmp_path: Path) -> None:
    (tmp_path / "one").write_bytes(b"stored")
    (tmp_path / "two").hardlink_to(tmp_path / "one")
    assert len(files(tmp_path)) == 2


def test_a_file_that_is_mostly_holes_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "pool").open("wb") as file:
        file.truncate(1 << 40)
    assert files(tmp_path) == {}


def test_a_folder_that_the_plugin_removed_holds_nothing(tmp_path: Path) -> None:
    assert files(tmp_path / "gone") == {}
    assert strangers(tmp_path / "gone") == []
