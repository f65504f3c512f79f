"""Recordings as tests: a case that a server must answer as it was recorded, and the same at once.

Public: test modules that ``lmconform tap case`` writes import :func:`differences`.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from harness.tap.recording import Recording, RecordingError
from harness.tap.wires import wire
from harness.usage import UsageError
from reports.escape import escape
from reports.plain import clip
from wire.release import KNOWN_RELEASES, Release

_LONGEST_CASE: Final = 1 << 30
_NAME: Final = re.compile(r"[a-z][a-z0-9_]*")
_MODULE: Final = '''"""The server answers as it did when {source} was recorded.

Made by 'lmconform tap case'. It plays {data} against the server at LM_SERVER=HOST:PORT, or, without that
variable, against the mock server of the release.
"""

import os
from pathlib import Path

import pytest
from harness.tap.case import differences

CASE = Path(__file__).with_name("{data}")


@pytest.fixture
def server(request):
    named = os.environ.get("LM_SERVER")
    if named:
        host, _, port = named.rpartition(":")
        return host, int(port)
    return request.getfixturevalue("lm_mock").address


@pytest.mark.lm_release("{release}")
def test_{name}(server, lm_release):
    assert differences(*server, CASE) == []
'''

_MP_MODULE: Final = '''"""The server answers as it did when {source} was recorded.

Made by 'lmconform tap case'. It plays {data} against the server at MP_SERVER=HOST:PORT, or, without that
variable, against the mock server of the release.
"""

import os
from pathlib import Path

import pytest
from harness.tap.case import differences, mock_of

CASE = Path(__file__).with_name("{data}")


@pytest.fixture
def server():
    named = os.environ.get("MP_SERVER")
    if named:
        host, _, port = named.rpartition(":")
        yield host, int(port)
        return
    with mock_of("mp", "{release}") as address:
        yield address


def test_{name}(server):
    assert differences(*server, CASE) == []
'''
_MODULES: Final = {"lm": _MODULE, "mp": _MP_MODULE}


@contextlib.contextmanager
def mock_of(protocol: str, release: str) -> Iterator[tuple[str, int]]:
    """The address of a mock server of a release, until the block ends.

    Raises:
        UsageError: the release has no server of this protocol.
    """
    chosen = Release.parse(release)
    if protocol == "lm":
        from mockserver.lm import LmServer

        with LmServer(chosen) as lm:
            yield lm.address
        return
    from mockserver.mp import MpServer
    from wire.mp.operations import FIRST_RELEASE

    if chosen < FIRST_RELEASE:
        raise UsageError(f"lmcache {chosen} has no multiprocess server; the oldest with one is {FIRST_RELEASE}")
    with MpServer(chosen) as mp:
        yield mp.address


def make_case(path: Path, name: str) -> dict[str, Any]:
    """What a recording says of a server, as the content of a case file.

    Raises:
        RecordingError: the file cannot be read, or is no recording.
        UsageError: its protocol has no cases.
    """
    with Recording(path) as recording:
        header = recording.header
        known = wire(header.protocol)
        if known.transcribe is None:
            raise UsageError(f"recordings of the wire {header.protocol!r} cannot be made into cases")
        events = list(recording.events())
        story = known.tell(header, events, None)
        server = story.guesses["server"]
        guessed = server.candidates[-1] if server.candidates else Release.parse(KNOWN_RELEASES[-1])
        release = str(Release.parse(header.profile) if header.profile is not None else guessed)
        title = f"What crossed the wire between {header.listen} and {header.to}, {header.started}."
        return {"protocol": header.protocol, "release": release, "transcript": known.transcribe(events, name, title)}


def write_case(path: Path, folder: Path, name: str) -> tuple[Path, Path]:
    """Write a case file and a test module for a recording.

    Returns:
        The module, and the case file beside it.

    Raises:
        RecordingError: the file cannot be read, or is no recording; or one of the two files is there already.
        UsageError: the name is no name of a test, the folder cannot be made, or the protocol has no cases.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(f"--name takes lower-case letters, digits and underscores, as in the name of a test, not {name!r}")
    module, data = folder / f"test_{name}.py", folder / f"{name}.case.json"
    for file in (module, data):
        if file.exists() or file.is_symlink():
            raise RecordingError(f"{escape(str(file))} is there already; give another --name, or remove it first")
    case = make_case(path, name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--out {folder}: cannot be made: {error.strerror}; name another folder") from None
    source = re.sub(r"[^A-Za-z0-9._-]", "_", path.name)
    text = _MODULES[case["protocol"]].format(source=source, data=data.name, release=case["release"], name=name)
    for file, content in ((module, text), (data, json.dumps(case, indent=1) + "\n")):
        with file.open("x", encoding="utf-8") as opened:
            opened.write(content)
    return module, data


def differences(host: str, port: int, case: Path) -> Sequence[str]:
    """Play a case against a server: where it answers otherwise than recorded, at the latest after the first such place.

    Raises:
        RecordingError: the file is no case.
        OSError: the server cannot be reached.
    """
    content = read_case(case)
    if content is None:
        raise RecordingError(f"{escape(str(case))} is no case of 'lmconform tap case'")
    return play(host, port, content["protocol"], content["transcript"])


def read_case(path: Path) -> dict[str, Any] | None:
    """The content of a case file; None if it is something else, such as a recording.

    Raises:
        RecordingError: it cannot be read.
    """
    try:
        with path.open("rb") as file:
            begin = file.read(64)
            if b'"record"' in begin:
                return None
            content = json.loads(begin + file.read(_LONGEST_CASE))
    except OSError as error:
        raise RecordingError(f"cannot read {escape(str(path))}: {error.strerror}") from None
    except (ValueError, RecursionError):
        return None
    known = isinstance(content, dict) and isinstance(content.get("transcript"), dict)
    return content if known and content.get("protocol") in ("lm", "mp") and isinstance(content.get("release"), str) else None


def play(host: str, port: int, protocol: Any, transcript: Mapping[str, Any]) -> Sequence[str]:
    """Play a transcript against a server.

    Raises:
        UsageError: the protocol has no cases, or a step of the transcript cannot be read.
    """
    known = wire(protocol)
    if known.play is None:
        raise UsageError(f"cases of the wire {protocol!r} cannot be played")
    try:
        return known.play(host, port, transcript)
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        raise UsageError(
            f"the case cannot be played: {type(error).__name__}: {clip(escape(str(error)), 200)}; was it edited? "
            "'lmconform tap case' makes another of the recording"
        ) from None
