"""The pages of the specification that hold generated blocks, and what writes each block."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Final

from docs.generator.links import ROOT
from docs.generator.spec import (
    connector_contract,
    deployments,
    example_chains,
    example_conversations,
    example_frames,
    example_messages,
    hash_chains,
    key_strings,
    layouts,
    lm_exchanges,
    lm_headers,
    lm_numbers,
    mp_generations,
    mp_objects,
    mp_operations,
    mp_records,
    mp_registration,
    mp_servers,
    plugin_contract,
    proof,
    requirements_index,
    versions,
)
from docs.generator.spec.marks import Blocks, filled

FOLDER: Final = "docs/spec"

BLOCKS: Final[Blocks] = {
    "lm-generations": lm_numbers.generations,
    "lm-commands": lm_numbers.commands,
    "lm-codes": lm_numbers.codes,
    "lm-formats": lm_numbers.formats,
    "lm-dtypes": lm_numbers.dtypes,
    "lm-locations": lm_numbers.locations,
    "lm-request-header": lm_headers.request_header,
    "lm-reply-header": lm_headers.reply_header,
    "lm-metadata": lm_headers.metadata,
    "lm-metadata-groups": lm_headers.metadata_groups,
    "lm-exchanges": lm_exchanges.exchanges,
    "lm-request-examples": example_frames.requests,
    "lm-reply-examples": example_frames.replies,
    "lm-metadata-examples": example_frames.metadata,
    "lm-conversations": example_conversations.conversations,
    "key-grammar": key_strings.grammar,
    "key-dtypes": key_strings.dtype_names,
    "hash-chains": hash_chains.chains,
    "hash-functions": hash_chains.functions,
    "hash-of-a-tuple": hash_chains.tuple_hash_steps,
    "token-hashes": hash_chains.token_hash,
    "vllm-functions": deployments.functions_of_vllm,
    "vllm-lookups": deployments.lookups,
    "none-hash": deployments.none_hash,
    "defaults": deployments.defaults,
    "chain-examples": example_chains.chains,
    "token-hash-examples": example_chains.token_hashes,
    "layout-axes": layouts.axes,
    "layout-elements": layouts.elements,
    "mp-generations": mp_generations.generations,
    "mp-numbers": mp_operations.numbers,
    "mp-names": mp_operations.names,
    "mp-signatures": mp_operations.signatures,
    "mp-types": mp_operations.types,
    "mp-records": mp_records.records,
    "mp-key-record": mp_records.key_record,
    "mp-enumerations": mp_records.enumerations,
    "mp-salts": mp_records.salts,
    "mp-object-names": mp_objects.names,
    "mp-object-parts": mp_objects.parts,
    "mp-ranges": mp_objects.ranges,
    "mp-tensor-forms": mp_registration.forms,
    "mp-tensor-maps": mp_registration.maps,
    "mp-tensor-pickles": mp_registration.pickles,
    "mp-tensor-shapes": mp_registration.sizes,
    "mp-server-differences": mp_servers.differences,
    "mp-server-starts": mp_servers.starts,
    "mp-server-pool": mp_servers.pool,
    "mp-plain-examples": example_messages.plain,
    "mp-lookup-examples": example_messages.lookups,
    "mp-transfer-examples": example_messages.transfers,
    "mp-stream-examples": example_messages.stream,
    "mp-tensor-examples": example_messages.tensors,
    "mp-pickle-examples": example_messages.pickled_chunks,
    "mp-object-examples": example_messages.object_names,
    "plugin-kinds": plugin_contract.kinds,
    "plugin-keys": plugin_contract.keys,
    "plugin-interface": plugin_contract.interface,
    "plugin-counts": plugin_contract.counts,
    "connector-methods": connector_contract.methods,
    "connector-forms": connector_contract.forms,
    "connector-rules": connector_contract.rules,
    "proof": proof.counts,
    "requirement-counts": proof.requirements,
    "spec-version": versions.version,
    "spec-changes": versions.since,
    "spec-withdrawn": versions.withdrawn,
}


def _page(name: str) -> str:
    return filled(name, (ROOT / name).read_text(encoding="utf-8"), BLOCKS)


PAGES: Final[Mapping[str, Callable[[], str]]] = {
    str(path.relative_to(ROOT)): functools.partial(_page, str(path.relative_to(ROOT)))
    for path in sorted((ROOT / FOLDER).glob("*.md"))
} | {f"{FOLDER}/requirements.json": requirements_index.document}
"""Path in the repository to what writes it: the page as it is, with its blocks written anew."""
