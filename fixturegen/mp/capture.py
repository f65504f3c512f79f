"""Captures the multiprocess protocol of one release: tables, frames, objects and registration blobs, asked in two processes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from fixturegen.corpus import TRANSCRIPTS, write_corpus
from fixturegen.environment import PinnedEnvironment
from fixturegen.errors import CaptureError
from fixturegen.inputs import Question
from fixturegen.inputs.mp import STEPS, step
from fixturegen.manifest import Manifest
from fixturegen.mp.grpc import grpc_vectors
from fixturegen.mp.launch import NEEDS_SHIM, NO_DATA_PATH, NO_SERVER
from fixturegen.mp.recording import record_all, require_again
from fixturegen.mp.scenarios import scenarios
from fixturegen.mp.transcript import MpTranscript
from fixturegen.vector import Vector
from wire.release import Release

PROBE_TIMEOUT: Final = 300.0
PLAYED: Final = (
    "the sockets and the poller of the message queue's client and server",
    "the handlers of the server, which remember what they are given",
)
"""What stands in for a part of lmcache or of ZeroMQ in every capture of this protocol; the rest is as the wheel has it."""

SHIM: Final = (
    "cupy, lmcache.c_ops (in the server, which is talked to)",
    "torch.cuda.init, synchronize, empty_cache and cudart (in the server, which is talked to)",
)
"""What does nothing in servers that ask for CUDA at their start."""

Progress = Callable[[str], None]


def capture_mp(
    release: Release,
    environment: PinnedEnvironment,
    *,
    root: Path | None = None,
    transcripts: Sequence[MpTranscript] | None = None,
    progress: Progress = lambda _: None,
) -> Path:
    """Capture a release into ``<root>/<release>/mp/`` and return that folder.

    ``transcripts`` are conversations with the real server; None holds them anew, twice. With given ones no server is started,
    and there are no gRPC calls.

    Raises:
        EnvironmentUnavailable: the real lmcache cannot be run.
        CaptureError: a probe failed, or two processes disagree.
    """
    wheel = environment.wheel(release)
    asked: list[Question] = []
    outcomes: dict[str, Any] = {}
    answer: dict[str, Any] = {}
    for number in range(len(STEPS)):
        progress(f"{release}: asking the multiprocess protocol (step {number + 1} of {len(STEPS)})")
        questions = step(number, release, outcomes)
        answer = _ask(release, environment, questions)
        asked += questions
        outcomes |= answer["outcomes"]
    progress(f"{release}: asking the multiprocess protocol again")
    _require_equal(release, asked, {**answer, "outcomes": outcomes}, _ask(release, environment, asked))
    vectors = _vectors(asked, outcomes)
    if transcripts is None:
        vectors += grpc_vectors(release, environment)
    found = dict(answer["environment"])
    manifest = Manifest(
        release=str(release),
        wheel=wheel.name,
        wheel_sha256=wheel.sha256,
        vllm={},
        stubs=stand_ins(release),
        byte_order=found.pop("byte_order"),
        files={},
        volatile={},
        unavailable={**_unavailable(asked, outcomes), **not_held(release)},
        environment={"runtime": environment.runtime, **found},
        protocol="mp",
    )
    lines: dict[str, list[Mapping[str, Any]]] = {}
    for vector in vectors:
        lines.setdefault(f"{vector.op}.jsonl", []).append(vector.to_json())
    held = conversations(release, environment, progress) if transcripts is None else transcripts
    if held:
        lines[TRANSCRIPTS] = [transcript.to_json() for transcript in held]
    return write_corpus(manifest, lines, root)


def conversations(release: Release, environment: PinnedEnvironment, progress: Progress = lambda _: None) -> list[MpTranscript]:
    """Every conversation with the real server of a release, held twice.

    Raises:
        EnvironmentUnavailable: the server does not start.
        CaptureError: the two differ.
    """
    scripts = scenarios(release, environment)
    if not scripts:
        return []
    progress(f"{release}: talking to the multiprocess server")
    held = record_all(release, environment, scripts)
    progress(f"{release}: talking to the multiprocess server again")
    require_again(release, environment, held)
    return held


def stand_ins(release: Release) -> list[str]:
    """What stands in for parts of lmcache or of what it imports."""
    return [*PLAYED, *(SHIM if NEEDS_SHIM[release] else ())]


def not_held(release: Release) -> dict[str, str]:
    """Conversations that cannot be held with the server of a release, and why."""
    reasons = {"transcripts": NO_SERVER[release], "transcripts of the data path": NO_DATA_PATH[release]}
    return {name: reason for name, reason in reasons.items() if reason is not None}


def _ask(release: Release, environment: PinnedEnvironment, questions: Sequence[Question]) -> dict[str, Any]:
    job = {"vectors": [{"id": question.id, "op": question.op, "args": question.args} for question in questions]}
    return environment.run_mp_probe(release, job, timeout=PROBE_TIMEOUT)


def _require_equal(release: Release, asked: Sequence[Question], first: Mapping[str, Any], second: Mapping[str, Any]) -> None:
    for question in asked:
        one, other = first["outcomes"].get(question.id), second["outcomes"].get(question.id)
        if one is None or other is None:
            raise CaptureError(f"the probe of lmcache {release} did not answer {question.id}; it is a fault of fixturegen/probes")
        if one != other:
            raise CaptureError(
                f"lmcache {release} answered {question.id} differently in two processes:\nfirst:  {one}\nsecond: {other}"
            )
    if first["environment"] != second["environment"]:
        raise CaptureError(f"lmcache {release}: two processes disagree about the environment")


def _vectors(asked: Sequence[Question], outcomes: Mapping[str, Mapping[str, Any]]) -> list[Vector]:
    found = []
    for question in asked:
        outcome = outcomes[question.id]
        if "inapplicable" in outcome:
            continue
        _require_no_fault_of_ours(question, outcome)
        kept = {name: outcome[name] for name in ("ok", "error") if name in outcome}
        found.append(Vector(question.id, question.op, question.args, kept, outcome["source"]))
    return found


def _require_no_fault_of_ours(question: Question, outcome: Mapping[str, Any]) -> None:
    """Of these operations lmcache refuses nothing: an error would be one of the probe."""
    error = outcome.get("error")
    if error is None:
        return
    if error["type"] in ("AttributeError", "NameError", "LookupError") or question.op in ("mp_operations", "mp_records"):
        raise CaptureError(f"{question.id}: {error['type']}: {error['message']}; it is a fault of fixturegen/probes")


def _unavailable(asked: Sequence[Question], outcomes: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    found: dict[str, str] = {}
    for question in asked:
        reason = outcomes[question.id].get("inapplicable")
        if reason is not None:
            found.setdefault(question.op, reason)
    return found
