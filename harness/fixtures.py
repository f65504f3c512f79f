"""What the pytest fixtures ``lm_*`` give to the tests of somebody else: a mock server, and captured vectors.

Public: names and meanings here change only with the first number of the version. The fixtures are in ``harness.plugin``,
which imports this module when a test asks for one of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, NoReturn, Self

import pytest

from fixturegen.corpus import captured_releases, load_corpus
from fixturegen.errors import CorpusError
from fixturegen.vector import Vector
from harness.client import PURE
from harness.clients.schema_files import Side, bytes_members
from mockserver.faults import NO_FAULTS, FaultSpecError, NotApplicableError, parse_plan
from mockserver.journal import Journal
from mockserver.lm import LmServer
from mockserver.records import Exchange
from wire.errors import WireError
from wire.lm.frames import Description
from wire.release import Release

__all__ = ["LmMock", "LmVector", "LmVectors"]

_RELEASE: Final = "lm_release"
_VECTOR: Final = "lm_vector"
_VECTORS: Final = "lm_vectors"


class LmMock:
    """A mock ``lm://`` server of a release, on a free port of loopback; use it in a with statement, or as fixture ``lm_mock``.

    Raises:
        UnknownReleaseError: there is no such release.
    """

    def __init__(self, release: str) -> None:
        self.release = release
        self._server = LmServer(Release.parse(release))

    @property
    def host(self) -> str:
        """Where it listens."""
        return self._server.address[0]

    @property
    def port(self) -> int:
        """Where it listens; another one after :meth:`restart`."""
        return self._server.address[1]

    @property
    def address(self) -> tuple[str, int]:
        """Host and port."""
        return self._server.address

    @property
    def url(self) -> str:
        """The address as LMCache's configuration takes it: ``lm://127.0.0.1:PORT``."""
        return self._server.url

    @property
    def journal(self) -> Journal:
        """What crossed the wire, with ways to wait for it; see ``mockserver.journal``."""
        return self._server.journal

    def exchanges(self, command: str | None = None) -> Sequence[Exchange]:
        """The requests so far, in order, of one command (``"PUT"``) or of all; each has ``key``, ``header``, ``payload`` ..."""
        return self._server.journal.exchanges(command)

    def misbehave(self, *faults: str) -> None:
        """Misbehave from now on, each fault written as for ``lmconform serve --fault``; without one, behave again.

        Raises:
            ValueError: a fault is written in a way that means nothing, or names a field that the release does not have.
        """
        try:
            self._server.set_faults(parse_plan(faults) if faults else NO_FAULTS)
        except (FaultSpecError, NotApplicableError) as error:
            raise ValueError(str(error)) from None

    def store(
        self, key: str, payload: bytes, *, fmt: str = "BINARY", dtype: str | None = "uint8", shape: Sequence[int] | None = None
    ) -> None:
        """Put a value under a key string as if a client had sent it; without a shape, it is ``(length, 0, 0, 0)``.

        Raises:
            DecodeError: the real server of the release would not take the key.
        """
        dimensions = (len(payload), 0, 0, 0) if shape is None else tuple(shape)
        self._server.preload(key, Description(len(payload), fmt, dtype, dimensions), payload)

    def restart(self) -> None:
        """Drop every connection and begin again on another port with an empty store; the journal goes on."""
        self._server.restart()

    def stop(self) -> None:
        """Stop as a crash would: every connection ends, and nobody listens any more."""
        self._server.stop()

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._server.stop()


@dataclass(frozen=True)
class LmVector:
    """What the real lmcache of a release did with one input. Bytes are ``bytes``, everything else as on the contract's page."""

    id: str
    operation: str
    input: Mapping[str, Any]
    """The arguments of the operation, ``release`` included."""
    expected: Mapping[str, Any] | None
    """The members of the answer; None where lmcache refused."""
    refusal: str | None
    """What lmcache raised, in words; None where it answered."""

    def __iter__(self) -> Iterator[Mapping[str, Any] | None]:
        """So that ``for input, expected in lm_vectors("format_key")`` reads well."""
        return iter((self.input, self.expected))


class LmVectors:
    """The captured vectors of a release: ``lm_vectors("encode_request")`` is a list of :class:`LmVector`.

    Raises:
        CorpusError: the release is not captured.
    """

    def __init__(self, release: str) -> None:
        self.release = release
        self._corpus = load_corpus(Release.parse(release))

    @property
    def operations(self) -> tuple[str, ...]:
        """The operations with vectors."""
        return tuple(op for op in PURE if self._corpus.vectors.get(op))

    def __call__(self, operation: str, *, refused: bool = False) -> list[LmVector]:
        """The vectors that lmcache answered, or those that it ``refused``.

        Answers that differ from process to process are left out.

        Raises:
            LookupError: nothing is captured under that name.
        """
        if operation not in self.operations:
            raise LookupError(f"no vectors of {operation!r} for lmcache {self.release}; there are {', '.join(self.operations)}")
        found = (vector for vector in self._corpus.vectors[operation] if vector.volatile is None)
        return [_public(vector, self.release) for vector in found if (vector.ok is None) is refused]


def _public(vector: Vector, release: str) -> LmVector:
    args = {"release": release, **_with_bytes(vector.op, "args", vector.args)}
    if vector.ok is None:
        return LmVector(vector.id, vector.op, args, None, vector.refusal)
    return LmVector(vector.id, vector.op, args, _with_bytes(vector.op, "ok", vector.ok), None)


def _with_bytes(op: str, side: Side, values: Mapping[str, Any]) -> dict[str, Any]:
    held = bytes_members(op, side)
    return {name: bytes.fromhex(value["hex"]) if name in held else value for name, value in values.items()}


def releases_of(config: pytest.Config, node: pytest.Item) -> list[str]:
    """The releases that a test speaks: those of the marker nearest to it, those of the ini file, or the newest captured.

    Raises:
        pytest.fail.Exception: one of them is none, or not captured.
    """
    marker = node.get_closest_marker(_RELEASE)
    chosen = [*marker.args] if marker is not None else config.getini(_RELEASE)
    captured = [str(release) for release in captured_releases()]
    if not chosen:
        if marker is not None:
            _fail(f'{node.nodeid}: @pytest.mark.{_RELEASE} names no release; write one such as "{captured[-1]}"')
        return captured[-1:]
    if chosen == ["all"]:
        return captured
    wrong = [text for text in chosen if text not in captured]
    if wrong:
        where = f"@pytest.mark.{_RELEASE} of {node.nodeid}" if marker is not None else f"the ini option {_RELEASE}"
        _fail(f"{where}: {wrong[0]!r} is not captured; there are {', '.join(captured)}, and all")
    return list(chosen)


def parametrize(metafunc: pytest.Metafunc) -> None:
    """Run a test once for each release and each vector that it asks for.

    Raises:
        pytest.fail.Exception: a marker makes no sense.
    """
    if _given_by_the_test(metafunc, _VECTOR):
        return
    node: Any = metafunc.definition
    marker = node.get_closest_marker(_VECTORS) if _VECTOR in metafunc.fixturenames else None
    if _given_by_the_test(metafunc, _RELEASE):
        if marker is not None:
            _fail(f"{node.nodeid}: choose the releases of {_VECTOR} by @pytest.mark.{_RELEASE}")
        return
    releases = releases_of(metafunc.config, node)
    if marker is not None:
        found = [vector for release in releases for vector in _marked(marker, release, node.nodeid)]
        ids = [f"{vector.input['release']}-{vector.id}" for vector in found]
        if _RELEASE in metafunc.fixturenames:
            metafunc.parametrize((_RELEASE, _VECTOR), [(vector.input["release"], vector) for vector in found], ids=ids)
        else:
            metafunc.parametrize(_VECTOR, found, ids=ids)
    elif len(releases) > 1:
        metafunc.parametrize(_RELEASE, releases)


def _marked(marker: pytest.Mark, release: str, test: str) -> list[LmVector]:
    try:
        return LmVectors(release)(*marker.args, **marker.kwargs)
    except (LookupError, TypeError, CorpusError, WireError) as error:
        _fail(f"{test}: @pytest.mark.{_VECTORS}: {error}")


def _given_by_the_test(metafunc: pytest.Metafunc, name: str) -> bool:
    """Whether a test chooses the values of a parameter itself."""
    node: Any = metafunc.definition
    named = (mark.args[0] for mark in node.iter_markers("parametrize") if mark.args)
    return any(name in ([word.strip() for word in names.split(",")] if isinstance(names, str) else names) for names in named)


def _fail(message: str) -> NoReturn:
    """Fail the test, or the collection of its file, with a message and no traceback."""
    pytest.fail(message, pytrace=False)
