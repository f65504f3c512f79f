"""Defects in what follows from a deployment: the hash function, the starting hash and the world size."""

from __future__ import annotations

from dataclasses import replace

from harness.mutants.mutant import mutant
from harness.reference.chains import Chains
from harness.reference.lm import ReferenceClient
from wire.deployments import Deployment, Hashing, hashing, seed_number
from wire.hashes import DIGESTS, digest_as_int
from wire.release import Release

CAPTURED = ("deployment_keys",)
DEPLOYED = ("keys.deployments.keys", "keys.deployments.starting-hash")


class _SeedAsNumber(Chains):
    def hashing(self, deployment: Deployment) -> Hashing:
        found = hashing(deployment)
        number = seed_number(deployment.seed)
        if number is None or found.none_hash in {None, 0}:
            return found
        if not found.digests:
            return replace(found, none_hash=number)
        digest = DIGESTS[found.function](number)
        return replace(found, none_hash=digest if found.returns == "bytes" else digest_as_int(found.function, digest))


@mutant(
    "seed-as-number",
    stands_for="PYTHONHASHSEED is a number to everybody; vLLM hashes the text of the variable.",
    found_by=DEPLOYED,
    captured=CAPTURED,
)
class SeedAsNumber(ReferenceClient):
    """Makes the starting hash of the seed as an integer."""

    chains = _SeedAsNumber()


class _StartsFromZero(Chains):
    def hashing(self, deployment: Deployment) -> Hashing:
        return replace(hashing(deployment), none_hash=0)


@mutant(
    "none-hash-zero",
    stands_for="LMCache #1739 and #1139: processes that disagree about NONE_HASH; without vLLM's module it silently is 0.",
    found_by=(*DEPLOYED, "keys.deployments.random"),
    captured=CAPTURED,
)
class StartsFromZero(ReferenceClient):
    """Starts every chain from 0."""

    chains = _StartsFromZero()


class _StartsFromNoSeed(Chains):
    def hashing(self, deployment: Deployment) -> Hashing:
        return hashing(deployment if deployment.seed is not None else replace(deployment, seed="0"))


@mutant(
    "none-hash-of-a-default-seed",
    stands_for="A seed that is not set taken for 0: the start is random (LMCache #1139), or from vLLM 0.29 on a fixed text.",
    found_by=("keys.deployments.random", *DEPLOYED),
    captured=CAPTURED,
)
class StartsFromNoSeed(ReferenceClient):
    """Takes a seed that is not set for 0."""

    chains = _StartsFromNoSeed()


class _StartsAlways(Chains):
    def hashing(self, deployment: Deployment) -> Hashing:
        return hashing(replace(deployment, vllm=deployment.vllm or "0.28.0", kv_cache_utils=True))


@mutant(
    "none-hash-without-its-module",
    stands_for="A starting hash made of the seed although vLLM, or its kv_cache_utils, cannot be imported: lmcache then takes 0.",
    found_by=DEPLOYED,
    captured=CAPTURED,
)
class StartsAlways(ReferenceClient):
    """Makes a starting hash where lmcache finds none."""

    chains = _StartsAlways()


class _TrustsTheSetting(Chains):
    def hashing(self, deployment: Deployment) -> Hashing:
        return hashing(deployment, function=deployment.algorithm if deployment.algorithm in DIGESTS else "builtin")


@mutant(
    "algorithm-not-replaced",
    stands_for="A setting taken at its word: lmcache replaces a function that the installed vLLM lacks by builtin.",
    found_by=DEPLOYED,
    captured=CAPTURED,
)
class TrustsTheSetting(ReferenceClient):
    """Hashes with the function that is set, whether vLLM has it or not."""

    chains = _TrustsTheSetting()


class _NewestVllm(Chains):
    def hashing(self, deployment: Deployment) -> Hashing:
        return hashing(replace(deployment, vllm="0.33.0") if deployment.vllm is not None else deployment)


@mutant(
    "vllm-version-ignored",
    stands_for="One table of hash functions for every vLLM: 0.10.1 returned integers, later ones bytes and from other modules.",
    found_by=DEPLOYED,
    captured=CAPTURED,
)
class NewestVllm(ReferenceClient):
    """Hashes as beside the newest vLLM."""

    chains = _NewestVllm()


class _WorldAsItIs(Chains):
    def world_size(self, release: Release, world_size: int, *, mla: bool, save_only_first_rank: bool | None) -> int:
        del release, mla, save_only_first_rank
        return world_size


@mutant(
    "world-size-with-latent-attention",
    stands_for="A client tried on other models: with multi-head latent attention one rank saves for all, under world size 1.",
    releases="0.3.10 and later",
    found_by=DEPLOYED,
    captured=CAPTURED,
)
class WorldAsItIs(ReferenceClient):
    """Writes the world size of a model with latent attention as it is."""

    chains = _WorldAsItIs()


class _WorldOfOne(Chains):
    def world_size(self, release: Release, world_size: int, *, mla: bool, save_only_first_rank: bool | None) -> int:
        del release
        return 1 if mla or save_only_first_rank else world_size


@mutant(
    "world-size-by-either-setting",
    stands_for="An or where lmcache has an and: it takes both latent attention and the setting.",
    found_by=DEPLOYED,
    captured=CAPTURED,
)
class WorldOfOne(ReferenceClient):
    """Writes world size 1 for latent attention, or where only the first rank is to save."""

    chains = _WorldOfOne()
