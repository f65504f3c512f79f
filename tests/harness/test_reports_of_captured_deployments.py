"""What the command says about a deployment is what the real lmcache did in it, beside the real vLLM."""

import pytest

from fixturegen.corpus import captured_releases, load_corpus
from harness.keys import report_keys
from harness.mismatch import Request, compare, read_expected
from wire.deployments import Deployment
from wire.keys import CacheKey

CAPTURED = [release for release in captured_releases() if "deployment_keys" in load_corpus(release).vectors]
PYTHON = "3.11"
"""The Python of captures."""

every_release = pytest.mark.parametrize("release", CAPTURED, ids=str)


def vectors_of(release):
    return load_corpus(release).vectors["deployment_keys"]


def request_of(release, args):
    tags = tuple((name, text) for name, text in args["tags"])
    identity = CacheKey(
        args["model"], args["world_size"], args["worker_id"], 0, args["dtype"] or "bfloat16", args["fmt"] or "vllm", tags=tags
    )
    return Request(
        Deployment(release, args["vllm"], args["algorithm"], args["seed"], args["kv_cache_utils"], PYTHON),
        args["tokens"],
        identity,
        given=frozenset({"model", "world size", "worker id", "dtype", "fmt"}),
        chunk_size=args["chunk_size"],
        save_unfull_chunk=args["save_unfull_chunk"],
        skip=args["skip"],
        mla=args["mla"],
        save_only_first_rank=args["save_only_first_rank"],
    )


def test_there_are_deployments():
    assert CAPTURED


@every_release
def test_keys_are_those_of_the_real_lmcache_or_the_report_says_why_there_are_none(release):
    for vector in vectors_of(release):
        report = report_keys(request_of(release, vector.args))
        if vector.ok is None or vector.volatile:
            assert report.no_keys, vector.id
            continue
        made = [(chunk["start"], chunk["end"], chunk["key"]) for chunk in vector.answer["chunks"]]
        assert [(row.start, row.end, row.key) for row in report.rows] == made, vector.id
        assert not made or report.no_keys is None, vector.id


@every_release
def test_keys_of_the_real_lmcache_match_their_deployment(release):
    compared = 0
    for vector in vectors_of(release)[::9]:
        if vector.ok is None or vector.volatile or not vector.answer["chunks"]:
            continue
        request = request_of(release, vector.args)
        expected = [read_expected(chunk["key"], release) for chunk in vector.answer["chunks"]]
        assert compare(request, expected).matches, vector.id
        compared += 1
    if str(release) in {"0.3.1", "0.3.3", "0.4.1", "0.4.7"}:
        assert compared
