"""Captured messages of the multiprocess server, frame by frame."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from docs.generator.spec import msgpack_parts, pickle_parts
from docs.generator.spec.annotated import Part, annotated, fenced, framed, several
from docs.generator.spec.corpus import captured, conversation_place, mp_transcript, place, vector
from docs.generator.spec.mp_operations import FIRST
from docs.generator.spec.mp_payloads import names_of
from docs.generator.spec.words import spanned
from fixturegen.vector import Vector
from wire.mp.objects import kv_rank
from wire.mp.operations import OperationTable, operation_table
from wire.mp.registration import DATA_ONLY
from wire.release import RangeTable, Release

NEWEST: Final = captured("mp")[-1]
_REGISTER: Final = "register-kv-cache-engine-driven-context"
_LOOKUP_FORMS: Final = RangeTable(
    "forms of LOOKUP", *((first, None) for first in ("0.3.9.post1", "0.3.14", "0.3.15", "0.4.1", "0.4.2", "0.4.4", "0.5.5"))
)
"""Where LOOKUP takes other payloads or another record than before; a test holds it against the corpus."""


def plain() -> str:
    """A request without payloads, its reply, and replies without a result."""
    found = mp_transcript(NEWEST, "mp.server.control.once-unregister-kv-cache")
    sends = [step.values["frames"] for step in found.steps if step.do == "send"]
    receives = [step.values["got"]["frames"] for step in found.steps if step.do == "receive"]
    where = conversation_place(NEWEST, found.id, "mp")
    shown = (
        ("A request with one payload", "UNREGISTER_KV_CACHE", sends[0], False),
        ("NOOP, without payloads", "NOOP", sends[1], False),
        ("The reply to NOOP", "NOOP", receives[0], True),
        ("The reply to the first: no result, so no third frame", "UNREGISTER_KV_CACHE", receives[1], True),
    )
    return several(
        [
            (f"{title} ({where}):", _message(NEWEST, name, [bytes.fromhex(frame) for frame in frames], reply=reply))
            for title, name, frames, reply in shown
        ]
    )


def lookups() -> str:
    """LOOKUP in every form that it ever had."""
    examples = []
    for span, _ in _LOOKUP_FORMS.rows():
        release = [text for text in captured("mp") if Release.parse(text) in span][-1]
        found = vector(release, "mp.request.encode.lookup.plain", "mp")
        examples.append(
            (f"{spanned(span, first=FIRST)}, here of {release} ({place(release, found, 'mp')}):", _request(release, found))
        )
    return several(examples)


def transfers() -> str:
    """Registration, and the two steps of a store and of a retrieve."""
    shown = (
        ("The registration of an engine that copies its chunks itself", f"mp.request.encode.{_REGISTER}.plain", False),
        ("Its reply", f"mp.reply.encode.{_REGISTER}.plain", True),
        ("PREPARE_STORE", "mp.request.encode.prepare-store.plain", False),
        ("Its reply", "mp.reply.encode.prepare-store.plain", True),
        ("COMMIT_STORE with shared memory: the last payload is empty", "mp.request.encode.commit-store.data-none", False),
        ("Its reply", "mp.reply.encode.commit-store.plain", True),
        ("The reply to PREPARE_RETRIEVE", "mp.reply.encode.prepare-retrieve.plain", True),
        ("The reply to QUERY_PREFETCH_STATUS of a lookup that is done", "mp.reply.encode.query-prefetch-status.plain", True),
        ("and of one that runs: nil, so no third frame", "mp.reply.encode.query-prefetch-status.none", True),
    )
    examples = []
    for title, identity, reply in shown:
        found = vector(NEWEST, identity, "mp")
        body = _message(NEWEST, found.args["operation"], [b"", *_frames(found)], reply=reply)
        examples.append((f"{title} ({place(NEWEST, found, 'mp')}):", body))
    return several(examples)


def stream() -> str:
    """A subscription, its first batch, the credit for the next one, and its end."""
    identity = "mp.server.shared-memory.kv-events"
    found = mp_transcript(NEWEST, identity)
    sends = [step.values["frames"] for step in found.steps if step.do == "send" and step.connection == "events"]
    titles = ("The subscription", "Credit for one more batch", "The end")
    examples = []
    for title, frames in zip(titles, (sends[0], sends[1], sends[-1]), strict=True):
        message = [bytes.fromhex(frame) for frame in frames]
        body = _control(message) if not message[1] else _message(NEWEST, "SUBSCRIBE_KV_EVENTS", message, reply=False)
        examples.append((f"{title} ({conversation_place(NEWEST, identity, 'mp')}):", body))
    return several(examples)


def _control(message: Sequence[bytes]) -> str:
    return framed(
        [
            ("frame 0, uid of the subscription", [Part(message[0], "", "0")]),
            ("frame 1, an empty frame in the operation's place", []),
            ("frame 2, bytes, no msgpack", [Part(message[2], "", message[2].decode())]),
        ]
    )


def tensors() -> str:
    """A KV tensor as a map and as a pickle."""
    examples = []
    for span, as_map in reversed(list(DATA_ONLY.rows())):
        release = [text for text in captured("mp") if Release.parse(text) in span][-1]
        found = vector(release, "mp.registration.encode.cpu-shm.plain", "mp")
        data = bytes.fromhex(found.answer["bytes"]["hex"])
        held = msgpack_parts.parts(data) if as_map else pickle_parts.parts(data)
        title = f"{'A map' if as_map else 'A pickle'}, {spanned(span, first=FIRST)}, here of {release}"
        examples.append((f"{title} ({place(release, found, 'mp')}):", annotated(held)))
    return several(examples)


def pickled_chunks() -> str:
    """Chunks as they travel without shared memory: a pickled list of tensors, and the storage inside."""
    identity = "mp.server.pickle.store-again"
    found = mp_transcript(NEWEST, identity)
    table = operation_table(Release.parse(NEWEST))
    commit = f"{table.named('COMMIT_STORE').number:02x}"
    message = next(step.values["frames"] for step in found.steps if step.do == "send" and step.values["frames"][1] == commit)
    pickle = bytes.fromhex(message[-1])[3:]
    storage = pickle_parts.largest(pickle)
    pickles, rest = pickle_parts.sequence(storage, 5)
    titles = (
        "the number that every such storage begins with",
        "the version of the form",
        "the machine",
        "the storage: class, key, place, number of elements",
        "the keys that follow",
    )
    held = [Part(each, f"pickle {index}", title) for index, (each, title) in enumerate(zip(pickles, titles, strict=True))]
    held += [
        Part(rest[:8], "count", f"{int.from_bytes(rest[:8], 'little')} elements, as int64"),
        Part(rest[8:], "elements", f"{len(rest) - 8} bytes, row by row, little-endian"),
    ]
    where = conversation_place(NEWEST, identity, "mp")
    outside = [
        Part(part.data, part.name, f"{len(storage)} bytes: the storage, below") if storage in part.data else part
        for part in pickle_parts.parts(pickle)
    ]
    return several(
        [
            (
                f"The last payload of a COMMIT_STORE of one chunk, without its three bytes of msgpack ({where}):",
                annotated(outside),
            ),
            ("The storage in it:", annotated(held)),
            ("Its fourth pickle, which says what the elements are:", annotated(pickle_parts.parts(pickles[3]))),
        ]
    )


def object_names() -> str:
    """From the tokens of a key to the names of its objects."""
    found = vector(NEWEST, "mp.objects.range.two-chunks", "mp")
    key, answer = found.args["key"], found.answer
    rank = kv_rank(key["world_size"], key["worker_id"])
    first, end = key["token_ids"]["range"]
    lines = [
        f"model           {key['model_name']}",
        f"tokens          {first}, {first + 1}, ... {end - 1}, in chunks of {found.args['chunk_size']}",
        f"rank            {key['worker_id']} of {key['world_size']}: {rank.to_bytes(4, 'big').hex(' ')}, as a number {rank}",
    ]
    for index, (each, name) in enumerate(zip(answer["keys"], answer["names"], strict=True)):
        lines += ["", f"chunk {index}", f"hash            {each['chunk_hash']['hex']}", f"name            {name}"]
    return f"A key record that means two chunks ({place(NEWEST, found, 'mp')}):\n\n" + fenced(lines)


def _frames(found: Vector) -> list[bytes]:
    return [bytes.fromhex(frame["hex"]) for frame in found.answer["frames"]]


def _request(release: str, found: Vector) -> str:
    return _message(release, found.args["operation"], [b"", *_frames(found)], reply=False)


def _message(release: str, name: str, message: Sequence[bytes], *, reply: bool) -> str:
    """A message as a fenced block; an empty first frame stands for a uid that was not captured with it."""
    table = operation_table(Release.parse(release))
    operation = table.named(name)
    blocks: list[tuple[str, Sequence[Part]]] = []
    if message[0]:
        blocks.append(("frame 0, uid", msgpack_parts.parts(message[0])))
    blocks.append(("frame 1, operation", [Part(message[1], "", _operation(table, message[1], name))]))
    titles = ["result"] if reply else names_of(Release.parse(release), operation)
    types: Sequence[Any] = [operation.result] if reply else operation.payloads
    for index, frame in enumerate(message[2:], start=2):
        title, type_ = titles[index - 2], types[index - 2]
        blocks.append((f"frame {index}, {title} ({type_})", msgpack_parts.parts(frame)))
    return framed(blocks)


def _operation(table: OperationTable, frame: bytes, name: str) -> str:
    number = table.named(name).number
    return f"{number}, {name}" if isinstance(number, int) else f'"{number}", {len(frame)} bytes of text'
