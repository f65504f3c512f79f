"""Reads a list of known failures: TOML, one ``[[expectation]]`` for each entry, and nothing that is not understood."""

from __future__ import annotations

import difflib
import hashlib
import os
import stat
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from harness.case import TARGETS
from harness.expectations.entry import EXPECTABLE, OUTCOMES, Entry, names_of_this_machine
from harness.expectations.error_text import says_something
from harness.usage import UsageError
from reports.plain import clip
from reports.verdict import Verdict
from wire.errors import WireError
from wire.release import ReleaseRange

TABLE: Final = "expectation"
TODO: Final = "TODO"
"""How a reason begins that nobody has written yet."""
SHIPPED_NAMES: Final = (
    *("lmcache", "lmcache-mp", "lmcache-server", "lmcache-mp-server", "lmcache-remote"),
    *("lmcache-l2-fs", "lmcache-l2-fs_native", "lmcache-l2-mock", "lmcache-l2-resp"),
)
_SYSTEMS: Final = ("linux", "darwin")
_MACHINES: Final = ("x86_64", "aarch64", "arm64", "armv7l", "i686", "ppc64le", "riscv64", "s390x")
PLATFORMS: Final = (*_SYSTEMS, *_MACHINES, *(f"{system}-{machine}" for system in _SYSTEMS for machine in _MACHINES))
_LISTS: Final = Path(__file__).resolve().parents[2] / "cases" / "expectations"
SHIPPED: Final = {name: _LISTS / f"{name}.toml" for name in SHIPPED_NAMES}
"""Lists that come with the harness, under the names by which they can be asked for: what lmcache's own clients, servers,
storage plugins and connectors fail."""
_SHOWN: Final = 20
"""Mistakes that are told at once."""
_LARGEST: Final = 8 * 1024 * 1024


@dataclass(frozen=True)
class ExpectationsFile:
    """A list as it was read."""

    path: Path
    sha256: str
    entries: tuple[Entry, ...]

    def warnings(self) -> list[str]:
        """What is allowed but should not stay: reasons that nobody wrote, entries without an issue."""
        said = []
        unwritten = [entry.number for entry in self.entries if entry.reason.upper().startswith(TODO)]
        if unwritten:
            said.append(f"{self.path}: the reason of {_numbers(unwritten)} is still {TODO}; say why it fails")
        untold = [entry.number for entry in self.entries if entry.issue is None]
        if untold:
            said.append(f"{self.path}: no issue is named in {_numbers(untold)}; a link shows whether somebody is at work on it")
        return said


class _Mistake(Exception):
    """What was expected, and what stands there."""


def read_expectations(path: Path) -> ExpectationsFile:
    """Read and check a list; a name of :data:`SHIPPED` stands for that list unless there is such a file.

    Raises:
        UsageError: the file cannot be read, is not TOML, or has a mistake; each is named with entry and key.
    """
    path = path if path.exists() else SHIPPED.get(str(path), path)
    data = _bytes_of(path)
    try:
        document = tomllib.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not UTF-8, which TOML must be: byte {error.start} is 0x{data[error.start]:02x}") from None
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path}: not TOML: {error}") from None
    except RecursionError:
        raise UsageError(f"{path}: not a list of known failures: nested too deeply") from None
    except ValueError as error:  # a number with thousands of digits
        raise UsageError(f"{path}: not a list of known failures: {error}") from None
    mistakes: list[str] = []
    entries = _entries(document, mistakes)
    if mistakes:
        more = [f"and {len(mistakes) - _SHOWN} more"] if len(mistakes) > _SHOWN else []
        raise UsageError("\n".join(f"{path}: {line}" for line in [*mistakes[:_SHOWN], *more]))
    return ExpectationsFile(path, hashlib.sha256(data).hexdigest(), tuple(entries))


def _bytes_of(path: Path) -> bytes:
    try:
        # Not waiting: a pipe that nobody writes into must not hold up the run.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise UsageError(f"{path}: not a file that holds a list of known failures")
            data = file.read(_LARGEST + 1)
    except FileNotFoundError:
        raise UsageError(f"{path}: no such file; the option '--write-expectations {path}' makes one") from None
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from None
    if len(data) > _LARGEST:
        raise UsageError(f"{path}: more than {_LARGEST} bytes are no list of known failures")
    return data


def is_address(text: str) -> bool:
    """Whether an issue can be linked by it."""
    if not text.isprintable() or " " in text:
        return False
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.hostname)


def _entries(document: Mapping[str, Any], mistakes: list[str]) -> list[Entry]:
    mistakes += [f"{_name(key)}: unknown; the file holds [[{TABLE}]] tables and nothing else" for key in document if key != TABLE]
    tables = document.get(TABLE, [])
    if not isinstance(tables, list):
        mistakes.append(f"{TABLE}: expected [[{TABLE}]], with two brackets, before each entry; got {_shown(tables)}")
        return []
    found = [_entry(number, table, mistakes) for number, table in enumerate(tables, start=1)]
    return [entry for entry in found if entry is not None]


def _entry(number: int, table: object, mistakes: list[str]) -> Entry | None:
    if not isinstance(table, Mapping):
        mistakes.append(f"entry {number}: expected a table with the keys {', '.join(_KEYS)}; got {_shown(table)}")
        return None
    before = len(mistakes)
    values: dict[str, Any] = {}
    for key, value in table.items():
        known = _KEYS.get(key)
        if known is None:
            close = difflib.get_close_matches(key, _KEYS, 1)
            hint = f"; did you mean {close[0]}?" if close else f"; known are {', '.join(_KEYS)}"
            mistakes.append(f"entry {number}, {_name(key)}: unknown key{hint}")
            continue
        member, read = known
        try:
            values[member] = read(value)
        except _Mistake as mistake:
            mistakes.append(f"entry {number}, {key}: {mistake}")
    mistakes += [f"entry {number}, {key}: missing; expected {what}" for key, what in _REQUIRED.items() if key not in table]
    wrong_answer = Verdict.FAIL in values.get("verdicts", (Verdict.FAIL,))
    if wrong_answer and "error" not in table:
        mistakes.append(
            f"entry {number}, error: missing; expected text that the error must contain "
            '(not needed where verdict is "hang" or "crash")'
        )
    return Entry(number=number, **values) if len(mistakes) == before else None


def _some(what: str, read: Callable[[str], Any]) -> Callable[[object], tuple[Any, ...]]:
    """A reader of one text or a list of texts, none of them twice."""

    def several(value: object) -> tuple[Any, ...]:
        texts = [value] if isinstance(value, str) else value
        if not isinstance(texts, list) or not texts or not all(isinstance(text, str) for text in texts):
            raise _Mistake(f"expected {what}, or a list of such; got {_shown(value)}")
        twice = sorted({text for text in texts if texts.count(text) > 1})
        if twice:
            raise _Mistake(f"{_shown(twice[0])} stands there twice")
        return tuple(read(text) for text in texts)

    return several


def _pattern(text: str) -> str:
    if not text or text != text.strip() or not text.isprintable():
        raise _Mistake(f"expected a pattern over case ids, such as 'lm.get.*', without spaces around it; got {_shown(text)}")
    return text


def _range(text: str) -> ReleaseRange:
    try:
        return ReleaseRange.parse(text)
    except WireError as error:
        forms = "'0.5.6', '0.3.3 to 0.4.3', 'up to 0.4.3' or '0.4.4 and later'"
        raise _Mistake(f"expected releases, such as {forms}; got {_shown(text)}: {error}") from None


def _one_of(names: tuple[str, ...], shown: tuple[str, ...] | None = None) -> Callable[[str], str]:
    def read(text: object) -> str:
        if not isinstance(text, str) or text not in names:
            raise _Mistake(f"expected one of {', '.join(shown or names)}; got {_shown(text)}")
        return text

    return read


def _platform(text: str) -> str:
    return _one_of((*PLATFORMS, *names_of_this_machine()), (*_SYSTEMS, *_MACHINES, "and pairs such as linux-x86_64"))(text)


def _verdict(text: str) -> Verdict:
    if text not in EXPECTABLE:
        never = "; that the mock, the harness or its environment fails is never expected" if text in tuple(Verdict) else ""
        raise _Mistake(f"expected one of {', '.join(EXPECTABLE)}; got {_shown(text)}{never}")
    return Verdict(text)


def _text(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise _Mistake(f"expected a text that is not empty; got {_shown(value)}")
    return value.strip()


def _error(value: str) -> str:
    text = _text(value)
    if not says_something(text):
        raise _Mistake(f"expected text that the error contains, with * for any text between; every error contains {_shown(text)}")
    return text


def _url(value: object) -> str:
    if not isinstance(value, str) or not is_address(value):
        raise _Mistake(f"expected an address that begins with https:// or http://; got {_shown(value)}")
    return value


def _date(value: object) -> date:
    if isinstance(value, date) and not isinstance(value, datetime):
        return value
    hint = ""
    if isinstance(value, str):
        hint = ", in quotes" if _is_date(value) else ""
    raise _Mistake(f"expected a date without quotes and without a time, such as 2027-03-31; got {_shown(value)}{hint}")


def _is_date(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


_KEYS: Final[Mapping[str, tuple[str, Callable[[Any], Any]]]] = {
    "cases": ("cases", _some("a pattern over case ids, such as 'lm.get.*'", _pattern)),
    "releases": ("releases", _some("releases, such as '0.3.3 to 0.4.3'", _range)),
    "targets": ("targets", _some(f"one of {', '.join(TARGETS)}", _one_of(TARGETS))),
    "platforms": ("platforms", _some("a platform, such as 'linux' or 'aarch64'", _platform)),
    "outcome": ("outcome", _one_of(OUTCOMES)),
    "verdict": ("verdicts", _some(f"one of {', '.join(EXPECTABLE)}", _verdict)),
    "error": ("errors", _some("text that the error contains, with * for any text between", _error)),
    "reason": ("reason", _text),
    "issue": ("issue", _url),
    "expires": ("expires", _date),
}
"""What each key of an entry becomes, and its reader."""

_REQUIRED: Final[Mapping[str, str]] = {
    "cases": "patterns over case ids, as for --only",
    "outcome": '"fail" (must fail) or "flaky" (may fail)',
    "reason": "a sentence that says why the client fails",
    "expires": "the last day on which the entry holds, such as 2027-03-31",
}


def _shown(value: object) -> str:
    return clip(ascii(value) if not isinstance(value, str) else repr(value), 80)


def _name(key: str) -> str:
    return key if key.isprintable() and key else _shown(key)


def _numbers(found: list[int]) -> str:
    listed = ", ".join(map(str, found[:8]))
    more = f" and {len(found) - 8} more" if len(found) > 8 else ""
    return f"{'entry' if len(found) == 1 else 'entries'} {listed}{more}"
