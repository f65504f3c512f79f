"""Defects in storing and loading that no frame shows: every request is legal, and the model goes on with something else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from harness.client import MissError
from harness.mutants.mutant import mutant
from harness.reference.lm import ReferenceClient

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Answer = dict[str, Any]


def _axes(payload: bytes, shape: Sequence[int]) -> NDArray[np.uint8]:
    """A chunk as ``[K or V, layer, token, bytes of the token]``, to be changed."""
    import numpy as np

    return np.frombuffer(payload, np.uint8).reshape(*shape[:3], -1).copy()


@mutant(
    "values-packed-before-keys",
    stands_for="An engine that keeps [layers, 2, ...] with V first, packed without a look at which is which.",
)
class PacksValuesFirst(ReferenceClient):
    """Packs V of all layers before K of all layers."""

    def pack_layout(self, **args: Any) -> Answer:
        """The chunk, its halves exchanged."""
        packed = super().pack_layout(**args)
        if packed["shape"][0] != 2:
            return packed
        return {**packed, "bytes": _axes(packed["bytes"], packed["shape"])[::-1].tobytes()}


@mutant(
    "values-before-keys-both-ways",
    stands_for="The same mistake made twice: a round trip through the own code is right, everybody else reads K as V.",
)
class SwapsBothWays(PacksValuesFirst):
    """Packs V before K, and unpacks it so."""

    def unpack_layout(self, *, bytes: bytes, shape: Sequence[int], **args: Any) -> Answer:  # noqa: A002  # the contract's name
        """The chunk put back, its halves exchanged."""
        if shape[0] == 2:
            bytes = _axes(bytes, shape)[::-1].tobytes()  # noqa: A001
        return super().unpack_layout(bytes=bytes, shape=shape, **args)


@mutant(
    "layers-inside-tokens",
    stands_for="[2, tokens, layers, hidden]: the axes of a per-token copy loop, of the same size as the right ones.",
)
class PacksTokensBeforeLayers(ReferenceClient):
    """Packs all layers of a token before those of the next."""

    def pack_layout(self, **args: Any) -> Answer:
        """The chunk, two axes exchanged."""
        packed = super().pack_layout(**args)
        if len(packed["shape"]) != 4:
            return packed
        return {**packed, "bytes": _axes(packed["bytes"], packed["shape"]).swapaxes(1, 2).tobytes()}


@mutant("slots-off-by-one", stands_for="Slots counted from 1, or the slot of the next token taken for that of this one.")
class UnpacksOneSlotTooLate(ReferenceClient):
    """Unpacks each token into the slot behind its own."""

    def unpack_layout(self, *, slots: Sequence[int], paged_shape: Sequence[int], **args: Any) -> Answer:
        """The chunk, one slot too late."""
        room = paged_shape[-4] * paged_shape[-3] if len(paged_shape) == 6 else paged_shape[1] * paged_shape[2]
        return super().unpack_layout(slots=[(slot + 1) % room for slot in slots], paged_shape=paged_shape, **args)


@mutant(
    "slots-sorted", stands_for="A copy block by block in the order of memory, which is that of the tokens only in a fresh engine."
)
class SortsSlots(ReferenceClient):
    """Unpacks tokens into their slots in ascending order."""

    def unpack_layout(self, *, slots: Sequence[int], **args: Any) -> Answer:
        """The chunk, its tokens in the order of memory."""
        return super().unpack_layout(slots=sorted(slots), **args)


@mutant("last-token-not-copied", stands_for="A loop to n - 1, or a length in full vectors of 16 bytes without the rest.")
class LosesTheLastToken(ReferenceClient):
    """Unpacks a chunk without its last token."""

    def unpack_layout(self, *, bytes: bytes, shape: Sequence[int], **args: Any) -> Answer:  # noqa: A002
        """The chunk, zeros for its last token."""
        if len(shape) == 4:
            chunk = _axes(bytes, shape)
            chunk[:, :, -1] = 0
            bytes = chunk.tobytes()  # noqa: A001
        return super().unpack_layout(bytes=bytes, shape=shape, **args)


@mutant("rounded-through-bfloat16", stands_for="K/V converted to the dtype of the model on its way, and back on the other side.")
class RoundsToBrainFloat(ReferenceClient):
    """Packs float16 elements with the precision of bfloat16."""

    def pack_layout(self, *, dtype: str | None, **args: Any) -> Answer:
        """The chunk, rounded."""
        import numpy as np

        packed = super().pack_layout(dtype=dtype, **args)
        if dtype != "float16":
            return packed
        bits = np.frombuffer(packed["bytes"], "<f2").astype("<f4").view("<u4")
        return {**packed, "bytes": (bits & 0xFFFF0000).view("<f4").astype("<f2").tobytes()}


@mutant(
    "latent-taken-for-two-planes",
    stands_for="One code path for all formats, which splits each latent vector into a key and a value.",
)
class SplitsLatentVectors(ReferenceClient):
    """Packs the first halves of all latent vectors before the second halves, as if they were K and V."""

    def pack_layout(self, *, format: str, **args: Any) -> Answer:  # noqa: A002
        """The chunk, in two planes."""
        packed = super().pack_layout(format=format, **args)
        if format != "KV_MLA_FMT":
            return packed
        vectors = _axes(packed["bytes"], packed["shape"])[0]
        half = vectors.shape[-1] // 2
        return {**packed, "bytes": vectors[..., :half].tobytes() + vectors[..., half:].tobytes()}


@mutant("second-put-dropped", stands_for="Deduplication by key: what is known to be stored is not stored again.")
class StoresOnce(ReferenceClient):
    """Does not store under a key under which it has stored before."""

    def __init__(self) -> None:
        super().__init__()
        self._stored: set[str] = set()

    def put(self, *, key: Mapping[str, Any], **args: Any) -> Answer:
        """Store, the first time."""
        if repr(key) in self._stored:
            return {}
        self._stored.add(repr(key))
        return super().put(key=key, **args)


@mutant(
    "first-value-cached",
    stands_for="A read-through cache in front of the server that nothing ever invalidates, be it a PUT of its own.",
    found_by=("lm.invariance.stored-twice*", "lm.misbehaviour.restarted-and-empty*"),
)
class CachesWhatItGot(ReferenceClient):
    """Gives back what it got first under a key, also when it has stored something else there."""

    def __init__(self) -> None:
        super().__init__()
        self._got: dict[str, Answer] = {}

    def get(self, *, key: Mapping[str, Any], **args: Any) -> Answer:
        """The value, from memory if it was loaded before."""
        asked = repr((key, args["expect"]))
        if asked not in self._got:
            self._got[asked] = super().get(key=key, **args)
        return self._got[asked]


@mutant("chunks-not-chained", stands_for="A hash of the tokens of the chunk alone: right for the first chunk of every prompt.")
class HashesChunksAlone(ReferenceClient):
    """Names each chunk as if nothing stood before it."""

    def chunk_keys(self, *, tokens: Sequence[int], chunk_size: int, **args: Any) -> Answer:
        """The keys, each from the start of the chain."""
        answer = super().chunk_keys(tokens=tokens, chunk_size=chunk_size, **args)
        for chunk in answer["chunks"]:
            alone = tokens[chunk["start"] : chunk["end"]]
            chunk["key"] = super().chunk_keys(tokens=alone, chunk_size=chunk_size, **{**args, "skip": 0})["chunks"][0]["key"]
        return answer


@mutant("keys-in-reverse", stands_for="Keys collected from the end of the chain, or popped from a stack.")
class ReversesKeys(ReferenceClient):
    """Gives the last chunk the key of the first."""

    def chunk_keys(self, **args: Any) -> Answer:
        """The chunks, their keys in reverse order."""
        chunks = super().chunk_keys(**args)["chunks"]
        keys = [chunk["key"] for chunk in reversed(chunks)]
        return {"chunks": [{**chunk, "key": key} for chunk, key in zip(chunks, keys, strict=True)]}


@mutant("exist-always-true", stands_for="Success taken from the arrival of a reply and not from its code.")
class FindsEverything(ReferenceClient):
    """Says of every key that the server has it."""

    def exist(self, **args: Any) -> Answer:
        """Yes."""
        super().exist(**args)
        return {"exists": True}


@mutant("miss-gives-the-last-value", stands_for="A receive buffer that is used again, and a miss that is not looked at.")
class MissesWithOldBytes(ReferenceClient):
    """Answers a miss with the value of the last hit."""

    def __init__(self) -> None:
        super().__init__()
        self._last: Answer | None = None

    def get(self, *, expect: Mapping[str, Any], **args: Any) -> Answer:
        """The value, or the one before it."""
        try:
            self._last = super().get(expect=expect, **args)
        except MissError:
            if self._last is None or self._last["shape"] != list(expect["shape"]):
                raise
        return self._last


@mutant(
    "key-depends-on-the-process", stands_for="A key that goes through hash() of a text, which every Python process salts anew."
)
class SaltsKeys(ReferenceClient):
    """Makes keys that hold in its own process only."""

    def chunk_keys(self, *, model: str, **args: Any) -> Answer:
        """The keys of a model whose name has a salted number behind it."""
        return super().chunk_keys(model=f"{model}-{hash('salted') & 0xFFFF}", **args)


@mutant(
    "chunk-hash-of-a-few-tokens", stands_for="A hash that takes a fixed number of tokens to be fast, and finds half of a chunk."
)
class HashesFirstTokens(ReferenceClient):
    """Names a chunk by its first four tokens and those of the chunks before it."""

    def chunk_keys(self, *, tokens: Sequence[int], chunk_size: int, **args: Any) -> Answer:
        """The keys, as if all other tokens were 0."""
        seen = [token if place % chunk_size < 4 else 0 for place, token in enumerate(tokens)]
        whole = super().chunk_keys(tokens=tokens, chunk_size=chunk_size, **args)["chunks"]
        padded = [*seen, *[0] * (-len(seen) % chunk_size)]
        keys = super().chunk_keys(tokens=padded, chunk_size=chunk_size, **args)["chunks"]
        return {"chunks": [{**chunk, "key": found["key"]} for chunk, found in zip(whole, keys, strict=False)]}


@mutant("knows-only-its-own-puts", stands_for="An index of what is stored, kept in the client that stored it.")
class KnowsItsOwnPuts(ReferenceClient):
    """Says of every key under which it has not stored that the server lacks it."""

    def __init__(self) -> None:
        super().__init__()
        self._stored: set[str] = set()

    def put(self, *, key: Mapping[str, Any], **args: Any) -> Answer:
        """Store, and remember that."""
        self._stored.add(repr(key))
        return super().put(key=key, **args)

    def exist(self, *, key: Mapping[str, Any], **args: Any) -> Answer:
        """Whether this client has stored it, if the server has it."""
        found = super().exist(key=key, **args)
        return {"exists": found["exists"] and repr(key) in self._stored}
