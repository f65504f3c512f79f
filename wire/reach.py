"""How far the chunk hashes of a deployment carry: to other processes, versions of Python, languages, vLLM, and lmcache."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from wire.chunks import CHUNK_CHAINS, TEXT_ALGORITHM
from wire.deployments import BUILTIN, Deployment, hash_of_none, hashing, vllm_ranges, vllm_spans
from wire.keys import KEY_GRAMMARS
from wire.portability import AXES, Axis, Identity, findings
from wire.release import KNOWN_RELEASES, Release

PYTHONS: Final = ("3.10", "3.11", "3.12")
"""Each hashes in its own way; later ones hash as the last."""


@dataclass(frozen=True)
class Reach:
    """How far the hashes of a deployment carry along one axis."""

    axis: Axis
    carries: bool
    where: str
    """What they hold for, in words."""
    because: tuple[str, ...]
    """Ids of the findings that end it there."""


def reach(deployment: Deployment, identity: Identity) -> tuple[Reach, ...]:
    """How far the hashes of a deployment carry, along every axis.

    Raises:
        EncodeError: a setting of the deployment is none.
    """
    held = findings(deployment, identity)
    alone = _fingerprint(deployment) is None
    made = []
    for axis in AXES:
        carries, where = (False, _nowhere(held_ids={finding.id for finding in held})) if alone else _CARRIES[axis](deployment)
        broken = "processes" if alone else axis
        because = () if carries else tuple(finding.id for finding in held if broken in finding.breaks)
        made.append(Reach(axis, carries, where, because))
    return tuple(made)


def alike_releases(deployment: Deployment) -> list[str]:
    """The known releases that make the same chunk hashes, as values, with the same settings."""
    own = _fingerprint(deployment)
    return [text for text in KNOWN_RELEASES if _fingerprint(replace(deployment, release=Release.parse(text))) == own]


def release_spans(releases: Iterable[str]) -> str:
    """Known releases as ranges: ``0.3.3, 0.4.6 to 0.5.6``."""
    chosen = set(releases)
    runs: list[list[str]] = []
    for index, text in enumerate(KNOWN_RELEASES):
        if text not in chosen:
            continue
        if runs and runs[-1][-1] == KNOWN_RELEASES[index - 1]:
            runs[-1].append(text)
        else:
            runs.append([text])
    return ", ".join(run[0] if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs)


def _nowhere(held_ids: set[str]) -> str:
    return "nowhere: there are no keys" if "digest-not-writable" in held_ids else "nowhere but in one process"


def _fingerprint(deployment: Deployment) -> tuple[object, ...] | None:
    """What the hashes follow from, besides the tokens; None: they hold in one process, or cannot be written at all."""
    found = hashing(deployment)
    chain = CHUNK_CHAINS[deployment.release]
    none = hash_of_none(deployment.python) if chain.third == "none" and found.function == BUILTIN else 0
    if found.none_hash is None or none is None or (found.digests_as_bytes and not KEY_GRAMMARS[deployment.release].digests):
        return None
    folds = found.digests_as_bytes and chain.folds
    return (found.function.removesuffix("_64bit"), found.none_hash, found.returns, chain.third, folds, none)


def _processes(_: Deployment) -> tuple[bool, str]:
    return True, "every process with these settings"


def _pythons(deployment: Deployment) -> tuple[bool, str]:
    if hashing(deployment).pickles:
        return False, f"CPython {deployment.python}; 3.8 to 3.13 write the same pickles, without a promise"
    own = _fingerprint(deployment)
    alike = [text for text in PYTHONS if _fingerprint(replace(deployment, python=text)) == own]
    if len(alike) == len(PYTHONS):
        return True, "every CPython that lmcache runs on"
    return False, f"CPython {alike[0]} and later" if alike[-1] == PYTHONS[-1] else "CPython before 3.11"


def _languages(deployment: Deployment) -> tuple[bool, str]:
    found = hashing(deployment)
    if found.pickles:
        return False, "Python"
    needs = {BUILTIN: "64-bit arithmetic as docs/spec/keys.md describes it", TEXT_ALGORITHM: "sha256"}
    return True, f"any language, with {needs.get(found.function, 'canonical CBOR and the digest')}"


def _vllms(deployment: Deployment) -> tuple[bool, str]:
    own = _fingerprint(deployment)
    known = list(vllm_ranges())
    alike = [found.first for found in known if _fingerprint(replace(deployment, vllm=found.first)) == own]
    words = [f"vLLM {span}" for span in vllm_spans(alike)]
    if len(alike) == len(known):
        words = ["every known version of vLLM"]
    without = _fingerprint(replace(deployment, vllm=None)) == own
    return len(alike) == len(known), "; ".join([*words, *(["processes without vLLM"] if without else [])])


def _releases(deployment: Deployment) -> tuple[bool, str]:
    alike = alike_releases(deployment)
    return len(alike) == len(KNOWN_RELEASES), f"lmcache {release_spans(alike)}"


_CARRIES: Final[Mapping[Axis, Callable[[Deployment], tuple[bool, str]]]] = {
    "processes": _processes,
    "pythons": _pythons,
    "languages": _languages,
    "vllms": _vllms,
    "releases": _releases,
}
