"""Captures one release: asks the real lmcache twice, talks to its real server twice, and writes what both agree on."""

from __future__ import annotations

import concurrent.futures
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from fixturegen.corpus import TRANSCRIPTS, write_corpus
from fixturegen.environment import SEED, PinnedEnvironment
from fixturegen.errors import CaptureError
from fixturegen.inputs import Question, questions
from fixturegen.manifest import Manifest
from fixturegen.player import record
from fixturegen.scenarios import scenarios
from fixturegen.vector import Transcript, Vector
from fixturegen.venv import STUBS
from wire.release import Release

PROBE_TIMEOUT: Final = 600.0
CONVERSATIONS_AT_ONCE: Final = 24

Progress = Callable[[str], None]


def capture(
    release: Release, environment: PinnedEnvironment, *, root: Path | None = None, progress: Progress = lambda _: None
) -> Path:
    """Capture a release into ``<root>/<release>/`` and return that folder.

    Raises:
        EnvironmentUnavailable: the real lmcache cannot be run.
        CaptureError: a probe failed, or two runs disagree about something that is not known to be volatile.
    """
    wheel = environment.wheel(release)
    asked = questions(release)
    answers = []
    for attempt in (1, 2):
        progress(f"{release}: asking the real codecs ({attempt} of 2)")
        answers.append(_ask(release, environment, asked))
    _require_equal(release, asked, answers[0], answers[1])
    recordings = []
    for attempt in (1, 2):
        progress(f"{release}: talking to the real server ({attempt} of 2)")
        recordings.append(_record_all(release, environment))
    _require_equal_conversations(release, recordings[0], recordings[1])
    vectors = [*_vectors(asked, answers[0]["outcomes"]), *_layout_vectors(answers[0]["layouts"])]
    found = dict(answers[0]["environment"])
    manifest = Manifest(
        release=str(release),
        wheel=wheel.name,
        wheel_sha256=wheel.sha256,
        vllm={version: environment.vllm_wheel(version) for version in _vllm_versions(vectors)},
        stubs=[*STUBS[release], *_layout_stubs(answers[0]["layouts"])],
        byte_order=found.pop("byte_order"),
        files={},
        volatile={vector.id: vector.volatile for vector in vectors if vector.volatile is not None},
        unavailable=_unavailable(asked, answers[0]),
        environment={"runtime": environment.runtime, **found},
    )
    lines: dict[str, list[Mapping[str, Any]]] = {}
    for vector in vectors:
        lines.setdefault(f"{vector.op}.jsonl", []).append(vector.to_json())
    lines[TRANSCRIPTS] = [transcript.to_json() for transcript in recordings[0]]
    return write_corpus(manifest, lines, root)


def _record_all(release: Release, environment: PinnedEnvironment) -> list[Transcript]:
    scripts = scenarios(release)
    with (
        environment.server(release) as address,
        concurrent.futures.ThreadPoolExecutor(CONVERSATIONS_AT_ONCE) as pool,
    ):
        return list(pool.map(lambda script: record(address.host, address.port, script), scripts))


def _ask(release: Release, environment: PinnedEnvironment, asked: Sequence[Question]) -> dict[str, Any]:
    """One answer to all questions: those about another PYTHONHASHSEED come from interpreters that have it."""
    by_seed: dict[str | None, list[Question]] = {SEED: []}
    for question in asked:
        by_seed.setdefault(question.args.get("seed", SEED), []).append(question)
    answer: dict[str, Any] = {}
    for seed, questions_of_seed in by_seed.items():
        vectors = [{"id": question.id, "op": question.op, "args": question.args} for question in questions_of_seed]
        job = {"vectors": vectors, "layouts": seed == SEED}
        found = environment.run_probe(release, job, timeout=PROBE_TIMEOUT, seed=seed)
        answer = {**found, **answer, "outcomes": {**answer.get("outcomes", {}), **found["outcomes"]}}
    return answer


def _vllm_versions(vectors: Sequence[Vector]) -> list[str]:
    return sorted({vector.args["vllm"] for vector in vectors if vector.args.get("vllm") is not None})


def _require_equal(release: Release, asked: Sequence[Question], first: Mapping[str, Any], second: Mapping[str, Any]) -> None:
    for question in asked:
        one, other = first["outcomes"].get(question.id), second["outcomes"].get(question.id)
        if one is None or other is None:
            raise CaptureError(f"the probe of lmcache {release} did not answer {question.id}; it is a fault of fixturegen/probes")
        if one != other:
            raise CaptureError(
                f"lmcache {release} answered {question.id} differently in two processes and nothing says that it may:\n"
                f"first:  {one}\nsecond: {other}"
            )
    for member in ("environment", "layouts"):
        if first[member] != second[member]:
            raise CaptureError(f"lmcache {release}: two processes disagree about {member}")


def _require_equal_conversations(release: Release, first: Sequence[Transcript], second: Sequence[Transcript]) -> None:
    for one, other in zip(first, second, strict=True):
        for step, (left, right) in enumerate(zip(one.steps, other.steps, strict=True)):
            if left != right:
                raise CaptureError(
                    f"the server of lmcache {release} answered {one.id}, step {step}, differently in two runs:\n"
                    f"first:  {left.values}\nsecond: {right.values}"
                )


def _vectors(asked: Sequence[Question], outcomes: Mapping[str, Mapping[str, Any]]) -> list[Vector]:
    found = []
    for question in asked:
        outcome = outcomes[question.id]
        if "inapplicable" in outcome:
            continue
        kept = {name: outcome[name] for name in ("ok", "error") if name in outcome}
        remarks = outcome.get("volatile"), outcome.get("finding")
        found.append(Vector(question.id, question.op, question.args, kept, outcome["source"], *remarks))
    return found


def _layout_vectors(report: Mapping[str, Any]) -> list[Vector]:
    sources = {entry["format"]: entry["callable"] for entry in report["sources"]}
    found = []
    for vector in report["vectors"]:
        asked, output = vector["input"], vector["output"]
        source = sources[asked["format"]]
        packed = {"bytes": output["bytes"], "shape": output["shape"]}
        found.append(Vector(f"{vector['id']}.pack", "pack_layout", asked, {"ok": packed}, source))
    for vector in report["vectors"]:
        asked, output = vector["input"], vector["output"]
        if "unpacked" not in output:
            continue
        described = {name: asked[name] for name in ("format", "dtype", "slots", "paged_shape")}
        args = {**described, "bytes": output["bytes"], "shape": output["shape"]}
        outcome = {"ok": {"paged": output["unpacked"]}}
        found.append(Vector(f"{vector['id']}.unpack", "unpack_layout", args, outcome, sources[asked["format"]]))
    return found


def _layout_stubs(report: Mapping[str, Any]) -> list[str]:
    """Device scheduling that was replaced to run packing code on a CPU."""
    return sorted({f"{stub} (packing of {entry['format']})" for entry in report["sources"] for stub in entry["stubs"]})


def _unavailable(asked: Sequence[Question], answer: Mapping[str, Any]) -> dict[str, str]:
    found: dict[str, str] = {}
    for question in asked:
        reason = answer["outcomes"][question.id].get("inapplicable")
        if reason is not None:
            found.setdefault(question.op, reason)
    for entry in answer["layouts"]["unavailable"]:
        name = f"{entry['format']} {entry.get('step', 'pack')}"
        if "vectors" in entry:
            name += f" of {', '.join(entry['vectors'])}"
        found[name] = entry["reason"]
    return found
