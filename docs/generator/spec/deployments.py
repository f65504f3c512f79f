"""What a deployment hashes with: the functions of each vLLM, where each release looks for them, NONE_HASH, and defaults."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any, Final

from docs.generator.spec.corpus import captured, captures
from docs.generator.spec.words import code, listed, spanned, spans
from docs.generator.table import table
from wire.deployments import IMPORTS_NONE_HASH_EARLY, LOOKUPS, SAVE_ONLY_FIRST_RANK, Lookup, vllm_hashes, vllm_ranges

_RETURNS: Final = {"int": "integers", "bytes": "digests"}
_ENVIRONMENT: Final = "LMCACHE_"
_SETTINGS: Final = {
    "chunk_size": "chunk_size",
    "save_unfull_chunk": "save_unfull_chunk",
    "algorithm": "pre_caching_hash_algorithm",
}
"""Member of the captured defaults to the name of the setting."""


def functions_of_vllm() -> str:
    """The hash functions of each range of vLLM versions."""
    head = ("vLLM", "module", "functions", "they return", "without PYTHONHASHSEED, NONE_HASH is made of")
    return table(head, _functions_of_vllm())


def _functions_of_vllm() -> Iterator[tuple[str, ...]]:
    for span in vllm_ranges():
        held = vllm_hashes(span.first)
        assert held is not None
        plain = [name for name in held.functions if not name.startswith("xxhash")]
        unset = f"the text `{held.unset_seed}` for {listed([code(name) for name in plain])}, else random bytes"
        yield (
            str(span),
            code(held.module),
            ", ".join(map(code, held.functions)),
            _RETURNS[held.returns],
            unset if held.unset_seed else "random bytes",
        )


def lookups() -> str:
    """Where each release looks for the function that a setting names."""
    return table(("lmcache", "looks in", "setting", "takes", "where one is missing"), _lookups())


def _lookups() -> Iterator[tuple[str, ...]]:
    for span, lookup in LOOKUPS.rows():
        if lookup is None:
            yield spanned(span), "nowhere", "-", "its one algorithm", "-"
            continue
        where = ", then ".join(map(code, lookup.modules))
        missing = "none is found: every setting means `builtin`" if lookup.all_or_none else "the setting means `builtin`"
        releases = spanned(span)
        for setting, tried in _tried(lookup):
            yield releases, where, setting, tried, missing


def _tried(lookup: Lookup) -> Iterator[tuple[str, str]]:
    for setting, names in lookup.names.items():
        yield code(setting), ", else ".join([code(setting), *(code(name) for name in names if name != setting)])
    if lookup.any_name:
        yield "any other text", "the function of that name"


def none_hash() -> str:
    """What the chain starts from."""
    early = [str(span) for span, value in IMPORTS_NONE_HASH_EARLY.rows() if value]
    first, text = next(
        (span.first, held.unset_seed) for span in vllm_ranges() if (held := vllm_hashes(span.first)) and held.unset_seed
    )
    rows = [
        (f"cannot be imported, or lmcache is {listed(early, 'or')}", "any", "the integer 0"),
        ("can be imported", "set", "H of its *text*"),
        (f"can be imported, of vLLM before {first}", "not set", "random"),
        (
            f"can be imported, of vLLM {first} and later",
            "not set",
            f"H of the text `{text}`; random for `xxhash`, `xxhash_cbor` and `builtin`",
        ),
    ]
    return table(("`vllm.v1.core.kv_cache_utils`", "PYTHONHASHSEED", "NONE_HASH"), rows)


def defaults() -> str:
    """The captured defaults of the settings that decide about keys."""
    return table(("setting", "variable of the environment", "releases", "default"), _defaults())


def _defaults() -> Iterator[tuple[str, ...]]:
    found = [(release, captures(release).vector("lm.defaults").answer) for release in captured()]
    for member, setting in _SETTINGS.items():
        name, variable = code(setting), code(f"{_ENVIRONMENT}{setting.upper()}")
        for value, group in groupby(found, key=lambda one: one[1][member]):
            if value != "sha256_hex":
                yield name, variable, spans([release for release, _ in group]), code(_shown(value))
    name, variable = code("save_only_first_rank"), code(f"{_ENVIRONMENT}EXTRA_CONFIG")
    yield (
        name,
        f"a member of {variable}",
        *next(
            (spanned(span), "`true`, with multi-head latent attention") for span, first in SAVE_ONLY_FIRST_RANK.rows() if first
        ),
    )


def _shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
