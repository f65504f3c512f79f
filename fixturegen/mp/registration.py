"""Registration blobs that a client made, read by the real wrapper classes: in a child interpreter, and only after a look at them.

Until 0.5.5 a blob is a pickle, and a pickle can name any function of Python. Ours never loads one. It is walked opcode by opcode
first, without executing anything, and refused if it names more than the real blobs of its release do: the wrapper classes,
``torch.Size`` and data types of torch. What is left is opened by the child, with an unpickler that finds these names alone, and
then by the real class.
"""

from __future__ import annotations

import pickletools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from fixturegen.corpus import load_corpus
from fixturegen.environment import PinnedEnvironment
from wire.mp.registration import DATA_ONLY
from wire.release import Release

TIMEOUT: Final = 60.0
LARGEST: Final = 1 << 16
"""Bytes that a blob may have; real ones have a few hundred."""

DTYPES: Final = (
    *(
        "bool",
        "uint8",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint16",
        "uint32",
        "uint64",
        "float16",
        "bfloat16",
        "float32",
        "float64",
    ),
    *("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"),
)
"""Data types of torch that a KV tensor may have."""

_TEXTS: Final = frozenset({"SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8"})
_FETCHES: Final = frozenset({"BINGET", "LONG_BINGET"})
_KEEPS: Final = frozenset({"MEMOIZE", "BINPUT", "LONG_BINPUT"})
_SILENT: Final = frozenset({"PROTO", "FRAME"})
_HARMLESS: Final = frozenset(
    {
        *("NONE", "NEWTRUE", "NEWFALSE", "BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT"),
        *("SHORT_BINBYTES", "BINBYTES", "EMPTY_TUPLE", "TUPLE", "TUPLE1", "TUPLE2", "TUPLE3", "MARK"),
        *("EMPTY_DICT", "SETITEM", "SETITEMS", "EMPTY_LIST", "APPEND", "APPENDS", "NEWOBJ", "REDUCE", "BUILD", "STOP"),
    }
)

Global = tuple[str, str]
"""Module and name of something that a pickle refers to."""


class BlobRefused(Exception):
    """A blob that is not opened at all; the message says what it has that no real one has."""


@dataclass(frozen=True)
class Registration:
    """What the real class made of a blob."""

    wrapper: str | None
    """The name of the wrapper class; None where the real class refused the blob."""
    fields: Mapping[str, Any]
    """Every field that the wrapper holds, as the contract writes values."""
    refusal: str | None = None
    """What the real class raised, in words."""


def decode_registrations(
    environment: PinnedEnvironment,
    release: Release,
    blobs: Sequence[bytes],
    *,
    root: Path | None = None,
    timeout: float = TIMEOUT,
) -> list[Registration]:
    """What the real wrapper classes of a release make of blobs: one child interpreter opens all of them.

    ``root`` is the corpus whose real blobs say which names are allowed. ``timeout`` is in seconds.

    Raises:
        BlobRefused: a blob is too large, or a pickle that names or does what no real blob does; none was opened.
        EnvironmentUnavailable: the environment cannot be made.
        CaptureError: the child ended without an answer, or took too long.
    """
    allowed = allowed_globals(release, root)
    for blob in blobs:
        require_openable(release, blob, allowed)
    job = {
        "vectors": [
            {
                "id": str(number),
                "op": "mp_decode_registration",
                "args": {"bytes": {"hex": blob.hex()}, "globals": [list(name) for name in sorted(allowed)]},
            }
            for number, blob in enumerate(blobs)
        ]
    }
    outcomes = environment.run_mp_probe(release, job, timeout=timeout)["outcomes"]
    return [_registration(outcomes[str(number)]) for number in range(len(blobs))]


def _registration(outcome: Mapping[str, Any]) -> Registration:
    if "ok" not in outcome:
        error = outcome["error"]
        return Registration(None, {}, f"{error['type']}: {error['message']}")
    fields = dict(outcome["ok"]["fields"])
    return Registration(fields.pop("wrapper"), fields)


def require_openable(release: Release, blob: bytes, allowed: frozenset[Global]) -> None:
    """Nothing, if the child may be given a blob; ``allowed`` is from :func:`allowed_globals`.

    Raises:
        BlobRefused: it is too large, or a pickle that names or does what no real blob does.
    """
    if len(blob) > LARGEST:
        raise BlobRefused(f"a registration blob has {len(blob)} bytes; at most {LARGEST} are looked at")
    if not DATA_ONLY[release]:
        require_known_globals(blob, allowed)


def allowed_globals(release: Release, root: Path | None = None) -> frozenset[Global]:
    """What the real blobs of a release refer to, and the data types of torch; nothing where blobs are no pickles.

    Raises:
        CorpusError: the multiprocess protocol of the release is not captured.
    """
    if DATA_ONLY[release]:
        return frozenset()
    vectors = load_corpus(release, root, protocol="mp").vectors["mp_encode_registration"]
    blobs = [bytes.fromhex(vector.answer["bytes"]["hex"]) for vector in vectors if vector.ok is not None]
    return frozenset(name for blob in blobs for name in globals_of(blob)) | {("torch", name) for name in DTYPES}


def require_known_globals(blob: bytes, allowed: frozenset[Global]) -> None:
    """Nothing, if a pickle names only what is allowed; nothing of it is executed.

    Raises:
        BlobRefused: it names something else, does something unusual, or is no pickle.
    """
    for module, name in globals_of(blob):
        if (module, name) not in allowed:
            raise BlobRefused(f"the pickle refers to {module}.{name}, which no blob of lmcache does; it was not opened")


def globals_of(blob: bytes) -> Iterator[Global]:
    """Module and name of everything that a pickle refers to, in order.

    Only the opcodes of plain data and of lmcache's own blobs are known, and a name must be written out, or remembered from where
    it was: what cannot be followed is refused.

    Raises:
        BlobRefused: an opcode is unknown, a name cannot be followed, bytes follow the end, or it is no pickle.
    """
    pushed: list[str | None] = [None, None]
    memo: dict[int, str | None] = {}
    end = None
    try:
        for opcode, argument, place in pickletools.genops(blob):
            end = place
            if opcode.name in _TEXTS:
                pushed.append(argument)
            elif opcode.name in _FETCHES:
                pushed.append(memo.get(argument or 0))
            elif opcode.name in _KEEPS:
                memo[len(memo) if argument is None else argument] = pushed[-1]
            elif opcode.name == "STACK_GLOBAL":
                module, name = pushed[-2:]
                if module is None or name is None:
                    raise BlobRefused("the pickle refers to something by a name that it computes; it was not opened")
                yield module, name
                pushed.append(None)
            elif opcode.name in _HARMLESS:
                pushed.append(None)
            elif opcode.name not in _SILENT:
                raise BlobRefused(f"the pickle has the opcode {opcode.name}, which no blob of lmcache has; it was not opened")
    except (ValueError, UnicodeDecodeError, IndexError, OverflowError) as error:
        raise BlobRefused(f"the blob is no pickle, as the blobs of this release are ({error}); it was not opened") from None
    if end is None or end + 1 != len(blob):
        raise BlobRefused("bytes follow the end of the pickle; it was not opened")
