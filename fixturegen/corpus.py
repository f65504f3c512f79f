"""The corpus: reading, checking and writing the captures of one release.

A release has one folder with ``manifest.json``, one JSON Lines file per operation and ``transcripts.jsonl``, and in its folder
``mp`` the same for the multiprocess protocol. Every line carries a hash of itself, the manifest one of every file; reading checks
all of them.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import itertools
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fixturegen.errors import CorpusError
from fixturegen.manifest import MANIFEST_NAME, FileEntry, Manifest, Protocol
from fixturegen.mp.transcript import MpTranscript
from fixturegen.vector import Transcript, Vector, content_hash
from wire.errors import UnknownReleaseError
from wire.release import Release

TRANSCRIPTS = "transcripts.jsonl"

_NO_LINE = (ValueError, KeyError, AttributeError, TypeError, RecursionError)
"""What reading a line raises that lacks a member or holds another kind of value."""


CORPUS_SETTING = "LMCONFORM_CORPUS"


def corpus_root() -> Path:
    """The folder that holds one folder per captured release: the one of this distribution, or what ``LMCONFORM_CORPUS`` names."""
    chosen = os.environ.get(CORPUS_SETTING)
    return Path(chosen) if chosen else Path(__file__).resolve().parent.parent / "cases" / "corpus"


@dataclass(frozen=True)
class Corpus:
    """The captures of one release."""

    directory: Path
    manifest: Manifest
    vectors: Mapping[str, Sequence[Vector]]
    """Operation to its vectors, in file order."""
    transcripts: Sequence[Transcript] = ()
    """Conversations with the ``lm://`` server, where this is its protocol."""
    mp_transcripts: Sequence[MpTranscript] = ()
    """Conversations with the multiprocess server, where this is its protocol."""

    @property
    def release(self) -> Release:
        """The release that was captured."""
        return Release.parse(self.manifest.release)

    def vector(self, vector_id: str) -> Vector:
        """The vector with an id.

        Raises:
            CorpusError: this release has none.
        """
        for vectors in self.vectors.values():
            for vector in vectors:
                if vector.id == vector_id:
                    return vector
        raise CorpusError(f"the corpus of lmcache {self.manifest.release} has no vector {vector_id!r}")

    def provenance(self, vector: Vector | Transcript | MpTranscript) -> str:
        """One line that says where an expected value comes from."""
        servers = {"lm": "lmcache.v1.server", "mp": "lmcache.v1.multiprocess"}
        source = vector.source if isinstance(vector, Vector) else servers[self.manifest.protocol]
        return f"corpus {self.manifest.release}, {vector.id} (wheel sha256 {self.manifest.wheel_sha256[:12]}, upstream {source})"


def captured_releases(root: Path | None = None, *, protocol: Protocol = "lm") -> list[Release]:
    """The releases of which the corpus has a protocol, oldest first.

    Raises:
        CorpusError: a folder with a manifest is not named after a release.
    """
    folder = root or corpus_root()
    if not folder.is_dir():
        return []
    entries = (entry for entry in folder.iterdir() if (_home(entry, protocol) / MANIFEST_NAME).is_file())
    return sorted(_release_of(entry) for entry in entries)


def folders_without_manifest(root: Path | None = None) -> list[Path]:
    """Folders in the corpus that are no captures, as far as anyone can see: reading passes over them."""
    folder = root or corpus_root()
    if not folder.is_dir():
        return []
    releases = sorted(entry for entry in folder.iterdir() if entry.is_dir())
    return [home for entry in releases for home in _homes(entry) if not (home / MANIFEST_NAME).is_file()]


def load_corpus(release: Release, root: Path | None = None, *, every_line: bool = False, protocol: Protocol = "lm") -> Corpus:
    """Read and check the captures of one protocol of a release, once a process.

    A file that is as the manifest has it is taken as a whole; ``every_line`` checks the hash of each of its lines as well.

    Raises:
        CorpusError: the release is not captured, or a file differs from what was captured; the message names it.
    """
    return _loaded(release, root, every_line, protocol)


def forget_corpora() -> None:
    """Read anew what is asked for next: captures were written."""
    _loaded.cache_clear()


@functools.lru_cache(maxsize=64)
def _loaded(release: Release, root: Path | None, every_line: bool, protocol: Protocol) -> Corpus:
    """:func:`load_corpus`, every argument in its place: a cache takes a default that is written out for something else."""
    directory = _home((root or corpus_root()) / str(release), protocol)
    path = directory / MANIFEST_NAME
    if not path.is_file():
        captured = captured_releases(root, protocol=protocol)
        if release in captured:  # under another spelling: 0.5 is 0.5.0, as for pip
            return load_corpus(captured[captured.index(release)], root, every_line=every_line, protocol=protocol)
        known = ", ".join(map(str, captured)) or "none"
        what, asks = ("", "") if protocol == "lm" else ("the multiprocess protocol of ", " --protocol mp")
        raise CorpusError(
            f"{what}lmcache {release} is not in the corpus (captured: {known}); run 'lmconform capture {release}{asks}'"
        )
    manifest = Manifest.from_text(_read(path), str(path))
    if manifest.release != str(release):
        raise CorpusError(f"{path}: holds lmcache {manifest.release}, its folder says {release}")
    if manifest.protocol != protocol:
        raise CorpusError(f"{path}: holds the protocol {manifest.protocol}, its place says {protocol}")
    known_names = {*manifest.files, MANIFEST_NAME, *_folders_inside(protocol)}
    extra = sorted(p.name for p in directory.iterdir() if p.name not in known_names)
    if extra:
        raise CorpusError(f"{directory}: {', '.join(extra)} is not in the manifest; remove it or capture again")
    vectors: dict[str, list[Vector]] = {}
    transcripts: list[Transcript] = []
    mp_transcripts: list[MpTranscript] = []
    seen: set[str] = set()
    for name, entry in manifest.files.items():
        for where, line in _checked_lines(directory / name, entry, every_line=every_line):
            if line["id"] in seen:
                raise CorpusError(f"{where}: a second entry with id {line['id']!r}")
            seen.add(line["id"])
            try:
                if name == TRANSCRIPTS and protocol == "mp":
                    mp_transcripts.append(MpTranscript.from_json(line))
                elif name == TRANSCRIPTS:
                    transcripts.append(Transcript.from_json(line))
                else:
                    vectors.setdefault(line["op"], []).append(Vector.from_json(line))
            except _NO_LINE as error:
                raise _no_line(where, error) from None
    return Corpus(directory, manifest, vectors, transcripts, mp_transcripts)


def corpus_fingerprint(releases: Sequence[Release], protocols: Sequence[Protocol] = ("lm",)) -> str:
    """One hash over the manifests of the releases."""
    seals = {}
    for release, protocol in itertools.product(releases, protocols):
        with contextlib.suppress(CorpusError):
            manifest = load_corpus(release, protocol=protocol).manifest
            place = str(release) if protocol == "lm" else f"{release}/{protocol}"
            seals[place] = {name: entry.sha256 for name, entry in manifest.files.items()}
    return content_hash(seals)


def write_corpus(manifest: Manifest, lines: Mapping[str, Sequence[Mapping[str, Any]]], root: Path | None = None) -> Path:
    """Write the captures of a release, file by file, replacing what was there; returns the folder.

    ``lines`` maps a file name to its lines; the manifest's ``files`` are computed from them.
    """
    directory = _home((root or corpus_root()) / manifest.release, manifest.protocol)
    directory.mkdir(parents=True, exist_ok=True)
    entries = {}
    for name, content in lines.items():
        text = "".join(json.dumps(line, separators=(", ", ": "), ensure_ascii=True) + "\n" for line in content)
        entries[name] = FileEntry(hashlib.sha256(text.encode()).hexdigest(), len(content))
        _replace(directory / name, text)
    for stale in directory.iterdir():
        if stale.name not in {*entries, MANIFEST_NAME, *_folders_inside(manifest.protocol)}:
            stale.unlink()
    complete = Manifest(
        **{**{name: getattr(manifest, name) for name in manifest.__dataclass_fields__}, "files": entries},
    )
    _replace(directory / MANIFEST_NAME, complete.to_text())
    forget_corpora()
    return directory


def _home(folder: Path, protocol: Protocol) -> Path:
    """Where a protocol lies in the folder of a release."""
    return folder if protocol == "lm" else folder / protocol


def _homes(folder: Path) -> list[Path]:
    """The folders of a release that ought to be captures: a release may have been asked for one protocol alone."""
    inside = [home for name in _folders_inside("lm") if (home := folder / name).is_dir()]
    only_inside = bool(inside) and all(entry in inside for entry in folder.iterdir())
    return inside if only_inside else [folder, *inside]


def _folders_inside(protocol: Protocol) -> tuple[str, ...]:
    """Folders beside the files of a protocol that hold another one."""
    return ("mp",) if protocol == "lm" else ()


def _release_of(folder: Path) -> Release:
    try:
        release = Release.parse(folder.name)
    except UnknownReleaseError as error:
        raise CorpusError(f"{folder}: a folder with a manifest is named after its release; {error}") from None
    if folder.name != str(release):
        raise CorpusError(f"{folder}: a folder with a manifest is named after its release; this one would be {release}")
    return release


def _no_line(where: str, error: Exception) -> CorpusError:
    return CorpusError(f"{where}: not a corpus line ({type(error).__name__}: {error}); restore it")


def _replace(path: Path, text: str) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.unlink(missing_ok=True)
    with temporary.open("x", encoding="utf-8") as file:  # never through a link that somebody left under this name
        file.write(text)
    temporary.replace(path)


def _read(path: Path) -> str:
    try:
        # Not as text: line ends that were rewritten are an edit, too.
        return path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CorpusError(f"{path}: cannot be read ({error}); restore it or capture again") from None


def _checked_lines(path: Path, entry: FileEntry, *, every_line: bool) -> Iterator[tuple[str, dict[str, Any]]]:
    text = _read(path)
    lines = text.splitlines()
    # Hashes of single lines, which take most of the time of reading, tell where a file was damaged that is not as captured.
    untouched = hashlib.sha256(text.encode()).hexdigest() == entry.sha256 and len(lines) == entry.entries
    for number, raw in enumerate(lines, 1):
        where = f"{path}:{number}"
        try:
            line = json.loads(raw)
            claimed = line.pop("hash")
            name = line["id"]
        except _NO_LINE as error:
            raise _no_line(where, error) from None
        if (every_line or not untouched) and content_hash(line) != claimed:
            raise CorpusError(f"{where}: {name} was edited after capture (its hash does not match); restore it or capture again")
        yield where, line
    if not untouched:
        raise CorpusError(
            f"{path}: {len(lines)} entries that differ from the manifest's {entry.entries} "
            "(lines were added, removed or reformatted); restore it or capture again"
        )
