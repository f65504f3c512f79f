"""Defects by which a value goes to somebody for whom it was not stored."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any

from harness.client import ClientError
from harness.mutants.mutant import mutant
from harness.reference.lm import LmConnection, ReferenceClient
from wire.lm.enums import ITEM_SIZES
from wire.lm.frames import Description

Answer = dict[str, Any]


@mutant(
    "layer-added-to-worker",
    stands_for="A flat slot number in place of rank and layer: no single change shows that worker 0 layer 1 is worker 1 layer 0.",
    releases="0.3.14 and later",
    found_by=("lm.pairwise.keys", "lm.counterexamples.program"),
)
class AddsTheLayerToTheWorker(ReferenceClient):
    """Stores layers under the sum of worker and layer."""

    def _key(self, link: LmConnection, key: Mapping[str, Any]) -> str:
        if key["layer"] is None:
            return super()._key(link, key)
        return super()._key(link, {**key, "worker_id": key["worker_id"] + key["layer"], "layer": 0})


@mutant(
    "tags-mixed-into-the-hash",
    stands_for="A cache salt that is combined with the chunk hash by xor, so that two tenants with swapped tags share entries.",
    releases="0.3.6 and later",
    found_by=("lm.pairwise.keys", "lm.identity.tag-order"),
)
class MixesTagsIntoTheHash(ReferenceClient):
    """Writes no tags, but a hash that each of them changes in the same way wherever it stands."""

    def _key(self, link: LmConnection, key: Mapping[str, Any]) -> str:
        digest = key["chunk_hash"]
        if "int" not in digest:
            return super()._key(link, key)
        number = int(digest["int"])
        for name, text in key["tags"]:
            number ^= zlib.crc32(f"{name}%{text}".encode())
        return super()._key(link, {**key, "chunk_hash": {"int": str(number)}, "tags": []})


@mutant(
    "dtype-by-its-size",
    stands_for="A check that the bytes fit the tensor, which float16 passes for bfloat16.",
    found_by=("lm.pairwise.descriptions", "lm.identity.reply-disagrees"),
)
class ComparesSizesOfDtypes(ReferenceClient):
    """Takes a dtype for the expected one when its elements are as large."""

    def _check_expected(self, link: LmConnection, about: Description, expect: Mapping[str, Any], size: int) -> None:
        same = about.dtype is not None and ITEM_SIZES[about.dtype] == ITEM_SIZES[expect["dtype"]]
        super()._check_expected(link, about, {**expect, "dtype": about.dtype} if same else expect, size)


@mutant(
    "length-over-shape",
    stands_for="A reader that allocates by the length of the header and never looks at the shape.",
    found_by=("lm.pairwise.descriptions", "lm.identity.reply-disagrees"),
)
class TrustsTheLength(ReferenceClient):
    """Takes any format, dtype and shape whose length is right."""

    def _check_expected(self, link: LmConnection, about: Description, expect: Mapping[str, Any], size: int) -> None:
        described = {"format": about.format, "dtype": about.dtype, "shape": list(about.shape)}
        super()._check_expected(link, about, {**expect, **described}, size)


@mutant(
    "cache-invalidated-by-own-puts-alone",
    stands_for="A local cache in front of the remote one, which never hears that another engine overwrote a value.",
    found_by=("lm.machine.interleavings", "lm.counterexamples.program", "lm.concurrency.overwritten-meanwhile"),
)
class RemembersForGood(ReferenceClient):
    """Gives what it loaded before under a key until it stores something there itself."""

    def __init__(self) -> None:
        super().__init__()
        self._loaded: dict[str, Answer] = {}

    def put(self, *, key: Mapping[str, Any], **members: Any) -> Answer:
        """Store, and forget what was loaded."""
        self._loaded = {index: answer for index, answer in self._loaded.items() if not index.startswith(f"{key} ")}
        return super().put(key=key, **members)

    def get(self, *, key: Mapping[str, Any], expect: Mapping[str, Any], **members: Any) -> Answer:
        """Look at what was loaded before, and where there is nothing, ask."""
        index = f"{key} {expect}"
        if index not in self._loaded:
            self._loaded[index] = super().get(key=key, expect=expect, **members)
        return self._loaded[index]


@mutant(
    "put-again-after-a-break",
    stands_for="A retry queue: a PUT is never acknowledged, so the last one is sent again when a connection was renewed.",
    found_by=("lm.machine.interleavings", "lm.counterexamples.program"),
)
class RepeatsTheLastPut(ReferenceClient):
    """Stores its last value once more when the connection broke, over what others stored meanwhile."""

    def __init__(self) -> None:
        super().__init__()
        self._last: dict[str, Answer] = {}

    def put(self, *, connection: str, **members: Any) -> Answer:
        """Store, and remember what."""
        self._last[connection] = members
        return super().put(connection=connection, **members)

    def get(self, *, connection: str, **members: Any) -> Answer:
        """Load; where the connection breaks, store again."""
        try:
            return super().get(connection=connection, **members)
        except ClientError as error:
            if error.kind == "connection" and connection in self._last:
                super().put(connection=connection, **self._last[connection])
            raise


@mutant(
    "code-by-its-low-byte",
    stands_for="A code read into eight bits, or compared after a mask: 456 and 65736 end like 200.",
    found_by=("lm.counterexamples.reply[*-code-456-*]",),
)
class ReadsOneByteOfTheCode(ReferenceClient):
    """Takes every code whose lowest byte is that of 200 for success."""

    def connect(self, *, connection: str, **members: Any) -> Answer:
        """Connect, and read codes in the wrong way from then on."""
        answer = super().connect(connection=connection, **members)
        link = self._connections[connection]
        receive = link.receive

        def masked(size: int) -> bytes:
            data = receive(size)
            return data[:1] + bytes(3) + data[4:] if size == link.profile.header.reply_size and data[:1] == b"\xc8" else data

        link.receive = masked  # type: ignore[method-assign]
        return answer


@mutant(
    "remembers-the-last-reply",
    stands_for="A receive buffer that is used again, and handed out when a reply breaks off because nobody looks at the count.",
    found_by=("lm.counterexamples.program[*-buffer-used-again]",),
)
class GivesTheLastPayload(ReferenceClient):
    """Hands out the bytes of the last value of the same size when a reply ends early."""

    def __init__(self) -> None:
        super().__init__()
        self._buffers: dict[int, bytes] = {}

    def get(self, *, expect: Mapping[str, Any], **members: Any) -> Answer:
        """Load into the buffer for values of this kind, and give the buffer."""
        kind = hash((expect["format"], expect["dtype"], tuple(expect["shape"])))
        try:
            answer = super().get(expect=expect, **members)
        except ClientError as error:
            if error.kind != "connection" or kind not in self._buffers:
                raise
            return {**expect, "payload": self._buffers[kind]}
        self._buffers[kind] = answer["payload"]
        return answer
