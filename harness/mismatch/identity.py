"""The parts of a key that can be read: how those of an expected key differ from those of a deployment."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from harness.mismatch.expected import Expected
from harness.mismatch.request import Request
from reports.keys.record import Cause, PartRow
from wire.keys import KEY_GRAMMARS, CacheKey, KeyGrammar
from wire.release import Release

Differences = Iterator[Cause]
_TAG: Final = "lmcache.tag."


def identity_causes(request: Request, release: Release, expected: Expected) -> tuple[Cause, ...]:
    """What differs in the parts beside the hash, if the deployment has this release; nothing for a bare hash."""
    if expected.bare:
        return ()
    here = request.key(release)
    return tuple(cause for compare in _PARTS for cause in compare(request, release, here, expected))


def part_rows(request: Request, release: Release, expected: Expected) -> tuple[PartRow, ...]:
    """All parts beside the hash, side by side."""
    if expected.bare:
        return ()
    here = request.key(release)
    grammar = KEY_GRAMMARS[release]
    rows = [
        ("fmt", here.fmt, expected.fmt),
        ("model", here.model, expected.model),
        ("world size", str(here.world_size), expected.world_size),
        ("worker id", str(here.worker_id), expected.worker_id),
        ("dtype", grammar.dtype_names.get(here.dtype or "") if grammar.dtype_names else None, expected.dtype),
        ("layer", None if here.layer is None else str(here.layer), expected.layer),
        ("tags", _tags(here.tags), _tags(expected.tags)),
    ]
    return tuple(PartRow(name, left, right, _verdict(request, name, left, right)) for name, left, right in rows if left or right)


def _verdict(request: Request, name: str, here: str | None, there: str | None) -> str:
    if here == there:
        return "same"
    adopted = name in {"fmt", "model", "world size", "worker id", "dtype"} and name not in request.given
    return "not given" if adopted and here is not None and there is not None else "differs"


def _fmt(request: Request, release: Release, here: CacheKey, expected: Expected) -> Differences:
    grammar = KEY_GRAMMARS[release]
    if grammar.prefix and expected.fmt is None:
        yield Cause(
            "fmt-missing",
            f"The expected key does not begin with the engine's name; keys of lmcache {release} do ({here.fmt}@...).",
            "Put the engine's name in front for releases until 0.3.12, or compare with the release that the key comes from.",
        )
    elif not grammar.prefix and expected.fmt is not None:
        yield Cause(
            "fmt-kept",
            f"The expected key begins with '{expected.fmt}@'; keys of lmcache {release} do not begin with the engine's name.",
            "Leave the name out for releases from 0.3.13 on, or compare with the release that the key comes from.",
            expected.fmt,
        )
    elif grammar.prefix and "fmt" in request.given and expected.fmt != here.fmt:
        yield Cause(
            "fmt",
            f"The engine is '{expected.fmt}' there and '{here.fmt}' here.",
            "Keys of two engines are never shared; name the same one.",
            expected.fmt,
        )


def _model(request: Request, _: Release, here: CacheKey, expected: Expected) -> Differences:
    there = expected.model
    dashed = expected.from_file and here.model.replace("/", "-") == there
    if "model" not in request.given or here.model == there or dashed:
        return
    if here.model.lower() == there.lower():
        yield Cause(
            "model-case",
            f"The model is '{there}' there and '{here.model}' here, which differ in upper and lower case only.",
            "Serve and look up the model under one spelling; keys compare every character.",
            there,
        )
    elif here.model.rstrip("/").rpartition("/")[2] == there.rstrip("/").rpartition("/")[2]:
        yield Cause(
            "model-path",
            f"The model is '{there}' there and '{here.model}' here: the same last part behind another organisation or path.",
            "Give both sides the same name, with --served-model-name or the same path; the whole of it stands in keys.",
            there,
        )
    else:
        yield Cause(
            "model",
            f"The model is '{there}' there and '{here.model}' here.",
            "Compare deployments of one model.",
            there,
        )


def _world_size(request: Request, release: Release, here: CacheKey, expected: Expected) -> Differences:
    there = expected.world_size
    if "world size" not in request.given or str(here.world_size) == there:
        return
    true_size = request.identity.world_size
    if there == "1" and not request.mla:
        yield Cause(
            "world-size-collapsed",
            f"The world size is 1 there and {here.world_size} here.",
            "With multi-head latent attention and save_only_first_rank (the default for it from 0.3.10 on) keys carry 1: add "
            "--mla if the model has it. Otherwise one side runs on one worker.",
            there,
        )
    elif request.mla and there == str(true_size):
        yield Cause(
            "world-size-kept",
            f"The world size is {there} there; with --mla, keys of lmcache {release} carry {here.world_size}.",
            "There save_only_first_rank is off, or the release is before 0.3.10, or the client does not know the rule.",
            there,
        )
    else:
        yield Cause(
            "world-size",
            f"The world size is {there} there and {here.world_size} here.",
            "Tensor and pipeline parallel sizes must agree: every worker holds another part of the cache.",
            there,
        )


def _worker_id(request: Request, _: Release, here: CacheKey, expected: Expected) -> Differences:
    if "worker id" in request.given and str(here.worker_id) != expected.worker_id:
        yield Cause(
            "worker-id",
            f"The worker is {expected.worker_id} there and {here.worker_id} here.",
            "Every worker stores its own part under its own number: look up the one whose part is wanted.",
            expected.worker_id,
        )


def _dtype(request: Request, release: Release, here: CacheKey, expected: Expected) -> Differences:
    grammar, there = KEY_GRAMMARS[release], expected.dtype
    if grammar.dtype_names is None:
        if there is not None:
            yield Cause(
                "dtype-kept",
                f"The expected key names the dtype '{there}'; keys of lmcache {release} have no dtype.",
                "Leave the dtype out for releases until 0.3.9, or compare with the release that the key comes from.",
                there,
            )
        return
    if there is None:
        yield Cause(
            "dtype-missing",
            f"The expected key has no dtype; keys of lmcache {release} end with one.",
            "Append the dtype for releases from 0.3.9.post1 on, or compare with the release that the key comes from.",
        )
        return
    name = grammar.dtype_names.get(here.dtype or "", str(here.dtype))
    if there == name or (there in grammar.dtype_of_name and "dtype" not in request.given):
        return
    meant = _dtype_named(grammar, there)
    if there not in grammar.dtype_of_name and meant is not None:
        yield Cause(
            "dtype-torch-name",
            f"The expected key says '{there}', torch's name; keys say '{grammar.dtype_names[meant]}'.",
            "Write the names of the table in docs/spec/keys.md: no 'torch.' in front, and half, float and double for float16, "
            "float32 and float64.",
            there,
        )
        if meant == here.dtype or "dtype" not in request.given:
            return
    elif there.startswith("fp8") and (here.dtype or "").startswith("float8") and _other_fp8(grammar, there, here.dtype or ""):
        yield Cause(
            "dtype-fp8-name",
            f"The dtype is called '{there}' there and '{name}' in keys of lmcache {release}.",
            "The names of the 8-bit floats changed with 0.3.14; take those of the release.",
            there,
        )
        return
    yield Cause(
        "dtype",
        f"The dtype is '{there}' there and '{name}' here.",
        "The dtype of the KV cache must agree (--kv-cache-dtype, --dtype): it is part of the key.",
        there,
    )


def _dtype_named(grammar: KeyGrammar, name: str) -> str | None:
    """The dtype that torch calls so."""
    bare = name.removeprefix("torch.")
    return bare if bare in (grammar.dtype_names or {}) else None


def _other_fp8(grammar: KeyGrammar, there: str, dtype: str) -> bool:
    """Another release gives the dtype this name."""
    names = {table.dtype_names[dtype] for _, table in KEY_GRAMMARS.rows() if table.dtype_names is not None}
    return there in names and there != (grammar.dtype_names or {}).get(dtype)


def _layer(_request: Request, _: Release, here: CacheKey, expected: Expected) -> Differences:
    there = None if expected.layer is None else int(expected.layer)
    if there == here.layer:
        return
    if there is None:
        yield Cause(
            "layer-missing",
            f"The expected key has no layer; here keys are of layer {here.layer}.",
            "One side stores layer by layer (use_layerwise) and the other whole chunks; set it alike, or leave --layer out.",
        )
    elif here.layer is None:
        yield Cause(
            "layer-added",
            f"The expected key is of layer {there}; here keys are of whole chunks.",
            "One side stores layer by layer (use_layerwise) and the other whole chunks; set it alike, or add --layer.",
            str(there),
        )
    elif abs(there - here.layer) == 1:
        yield Cause(
            "layer-off-by-one",
            f"The layer is {there} there and {here.layer} here.",
            "Layers count from 0, over the layers of the worker; look for a client that counts from 1.",
            str(there),
        )
    else:
        yield Cause("layer", f"The layer is {there} there and {here.layer} here.", "Compare keys of one layer.", str(there))


def _tag_parts(_request: Request, _: Release, here: CacheKey, expected: Expected) -> Differences:
    left, right = here.tags, expected.tags
    if left == right:
        return
    if sorted(left) == sorted(right):
        yield Cause(
            "tags-order",
            f"The tags are the same in another order: {_tags(right)} there, {_tags(left)} here.",
            "Give tags in one order: keys are compared as text.",
        )
    elif tuple((name.removeprefix(_TAG), value) for name, value in right) == left:
        yield Cause(
            "tags-prefix",
            f"The tags of the expected key carry the name of the setting, '{_TAG}'.",
            f"Leave '{_TAG}' out of the key: it only marks which request settings are tags.",
        )
    elif set(right) < set(left):
        yield Cause(
            "tags-dropped",
            f"Tags are missing there: {_tags(tuple(tag for tag in left if tag not in right))}.",
            "Send the same lmcache.tag.* request settings when storing and when looking up.",
        )
    elif set(left) < set(right):
        yield Cause(
            "tags-added",
            f"There are more tags there: {_tags(tuple(tag for tag in right if tag not in left))}.",
            "Send the same lmcache.tag.* request settings when storing and when looking up, or add --tag.",
        )
    else:
        yield Cause(
            "tags",
            f"The tags are {_tags(right)} there and {_tags(left)} here.",
            "Send the same lmcache.tag.* request settings when storing and when looking up.",
        )


def _tags(tags: tuple[tuple[str, str], ...]) -> str | None:
    return "@".join(f"{name}%{value}" for name, value in tags) or None


_PARTS: Final[tuple[Callable[[Request, Release, CacheKey, Expected], Differences], ...]] = (
    _fmt,
    _model,
    _world_size,
    _worker_id,
    _dtype,
    _layer,
    _tag_parts,
)
