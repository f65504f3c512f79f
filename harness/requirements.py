"""The numbered requirements of ``docs/spec``: what a case cites and what a failure quotes.

A requirement is a level-3 heading ``ID · LEVEL · RELEASES``, one normative sentence, and fields that each begin a
paragraph or a line of their own::

    ### LM-REPLY-003 · MUST · all
    A client assembles the whole reply header however the stream is segmented.

    Why: on a real network a header arrives split now and then.

``Why:`` must be there; ``Role: client`` (the default) or another side, and ``Untestable: reason`` may follow. Every
level-3 heading of a specification is a requirement, and prose belongs under the other headings.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, cast, get_args

from reports.requirement_text import RequirementText
from reports.side import SIDES, Side
from wire.errors import UnknownReleaseError
from wire.release import KNOWN_RELEASES, ReleaseRange

Level = Literal["MUST", "SHOULD", "MAY"]
Role = Side

_HEADING: Final = "### "
_SEPARATOR: Final = " · "
_ID: Final = re.compile(r"[A-Z]{2,}(?:-[A-Z]{2,})?-\d{3}")
_FIELD: Final = re.compile(r"(Why|Role|Untestable):\s*(.*)")
_NOT_IN_ANCHORS: Final = re.compile(r"[^\w\- ]")
_SERVER_MARK: Final = "SRV"
"""Part of the ids of requirements for servers."""
_ROLES: Final[dict[str, Role]] = {"PLUG": "plugin", "CONN": "connector"}
"""What other ids begin with, and whom the requirements are for; all else is for clients."""


class RequirementError(ValueError):
    """A specification does not have the form above; the message begins with ``file:line:``."""


@dataclass(frozen=True)
class Requirement:
    """One numbered normative sentence."""

    id: str
    level: Level
    releases: ReleaseRange
    statement: str
    why: str
    role: Role
    untestable: str | None
    """Why no case can check it, or None."""
    document: str
    """Name of the file that holds it, such as ``lm.md``."""
    heading: str = ""
    """As it stands in that file."""

    @property
    def anchor(self) -> str:
        """The anchor of its heading, as forges and the site make it."""
        return _NOT_IN_ANCHORS.sub("", self.heading.lower()).replace(" ", "-")


def load_requirements(directory: Path | None = None) -> dict[str, Requirement]:
    """Every requirement by id, in the order of the files' names and of the text.

    Without a directory the specification of this source tree is read or, when installed, the copy in the package.

    Raises:
        RequirementError: a file does not have the form, or an id is used twice.
        FileNotFoundError: there is no such directory.
    """
    found: dict[str, Requirement] = {}
    places: dict[str, str] = {}
    for path in sorted(_existing(directory or specification()).glob("*.md")):
        for line, requirement in _read(path):
            if requirement.id in found:
                raise RequirementError(
                    f"{path}:{line}: {requirement.id} is used twice, first at {places[requirement.id]}; "
                    "give the later one a number of its own"
                )
            found[requirement.id] = requirement
            places[requirement.id] = f"{path}:{line}"
    return found


def requirement_texts(published: str | None = None) -> dict[str, RequirementText]:
    """The words of every requirement by id, for reports; ``published`` is the address of the folder with its pages."""
    return {name: _text(one, published) for name, one in load_requirements().items()}


def _text(one: Requirement, published: str | None) -> RequirementText:
    url = None if published is None else f"{published}/{one.document}#{one.anchor}"
    return RequirementText(one.level, one.statement, one.why, url)


def specification() -> Path:
    """The folder of the specification: that of this source tree or, when installed, the copy in the package."""
    package = Path(__file__).resolve().parent
    beside = package.parent / "docs" / "spec"
    return beside if beside.is_dir() else package / "spec"


def _existing(directory: Path) -> Path:
    if not directory.is_dir():
        raise FileNotFoundError(f"no specification at {directory}: expected a directory of .md files with requirements")
    return directory


@dataclass
class _Section:
    """A level-3 heading and the lines below it, numbered as in the file."""

    line: int
    title: str
    body: list[tuple[int, str]]


def _read(path: Path) -> Iterator[tuple[int, Requirement]]:
    for section in _sections(path.read_text(encoding="utf-8")):
        yield section.line, _requirement(path, section)


def _sections(text: str) -> Iterator[_Section]:
    current: _Section | None = None
    fenced = False
    for number, line in enumerate(text.splitlines(), start=1):
        if line.startswith("```"):
            fenced = not fenced
        if not fenced and line.startswith("#"):
            if current:
                yield current
            current = _Section(number, line.removeprefix(_HEADING).strip(), []) if line.startswith(_HEADING) else None
        elif current:
            current.body.append((number, line.strip()))
    if current:
        yield current


def _requirement(path: Path, section: _Section) -> Requirement:
    where = f"{path}:{section.line}"
    parts = section.title.split(_SEPARATOR)
    if len(parts) != len(("id", "level", "releases")):
        raise RequirementError(
            f"{where}: {section.title!r} is not 'ID{_SEPARATOR}LEVEL{_SEPARATOR}RELEASES'; "
            "every level-3 heading of a specification is a requirement"
        )
    identifier, level, releases = parts
    if not _ID.fullmatch(identifier):
        raise RequirementError(f"{where}: {identifier!r} is no id; an id reads like LM-REPLY-003 or LAY-001")
    if level not in get_args(Level):
        raise RequirementError(f"{where}: {identifier}: level {level!r} is not one of {', '.join(get_args(Level))}")
    fields = _fields(path, identifier, section)
    for name in ("statement", "Why"):
        if name not in fields:
            raise RequirementError(f"{where}: {identifier} has no {_label(name)}")
    role = fields.get("Role", "client")
    if role not in SIDES:
        raise RequirementError(f"{where}: {identifier}: role {role!r} is not one of {', '.join(SIDES)}")
    parts = identifier.split("-")
    theirs = "server" if _SERVER_MARK in parts else _ROLES.get(parts[0], "client")
    if role != theirs:
        raise RequirementError(
            f"{where}: {identifier} has the role {role}, but its id is one for a {theirs}; {_SERVER_MARK} in an id stands for a "
            f"server, {' and '.join(f'{mark} at its begin for a {of}' for mark, of in _ROLES.items())}"
        )
    return Requirement(
        id=identifier,
        level=cast("Level", level),
        releases=_releases(where, identifier, releases),
        statement=fields["statement"],
        why=fields["Why"],
        role=role,
        untestable=fields.get("Untestable"),
        document=path.name,
        heading=section.title,
    )


def _fields(path: Path, identifier: str, section: _Section) -> dict[str, str]:
    """The statement and the named fields, each joined to one line."""
    fields: dict[str, str] = {}
    name: str | None = "statement"
    for number, line in section.body:
        where = f"{path}:{number}"
        opening = _FIELD.fullmatch(line)
        if opening:
            name, text = opening[1], opening[2]
            if name in fields:
                raise RequirementError(f"{where}: {identifier} has a second {_label(name)}")
            if not text:
                raise RequirementError(f"{where}: {identifier}: its {_label(name)} is empty")
            fields[name] = text
        elif not line:
            name = name if name not in fields else None
        elif name is None:
            raise RequirementError(
                f"{where}: {identifier}: this text belongs to no field; below a requirement there is one statement, "
                "then Why:, Role: and Untestable:, and prose goes under a heading of another level"
            )
        else:
            fields[name] = f"{fields[name]} {line}" if name in fields else line
    for label, text in fields.items():
        if label != "Role" and not text.endswith("."):
            raise RequirementError(f"{path}:{section.line}: {identifier}: its {_label(label)} does not end with a full stop")
    return fields


def _label(name: str) -> str:
    return name if name == "statement" else f"{name!r} line"


def _releases(where: str, identifier: str, text: str) -> ReleaseRange:
    try:
        releases = ReleaseRange.parse(text)
    except UnknownReleaseError as error:
        raise RequirementError(
            f"{where}: {identifier}: release range {text!r}: {error}; "
            "write 'all', 'up to 0.3.2', '0.3.3 and later', '0.3.4 to 0.3.15' or '0.3.7'"
        ) from None
    for end in (releases.first, releases.last):
        if end is not None and end.text not in KNOWN_RELEASES:
            raise RequirementError(f"{where}: {identifier}: release range {text!r}: there is no lmcache {end} on the index")
    if releases.last is not None and releases.last < releases.first:
        raise RequirementError(f"{where}: {identifier}: release range {text!r} ends before it begins")
    return releases
