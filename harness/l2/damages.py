"""Ways in which what a plugin stored may be spoiled underneath it."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from harness.l2.pieces import Piece, folders

Hook = Literal["flip", "truncate", "delete"]
Spoil = Callable[[Piece], None]


@dataclass(frozen=True)
class Damage:
    """One kind of damage to a piece of a file."""

    name: str
    words: str
    """What is done, with ``{file}`` for the name of the file."""
    spoil: Spoil
    whole_file: bool = False
    """It takes a file that belongs to one object alone."""
    hook: Hook | None = None
    """What ``lmconform_corrupt`` calls the same."""

    def fits(self, piece: Piece) -> bool:
        """Whether it can be done to a piece without harm to other objects."""
        return piece.own or not self.whole_file


def _flip(place: Callable[[Piece], int]) -> Spoil:
    def spoil(piece: Piece) -> None:
        with piece.path.open("r+b") as file:
            file.seek(place(piece))
            (byte,) = file.read(1)
            file.seek(place(piece))
            file.write(bytes([byte ^ 0x10]))

    return spoil


def _blank(piece: Piece) -> None:
    with piece.path.open("r+b") as file:
        file.seek(piece.start)
        file.write(bytes(piece.stop - piece.start))


def _cut(size: Callable[[Piece], int]) -> Spoil:
    def spoil(piece: Piece) -> None:
        with piece.path.open("r+b") as file:
            file.truncate(size(piece))

    return spoil


def _extend(piece: Piece) -> None:
    with piece.path.open("ab") as file:
        file.write(b"\x5a" * 33)


def _remove(piece: Piece) -> None:
    piece.path.unlink()


def _folder(piece: Piece) -> None:
    piece.path.unlink()
    piece.path.mkdir()


def _rewrite(piece: Piece) -> None:
    """Other bytes of the same length, written as a new file."""
    content = piece.path.read_bytes()
    piece.path.unlink()
    piece.path.write_bytes(bytes(255 - byte for byte in content))


DAMAGES: Final[tuple[Damage, ...]] = (
    Damage("flip-first", "a bit of the first byte of {file} was flipped", _flip(lambda piece: piece.start)),
    Damage(
        "flip-middle",
        "a bit in the middle of {file} was flipped",
        _flip(lambda piece: (piece.start + piece.stop) // 2),
        hook="flip",
    ),
    Damage("flip-last", "a bit of the last byte of {file} was flipped", _flip(lambda piece: piece.stop - 1)),
    Damage("zeros", "{file} was overwritten with zeros", _blank),
    Damage("other-bytes", "{file} was replaced by as many other bytes", _rewrite, whole_file=True),
    Damage(
        "cut-one", "the last byte of {file} was cut off", _cut(lambda piece: piece.stop - 1), whole_file=True, hook="truncate"
    ),
    Damage("cut-half", "{file} was cut to half", _cut(lambda piece: (piece.start + piece.stop) // 2), whole_file=True),
    Damage("empty", "{file} was emptied", _cut(lambda _: 0), whole_file=True),
    Damage("longer", "33 bytes were appended to {file}", _extend, whole_file=True),
    Damage("removed", "{file} was removed", _remove, whole_file=True, hook="delete"),
    Damage("a-folder", "{file} was replaced by a folder", _folder, whole_file=True),
)


def swap(one: Sequence[Piece], other: Sequence[Piece], *, only_largest: bool) -> int:
    """Exchange the files of two objects that have as many files of the same sizes, or one file; how many were exchanged."""
    pairs = [
        (mine, theirs)
        for mine, theirs in zip(_in_order(one), _in_order(other), strict=False)
        if mine.own and theirs.own and mine.size == theirs.size
    ]
    if only_largest:
        pairs = sorted(pairs, key=lambda pair: pair[0].size)[-1:]
    for mine, theirs in pairs:
        aside = mine.path.with_name(f"{mine.path.name}.aside")
        mine.path.rename(aside)
        theirs.path.rename(mine.path)
        aside.rename(theirs.path)
    return len(pairs)


def strangers(folder: Path) -> Sequence[Path]:
    """Things that a plugin did not put there, in every folder that it made: a file, a folder, a link to nowhere."""
    made = []
    for place in sorted(folders(folder)):
        stray, hole, void = place / "lost+found.tmp", place / "lost", place / "nowhere"
        stray.write_bytes(b"\xff\x00not yours" * 100)
        hole.mkdir()
        (hole / "file").write_bytes(b"neither is this")
        void.symlink_to(place / "gone")
        made += [stray, hole, void]
    return made


def twins(pieces: Sequence[Piece]) -> Sequence[Path]:
    """Copies of the files of an object under names that are almost theirs, as a restored backup leaves them."""
    made = []
    for piece in pieces:
        if piece.own:
            twin = piece.path.with_name(f"{piece.path.name}~")
            with contextlib.suppress(OSError):
                shutil.copyfile(piece.path, twin)
                made.append(twin)
    return made


def _in_order(pieces: Sequence[Piece]) -> Sequence[Piece]:
    """In an order that is the same for objects of one layout, whether the key is in names of files or of folders."""
    return sorted(pieces, key=lambda piece: (len(piece.path.parts), piece.size, piece.path.name))
