"""A small corpus, and a reader that never remembers it."""

import pytest

from fixturegen.corpus import forget_corpora, load_corpus, write_corpus
from fixturegen.manifest import Manifest
from fixturegen.vector import Step, Transcript, Vector
from fixturegen.wheel import Wheel
from wire.release import Release

VECTORS = (
    Vector("lm.key.format.plain", "format_key", {"key": {"model": "m"}}, {"ok": {"text": "m@1@0@ab@half"}}, "lmcache.a.B"),
    Vector("lm.key.parse.blank", "parse_key", {"text": ""}, {"error": {"type": "ValueError", "message": "no"}}, "lmcache.a.C"),
    Vector("lm.key.parse.odd", "parse_key", {"text": "²"}, {"ok": {"key": {"masked": True}}}, "lmcache.a.C", "it differs"),
)
TRANSCRIPTS = (
    Transcript(
        "lm.server.health",
        "HEALTH succeeds.",
        [
            Step("connect", "a"),
            Step("send", "a", {"bytes": "05"}),
            Step("receive", "a", {"got": {"bytes": "c8", "closed": False}}),
        ],
    ),
)


@pytest.fixture
def manifest():
    return Manifest(
        release="0.5.6",
        wheel="lmcache-0.5.6-cp311-cp311-linux_x86_64.whl",
        wheel_sha256="14530ff72b96056e" + "0" * 48,
        stubs=["lmcache.c_ops"],
        vllm={"0.28.0": Wheel("vllm-0.28.0-cp38-abi3-manylinux_2_28_x86_64.whl", "addb0ffd" + "0" * 56)},
        byte_order="little",
        files={},
        volatile={"lm.key.parse.odd": "it differs"},
        unavailable={"token_hashes": "this release has no TokenHasher"},
        environment={"runtime": "venv", "python": "3.11.7"},
    )


@pytest.fixture
def corpus_lines():
    found = {}
    for vector in VECTORS:
        found.setdefault(f"{vector.op}.jsonl", []).append(vector.to_json())
    return {**found, "transcripts.jsonl": [transcript.to_json() for transcript in TRANSCRIPTS]}


@pytest.fixture
def small_corpus(tmp_path, manifest, corpus_lines):
    """The folder of a good corpus of release 0.5.6 below ``tmp_path``."""
    return write_corpus(manifest, corpus_lines, tmp_path)


@pytest.fixture
def load(tmp_path):
    """Reads the corpus below ``tmp_path``, always from its files."""

    def read(release="0.5.6"):
        forget_corpora()
        return load_corpus(Release.parse(release), tmp_path)

    return read
