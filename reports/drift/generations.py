"""Short labels for how a release does each part of the wire, for tables over many releases."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from reports.drift.model import Aspect
from reports.drift.mp.conversations import transcripts
from reports.drift.mp.registrations import WRITES, form_of
from reports.drift.observe.chain import TEXT_CHAIN, UNCHANGED
from reports.drift.observe.frames import SUBJECTS, Frames
from reports.drift.observe.observed import Observed
from reports.drift.words import ranges, value
from reports.words import count, verb

Parts = Mapping[str, str]
"""A label of several parts; those that no release does otherwise are left out."""


def labels(observed: Sequence[Observed], aspect: Aspect) -> list[str | None]:
    """How each release does a part of the wire; None where its capture holds nothing about it."""
    found = [_LABELS[aspect](one) if one.lm or aspect in MP_ASPECTS else None for one in observed]
    parts = [one for one in found if isinstance(one, Mapping)]
    varying = [
        name
        for name in dict.fromkeys(name for one in parts for name in one)
        if len({one[name] for one in parts if name in one}) > 1
    ]
    return [_joined(one, varying) if isinstance(one, Mapping) else one for one in found]


def _joined(parts: Parts, varying: Sequence[str]) -> str:
    return ", ".join(f"{name} {found}" for name, found in parts.items() if name in varying or not varying)


def _size(frames: Frames | None) -> str | None:
    return None if frames is None else f"{frames.layout.size} bytes"


def _numbers(observed: Observed) -> Parts | None:
    if observed.request is None:
        return None
    written = observed.request.written
    return {f"{subject}s": ranges(list(written[subject].values())) for subject in SUBJECTS if written.get(subject)}


def _shapes(observed: Observed) -> str | None:
    if observed.request is None:
        return None
    taken = ranges([rank for rank, good in observed.request.ranks.items() if good])
    return f"{taken} dimensions{', trailing zeros dropped' if observed.request.stripping.stripped else ''}"


def _key_string(observed: Observed) -> str | None:
    return None if observed.strings is None else f"{observed.strings.pattern}, hash {observed.strings.hash_style}"


def _key_reading(observed: Observed) -> str | None:
    if observed.reader is None:
        return None
    base = {"text": "hash is text", "base 10": "decimal hash", "base 16": "hexadecimal hash"}[observed.reader.base]
    layers = ", layers" if observed.reader.layers else ""
    return f"{base}, tags {observed.reader.tags}{layers}"


def _chain(observed: Observed) -> str | None:
    chain = observed.chain
    text = "sha256 of text and tokens" if chain.input == TEXT_CHAIN else chain.input
    folded = chain.in_chain not in {None, UNCHANGED}
    return f"{text}{f'; of digests {chain.in_chain}' if folded else ''}"


def _defaults(observed: Observed) -> Parts | None:
    for _, ok in observed.evidence.answered("defaults"):
        return {name: value(found) for name, found in ok.items()}
    return None


def _metadata(observed: Observed) -> str | None:
    if not observed.metadata:
        return None
    groups = f"{ranges(list(observed.metadata))} {verb(len(observed.metadata), 'group', 'groups')}"
    return f"{min(frames.layout.size for frames in observed.metadata.values())} bytes, {groups}"


def _captured(*ops: str) -> Callable[[Observed], str | None]:
    def found(observed: Observed) -> str | None:
        return "as first captured" if any(observed.evidence.of(op) for op in ops) else None

    return found


def _mp_operations(observed: Observed) -> str | None:
    if observed.mp is None:
        return None
    asking = observed.mp.operations.get("GET_CHUNK_SIZE")
    return f"{count(len(observed.mp.operations), 'operation')}{f', GET_CHUNK_SIZE {asking.wire}' if asking else ''}"


def _mp_records(observed: Observed) -> str | None:
    if observed.mp is None:
        return None
    key = next((members for name, members in observed.mp.records.items() if name.startswith("IPCCache")), None)
    return "as first captured" if key is None else f"key of {count(len(key), 'field')}"


def _mp_registration(observed: Observed) -> str | None:
    if observed.mp is None:
        return None
    blobs = [ok["bytes"]["hex"] for vector, ok in observed.mp.evidence.answered(WRITES) if vector.id.endswith(".cuda.plain")]
    return f"CUDA: {form_of(bytes.fromhex(blobs[0]))}" if blobs else "as first captured"


def _mp_captured(*ops: str) -> Callable[[Observed], str | None]:
    def found(observed: Observed) -> str | None:
        return "as first captured" if observed.mp is not None and any(observed.mp.evidence.of(op) for op in ops) else None

    return found


MP_ASPECTS: Final = frozenset(aspect for aspect in Aspect if aspect.value.startswith("mp "))
_LABELS: Final[Mapping[Aspect, Callable[[Observed], str | Parts | None]]] = MappingProxyType(
    {
        Aspect.REQUEST_HEADER: lambda observed: _size(observed.request),
        Aspect.REPLY_HEADER: lambda observed: _size(observed.reply),
        Aspect.NUMBERS: _numbers,
        Aspect.SHAPES: _shapes,
        Aspect.KEY_STRING: _key_string,
        Aspect.KEY_READING: _key_reading,
        Aspect.CHUNK_CHAIN: _chain,
        Aspect.CHUNKS: _captured("chunk_keys"),
        Aspect.DEFAULTS: _defaults,
        Aspect.ANSWERS: lambda observed: "as first captured" if observed.evidence.transcripts else None,
        Aspect.METADATA: _metadata,
        Aspect.TOKEN_HASHES: _captured("token_hashes"),
        Aspect.LAYOUTS: _captured("pack_layout", "unpack_layout"),
        Aspect.OTHER: lambda _: "as first captured",
        Aspect.MP_COLLISIONS: lambda _: None,
        Aspect.MP_OPERATIONS: _mp_operations,
        Aspect.MP_PAYLOADS: _mp_captured("mp_operations"),
        Aspect.MP_RECORDS: _mp_records,
        Aspect.MP_FRAMES: _mp_captured("mp_encode_request", "mp_encode_reply"),
        Aspect.MP_READING: _mp_captured("mp_decode_request", "mp_decode_reply"),
        Aspect.MP_REGISTRATION: _mp_registration,
        Aspect.MP_OBJECTS: _mp_captured("mp_object_keys"),
        Aspect.MP_ANSWERS: lambda observed: "as first captured" if observed.mp and transcripts(observed.mp) else None,
        Aspect.UNEXPLAINED: lambda _: "as first captured",
    }
)
