"""Defects in the parts of a key besides its hash: engine, dtype, tags, layer, model and ranks."""

from __future__ import annotations

from dataclasses import replace

from harness.mutants.mutant import mutant
from harness.mutants.rewriting import OtherKey, OtherText, Written
from harness.reference.lm import ReferenceClient


def _float8_shared(it: Written) -> list[str]:
    dtype = it.parts[it.place + 1].removesuffix("fnuz").removesuffix("fn")
    return [*it.parts[: it.place + 1], dtype, *it.parts[it.place + 2 :]]


def _layer_last(it: Written) -> list[str]:
    here = it.layer_place
    return it.parts if it.key.layer is None else [*it.parts[:here], *it.parts[here + 1 :], it.parts[here]]


def _layer_first(it: Written) -> list[str]:
    here = it.layer_place
    return (
        it.parts if it.key.layer is None else [*it.parts[: here - 1], it.parts[here], it.parts[here - 1], *it.parts[here + 1 :]]
    )


@mutant(
    "key-engine-kept",
    stands_for="A client of 0.3.12 or older: keys began with the engine, and LMCache #1790 and #2135 show such keys.",
    releases="0.3.13 and later",
    found_by=("keys.format.format", "keys.chunks.keys", "keys.deployments.keys", "keys.deployments.chain"),
)
class WithEngine(ReferenceClient):
    """Writes the engine's name in front of a key."""

    codec = OtherText(lambda it: ["vllm", *it.parts])


@mutant(
    "key-engine-dropped",
    stands_for="A client of 0.3.13 or later that talks to an older server, which then takes the world size for the model.",
    releases="up to 0.3.12",
    found_by=("keys.format.format", "keys.chunks.keys", "keys.deployments.keys", "lm.identity.other-key"),
)
class WithoutEngine(ReferenceClient):
    """Leaves out the engine's name that keys begin with."""

    codec = OtherText(lambda it: it.parts[1:])


@mutant(
    "key-engine-fixed",
    stands_for="A prefix that was written into the client as text, since everybody it knew used vLLM.",
    releases="up to 0.3.12",
    found_by=("lm.identity.other-key", "keys.format.format"),
)
class SameEngine(ReferenceClient):
    """Writes vllm as the engine, whatever the key says."""

    codec = OtherKey(lambda key: replace(key, fmt="vllm") if key.fmt is not None else key)


@mutant(
    "key-dtype-dropped",
    stands_for="Before LMCache pull request 1859 keys had no dtype: two caches of one model in two precisions met.",
    releases="0.3.9.post1 and later",
    found_by=(
        "keys.format.format",
        "lm.identity.no-two-identities-share-a-key",
    ),
)
class WithoutDtype(ReferenceClient):
    """Writes no dtype into a key."""

    codec = OtherText(lambda it: it.parts[: it.place + 1] + it.parts[it.place + 2 :])


@mutant(
    "key-dtype-fixed",
    stands_for="A key made with the dtype of the model instead of that of the cache, which --kv-cache-dtype sets apart.",
    releases="0.3.9.post1 and later",
    found_by=("lm.identity.other-key", "keys.format.format"),
)
class SameDtype(ReferenceClient):
    """Writes bfloat16 as the dtype, whatever the key says."""

    codec = OtherKey(lambda key: replace(key, dtype="bfloat16") if key.dtype is not None else key)


@mutant(
    "key-dtype-torch-name",
    stands_for="str(torch.float16) without its prefix; lmcache writes half, float and double.",
    releases="0.3.9.post1 and later",
    found_by=("keys.format.format",),
)
class TorchDtype(ReferenceClient):
    """Writes a dtype by the name that torch has for it."""

    codec = OtherText(lambda it: [*it.parts[: it.place + 1], str(it.key.dtype), *it.parts[it.place + 2 :]])


@mutant(
    "key-float8-shared",
    stands_for="The table of LMCache pull request 1859, in which variants of one 8-bit format share a name, as until 0.3.13.",
    releases="0.3.14 and later",
    found_by=("keys.format.format",),
)
class SharedFloat8(ReferenceClient):
    """Gives the variants of an 8-bit float one name."""

    codec = OtherText(_float8_shared)


@mutant(
    "key-tags-dropped",
    stands_for="A client written before LMCache pull request 1200: tags keep the users of one model apart.",
    releases="0.3.4 and later",
    found_by=("lm.identity.other-key", "keys.format.format"),
)
class WithoutTags(ReferenceClient):
    """Writes no tags into a key."""

    codec = OtherKey(lambda key: replace(key, tags=()))


@mutant(
    "key-tags-sorted",
    stands_for="Tags kept in a std::map or a BTreeMap; lmcache keeps the order in which they were given.",
    releases="0.3.4 and later",
    found_by=("lm.identity.tag-order", "keys.format.format"),
)
class SortedTags(ReferenceClient):
    """Writes tags in alphabetical order."""

    codec = OtherKey(lambda key: replace(key, tags=tuple(sorted(key.tags))))


@mutant(
    "key-tags-with-equals",
    stands_for="The separator that every query string has; lmcache's is the percent sign.",
    releases="0.3.4 and later",
    found_by=("keys.format.format", "lm.identity.other-key"),
)
class TagsWithEquals(ReferenceClient):
    """Writes name=value for a tag."""

    codec = OtherText(lambda it: [part.replace("%", "=", 1) for part in it.parts])


@mutant(
    "key-layer-behind-tags",
    stands_for="A layer appended to the key of the whole chunk, as split_layers of a client that knows strings alone does it.",
    releases="0.3.4 and later",
    found_by=("keys.format.format",),
)
class LayerAtTheEnd(ReferenceClient):
    """Writes the layer behind the tags."""

    codec = OtherText(_layer_last)


@mutant(
    "key-layer-off-by-one",
    stands_for="LMCache #2135: the layer was looked for where the dtype had come to stand, and servers dropped the connection.",
    releases="0.3.9.post1 and later",
    found_by=("keys.format.format", "lm.identity.other-layer"),
)
class LayerBeforeDtype(ReferenceClient):
    """Writes the layer one place too early."""

    codec = OtherText(_layer_first)


@mutant(
    "key-layer-dropped",
    stands_for="DingoCache pull request 116: all layers of a chunk fell onto one key and overwrote each other.",
    found_by=("lm.identity.other-key", "lm.identity.other-layer", "keys.format.format", "keys.deployments.keys"),
)
class WithoutLayer(ReferenceClient):
    """Writes no layer into a key."""

    codec = OtherKey(lambda key: replace(key, layer=None))


@mutant(
    "key-layers-from-one",
    stands_for="Layers counted as people count them.",
    found_by=("keys.format.format", "keys.deployments.keys"),
)
class LayersFromOne(ReferenceClient):
    """Counts layers from 1."""

    codec = OtherKey(lambda key: key if key.layer is None else replace(key, layer=key.layer + 1))


@mutant(
    "key-model-as-file-name",
    stands_for="A model name made fit for a path, as lmcache's own file backends do it, in a key where nothing needs it.",
    found_by=(
        "keys.format.format",
        "keys.chunks.keys",
        "lm.request.encode",
        "lm.identity.no-two-identities-share-a-key[0.3.1-*]",
    ),
)
class ModelAsFileName(ReferenceClient):
    """Replaces the slashes of a model name."""

    codec = OtherKey(lambda key: replace(key, model=key.model.replace("/", "-")))


@mutant(
    "key-model-family",
    stands_for="Variants of a model taken for one: its weights differ, and so does every element of its cache.",
    found_by=("lm.identity.other-model",),
)
class ModelFamily(ReferenceClient):
    """Cuts a model name at its first dash."""

    codec = OtherKey(lambda key: replace(key, model=key.model.split("-")[0]))


@mutant(
    "key-model-in-ascii",
    stands_for="A conversion to the C locale, which loses every character that it lacks.",
    found_by=("keys.format.format", "lm.request.encode"),
)
class AsciiModel(ReferenceClient):
    """Replaces the characters of a model name that are not ASCII."""

    codec = OtherKey(lambda key: replace(key, model=key.model.encode("ascii", "replace").decode()))


@mutant(
    "key-rank-dropped",
    stands_for="A client tried on one GPU alone: with tensor parallelism each rank has other heads under the same key.",
    found_by=("lm.identity.other-key", "keys.chunks.keys", "keys.format.format"),
)
class SameWorker(ReferenceClient):
    """Writes rank 0 into every key."""

    codec = OtherKey(lambda key: replace(key, worker_id=0))


@mutant(
    "key-world-size-dropped",
    stands_for="The same: a cache that was cut for two GPUs is taken for one that was cut for one.",
    found_by=("lm.identity.other-key", "keys.chunks.keys", "keys.format.format"),
)
class SameWorld(ReferenceClient):
    """Writes world size 1 into every key."""

    codec = OtherKey(lambda key: replace(key, world_size=1))
