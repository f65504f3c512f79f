"""Messages that no client of lmcache sends; after each, a NOOP on a connection of its own says whether anybody still answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from fixturegen.mp.launch import SHARED_MEMORY
from fixturegen.mp.script import JOB, REGISTER, UNREGISTER, Script, counts_lookups, tokens
from wire.mp.records import KEY_RECORD, fields_of
from wire.mp.values import Value, pack
from wire.release import Release

Frames = Callable[[Script], list[bytes]]


def scripts(release: Release) -> Iterator[Script]:
    """The scripts of a release."""
    for name, (title, frames) in _cases(release).items():
        script = Script(release, name, title, "control")
        bind = {}
        if name in KEYS and counts_lookups(release):
            script.bound["job"], bind = JOB, {"": "job"}
        if name in KEYS and REGISTER[release] is not None:
            script.setting = "shared-memory" if SHARED_MEMORY[release] else "pickle"
            script.register()
        yield script.raw(*frames(script)).unsure(bind)


def _cases(release: Release) -> dict[str, tuple[str, Frames]]:
    found = {name: case for name, case in MESSAGES.items() if name not in COSTLY or release in COSTLY_RELEASES}
    probe = Script(release, "probe", "", "control")
    if "END_SESSION" in probe.table:
        found |= TEXT_PAYLOADS
    if _key_alone(probe):
        found |= KEYS
    return found


def _number(script: Script, name: str) -> bytes:
    return pack(script.table.named(name).number)


def _unused(script: Script) -> int:
    return 1 + max(operation.number for operation in script.table.operations if isinstance(operation.number, int))


def _key_alone(script: Script) -> bool:
    """Whether LOOKUP takes one key of tokens and another payload."""
    names = {field.name for field in fields_of(script.release, KEY_RECORD[script.release])}
    return "token_ids" in names and "QUERY_PREFETCH_STATUS" in script.table


def _key(change: Callable[[dict[str, Value]], Value]) -> Frames:
    def frames(script: Script) -> list[bytes]:
        record = script.key(tokens(1), worker=None).record(script.release)
        changed = change(record)
        return [script.uid(), _number(script, "LOOKUP"), pack(record if changed is None else changed), pack(1)]

    return frames


def _with(**members: Value) -> Callable[[dict[str, Value]], Value]:
    return lambda record: {**record, **members}


def _without(name: str) -> Callable[[dict[str, Value]], Value]:
    return lambda record: {member: value for member, value in record.items() if member != name}


_OLDEST: Final = ("model_name", "world_size", "worker_id", "token_ids", "start", "end", "request_id")
HUGE: Final = (1 << 64) - 1

COSTLY: Final = (
    "number-zero", "known-name", "boolean-operation", "float-operation", "empty-operation", "bad-operation", "two-values"
)  # fmt: skip
"""Messages that kill the message thread until 0.5.5, each for the reason of another one: a frame that is no operation."""
COSTLY_RELEASES: Final = [Release.parse(text) for text in ("0.3.15", "0.4.7", "0.5.5", "0.5.6")]
"""Releases to which they are sent: each needs a server of its own."""

MESSAGES: Final[dict[str, tuple[str, Frames]]] = {
    "one-frame": ("A message of one frame.", lambda script: [script.uid()]),
    "empty-uid": ("An empty uid.", lambda script: [b"", _number(script, "NOOP")]),
    "empty-delimiter": (
        "An empty delimiter before the uid, as a REQ socket sends it: the uid stands in the place of the operation.",
        lambda script: [b"", b"\x00", _number(script, "NOOP")],
    ),
    "delimiter-and-noop": (
        "An empty delimiter before a uid that is the number of NOOP.",
        lambda script: [b"", _number(script, "NOOP"), _number(script, "NOOP")],
    ),
    "unknown-number": ("An operation number behind the last.", lambda script: [script.uid(), pack(_unused(script))]),
    "number-zero": ("Operation 0.", lambda script: [script.uid(), pack(0)]),
    "unknown-name": ("An operation by a name that there is not.", lambda script: [script.uid(), pack("no_such_operation")]),
    "known-name": ("An operation by its name.", lambda script: [script.uid(), pack("noop")]),
    "boolean-operation": ("True in the place of the operation.", lambda script: [script.uid(), pack(True)]),
    "float-operation": (
        "The number of NOOP as a float.",
        lambda script: [script.uid(), pack(float(script.table.named("NOOP").number))],
    ),
    "wide-number": (
        "The number of NOOP in eight bytes.",
        lambda script: [script.uid(), b"\xcf" + int(script.table.named("NOOP").number).to_bytes(8, "big")],
    ),
    "empty-operation": ("An empty frame in the place of the operation.", lambda script: [script.uid(), b""]),
    "bad-operation": ("A byte that msgpack does not use in the place of the operation.", lambda script: [script.uid(), b"\xc1"]),
    "two-values": ("Two values in the frame of the operation.", lambda script: [script.uid(), _number(script, "NOOP") * 2]),
    "one-payload-more": ("A payload for NOOP.", lambda script: [script.uid(), _number(script, "NOOP"), pack(None)]),
    "one-empty-payload": ("An empty payload for NOOP.", lambda script: [script.uid(), _number(script, "NOOP"), b""]),
    "no-payload": ("LOOKUP without payloads.", lambda script: [script.uid(), _number(script, "LOOKUP")]),
    "bad-payload": (
        "Payloads that are no msgpack.",
        lambda script: [script.uid(), _number(script, UNREGISTER[script.release] or "UNREGISTER_KV_CACHE"), b"\xc1"],
    ),
    "text-for-number": (
        "A text where a number belongs.",
        lambda script: [script.uid(), _number(script, UNREGISTER[script.release] or "UNREGISTER_KV_CACHE"), pack("seven")],
    ),
    "digits-for-number": (
        "Digits as a text where a number belongs.",
        lambda script: [script.uid(), _number(script, UNREGISTER[script.release] or "UNREGISTER_KV_CACHE"), pack("7")],
    ),
    "float-for-number": (
        "A float where a number belongs.",
        lambda script: [script.uid(), _number(script, UNREGISTER[script.release] or "UNREGISTER_KV_CACHE"), pack(7.5)],
    ),
    "nil-for-number": (
        "Nil where a number belongs.",
        lambda script: [script.uid(), _number(script, UNREGISTER[script.release] or "UNREGISTER_KV_CACHE"), pack(None)],
    ),
    "huge-for-number": (
        "2**64 - 1 where a number belongs.",
        lambda script: [script.uid(), _number(script, UNREGISTER[script.release] or "UNREGISTER_KV_CACHE"), pack(HUGE)],
    ),
}
TEXT_PAYLOADS: Final[dict[str, tuple[str, Frames]]] = {
    "number-for-text": (
        "A number where a text belongs.",
        lambda script: [script.uid(), _number(script, "END_SESSION"), pack(7)],
    ),
    "bytes-for-text": (
        "Bytes where a text belongs.",
        lambda script: [script.uid(), _number(script, "END_SESSION"), pack(b"r1")],
    ),
    "bad-utf8": (
        "A text that is no UTF-8.",
        lambda script: [script.uid(), _number(script, "END_SESSION"), b"\xa2\xff\xfe"],
    ),
    "cut-text": (
        "A text that ends before its length.",
        lambda script: [script.uid(), _number(script, "END_SESSION"), b"\xa9cut"],
    ),
}
KEYS: Final[dict[str, tuple[str, Frames]]] = {
    "key-unknown-field": ("A key with a field that nobody knows.", _key(_with(invented=[1, {"a": None}]))),
    "key-array": ("A key as an array of its values.", _key(lambda record: list(record.values()))),
    "key-bytes": ("Bytes for a key.", _key(lambda _record: b"key")),
    "key-reordered": ("A key whose fields come in another order.", _key(lambda record: dict(reversed(record.items())))),
    "key-no-model": ("A key without its model.", _key(_without("model_name"))),
    "key-no-tokens": ("A key without its tokens.", _key(_without("token_ids"))),
    "key-no-request": ("A key without its request.", _key(_without("request_id"))),
    "key-no-worker": ("A key without its worker.", _key(_without("worker_id"))),
    "key-required-only": (
        "A key with the fields alone that have been there since keys hold tokens.",
        _key(lambda record: {name: record[name] for name in _OLDEST}),
    ),
    "key-text-tokens": ("A text for the tokens.", _key(_with(token_ids="abc"))),  # noqa: S106  # of a prompt
    "key-bytes-tokens": ("Bytes for the tokens.", _key(_with(token_ids=bytes(16)))),
    "key-float-tokens": ("Floats for the tokens.", _key(_with(token_ids=[1.0] * 16))),
    "key-negative-token": ("A negative token.", _key(_with(token_ids=[-1] * 16))),
    "key-large-tokens": ("Tokens of 2**32 - 1.", _key(_with(token_ids=[(1 << 32) - 1] * 16))),
    "key-larger-tokens": ("Tokens of 2**32.", _key(_with(token_ids=[1 << 32] * 16))),
    "key-huge-tokens": ("Tokens of 2**64 - 1.", _key(_with(token_ids=[HUGE] * 16))),
    "key-huge-end": ("A range that ends at 2**63.", _key(_with(end=1 << 63))),
    "key-negative-start": ("A range that begins at -16.", _key(_with(start=-16))),
    "key-end-before-start": ("A range that ends before it begins.", _key(_with(start=16, end=0))),
    "key-text-world": ("A text for the world size.", _key(_with(world_size="1"))),
    "key-no-world": ("A world of no workers.", _key(_with(world_size=0))),
    "key-huge-world": ("A world of 2**32 workers.", _key(_with(world_size=1 << 32))),
    "key-worker-outside": ("A worker outside its world.", _key(_with(worker_id=9))),
    "key-salt-with-at": ("A salt with the character that separates the parts of names.", _key(_with(cache_salt="a@b"))),
    "key-long-salt": ("A salt of 129 characters.", _key(_with(cache_salt="s" * 129))),
    "key-nil-salt": ("Nil for the salt.", _key(_with(cache_salt=None))),
}
