"""Releases that were seen to be the same: as clients by their frames and keys, as servers by their conversations."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Final

from fixturegen.corpus import load_corpus
from fixturegen.vector import content_hash
from wire.release import Release

OF_CLIENTS: Final = (
    "encode_request",
    "encode_reply",
    "decode_reply",
    "format_key",
    "chunk_keys",
    "deployment_keys",
    "chain_inputs",
    "defaults",
)
"""Operations whose captures make a client: its frames, how it reads replies, its keys."""
OF_SERVERS: Final = ("decode_request", "encode_reply", "parse_key_as_server")
"""Operations whose captures make a server, besides its conversations."""


@functools.lru_cache(maxsize=64)
def client_seal(release: Release) -> str:
    """Equal for releases whose captured frames and keys are byte-identical."""
    return content_hash(_vectors(release, OF_CLIENTS))


@functools.lru_cache(maxsize=64)
def server_seal(release: Release) -> str:
    """Equal for releases whose captured conversations are byte-identical, and whose frames and keys are.

    The second half is there because an engine of the server's release asks for what was stored.
    """
    talk = [transcript.to_json() for transcript in load_corpus(release).transcripts]
    return content_hash([talk, _vectors(release, OF_SERVERS), client_seal(release)])


def generations(releases: Sequence[Release], seal: Callable[[Release], str]) -> list[list[Release]]:
    """Releases with equal seals together, each group and all groups oldest first."""
    found: dict[str, list[Release]] = {}
    for release in sorted(releases):
        found.setdefault(seal(release), []).append(release)
    return list(found.values())


def _vectors(release: Release, operations: Sequence[str]) -> list[list[object]]:
    vectors = load_corpus(release).vectors
    return [
        [vector.id, vector.args, vector.outcome, vector.volatile]
        for operation in operations
        for vector in vectors.get(operation, ())
    ]
