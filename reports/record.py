"""The three kinds of line in ``results.jsonl``: one header, one record per case, one footer.

``schemas/results-v1.schema.json`` is the public form of this module; tests keep the two together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

from reports.diagnosis import Diagnosis
from reports.expectation import Listed, ListFile
from reports.parts import Merged, Selection, Shard
from reports.plain import JsonObject, clip, plain
from reports.side import Side
from reports.verdict import ExitCode, Verdict
from reports.words import listing

SCHEMA_VERSION: Final = 1
UNKNOWN: Final = "unknown"
"""The version and the language of what says nothing of itself."""


@dataclass(frozen=True)
class ClientInfo:
    """What is judged, a client or another :data:`Side`: how it was named on the command line, and what it said of itself."""

    spec: str
    name: str
    version: str
    language: str
    operations: tuple[str, ...] = ()
    releases: tuple[str, ...] = ()
    issues: str | None = None
    """Where its bugs are reported."""

    @property
    def called(self) -> str:
        """Name and version, as far as that is known."""
        return self.name if self.version == UNKNOWN else f"{self.name} {self.version}"

    @property
    def written_in(self) -> str:
        """The language in brackets behind a space, if it is known."""
        return "" if self.language == UNKNOWN else f" ({self.language})"

    def to_json(self) -> JsonObject:
        """The ``client`` member of the header line; what the client said at great length is clipped."""
        return {name: plain(value) for name, value in vars(self).items()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The inverse of :meth:`to_json`."""
        return cls(
            spec=data["spec"],
            name=data["name"],
            version=data["version"],
            language=data["language"],
            operations=tuple(data.get("operations", ())),
            releases=tuple(data.get("releases", ())),
            issues=data.get("issues"),
        )


@dataclass(frozen=True)
class RunHeader:
    """What was run, on what and by what; enough to run it again."""

    tool_version: str
    started: str
    """ISO 8601, UTC, ending in ``Z``."""
    client: ClientInfo
    releases: tuple[str, ...]
    """In the order in which reports show them."""
    targets: tuple[str, ...]
    command_line: tuple[str, ...]
    seed: int
    python: str
    platform: str
    corpus: str
    """Fingerprint of the corpus."""
    expectations: ListFile | None = None
    """The list of known failures, where the run had one."""
    selection: Selection | None = None
    """What the run selected, all shards together; ``None`` where that was not known when it began, as under pytest-xdist."""
    shard: Shard | None = None
    """The part of it that this file holds, where it was cut into several."""
    merged: Merged | None = None
    """The shards that this file was made of."""
    left_out: tuple[str, ...] = ()
    """Wires whose cases are not in the run, because the client declares none of their operations."""
    side: Side = "client"
    """What ``client`` is: what the run judges."""
    schema_version: int = SCHEMA_VERSION

    @property
    def without(self) -> str:
        """The wires that were left out, in words; empty where none was."""
        names = listing(self.left_out) if self.left_out else ""
        return f"cases of {names}: the client declares none of their operations" if names else ""

    def to_json(self) -> JsonObject:
        """The first line of the file."""
        return {
            "record": "header",
            "schema_version": self.schema_version,
            "tool_version": self.tool_version,
            "started": self.started,
            "client": self.client.to_json(),
            "releases": list(self.releases),
            "targets": list(self.targets),
            "command_line": list(self.command_line),
            "seed": self.seed,
            "python": self.python,
            "platform": self.platform,
            "corpus": self.corpus,
            "expectations": self.expectations.to_json() if self.expectations else None,
            "selection": self.selection.to_json() if self.selection else None,
            "shard": self.shard.to_json() if self.shard else None,
            "merged": self.merged.to_json() if self.merged else None,
            "left_out": list(self.left_out),
            "side": self.side,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The inverse of :meth:`to_json`."""
        listed, selection, shard, merged = (data.get(name) for name in ("expectations", "selection", "shard", "merged"))
        return cls(
            tool_version=data["tool_version"],
            started=data["started"],
            client=ClientInfo.from_json(data["client"]),
            releases=tuple(data["releases"]),
            targets=tuple(data["targets"]),
            command_line=tuple(data["command_line"]),
            seed=data["seed"],
            python=data["python"],
            platform=data["platform"],
            corpus=data["corpus"],
            expectations=None if listed is None else ListFile.from_json(listed),
            selection=None if selection is None else Selection.from_json(selection),
            shard=None if shard is None else Shard.from_json(shard),
            merged=None if merged is None else Merged.from_json(merged),
            left_out=tuple(data.get("left_out", ())),
            side=data.get("side", "client"),
            schema_version=data["schema_version"],
        )


@dataclass(frozen=True)
class CaseRecord:
    """How one case ended."""

    id: str
    """Such as ``lm.get.partial-header[0.5.6-mock]``; unique in a file."""
    topic: str
    """Such as ``lm.get``."""
    case: str
    """Such as ``partial-header``."""
    release: str
    target: str
    verdict: Verdict
    seconds: float
    title: str
    """The first sentence of the case's docstring."""
    variant: str | None = None
    """The vector or parameter where one case runs over several."""
    requirements: tuple[str, ...] = ()
    reason: str | None = None
    """For ``unsupported`` what the client said, for a case of the list of known failures what that has to say."""
    operation: str | None = None
    """The operation that an ``unsupported`` is about."""
    diagnosis: Diagnosis | None = None
    judges: Side = "client"
    """Who pays for a failure. ``server`` in a run that judges a client: the mock or the live server is compared with captures."""
    expectation: Listed | None = None
    """The entry of the list of known failures that the case belongs to, except where the harness or its environment failed."""
    not_run: bool = False
    """The client failed so often before that it was not asked; the verdict is what it did then."""
    place: int | None = None
    """In a shard: where the execution stands in the whole run, from 0."""

    @property
    def name(self) -> str:
        """Topic and case, without release, target and variant."""
        return f"{self.topic}.{self.case}"

    @property
    def column(self) -> str:
        """Release and target, such as ``0.5.6-mock``."""
        return f"{self.release}-{self.target}"

    @property
    def why(self) -> str:
        """The shortest explanation there is, or an empty string."""
        if self.verdict is Verdict.KNOWN_FAILURE and self.reason:
            return self.reason
        return self.diagnosis.summary if self.diagnosis else self.reason or ""

    def to_json(self) -> JsonObject:
        """One line of the file; what the client said at great length is clipped."""
        return {
            "record": "case",
            **vars(self),
            "verdict": self.verdict.value,
            "requirements": list(self.requirements),
            "reason": None if self.reason is None else clip(self.reason),
            "diagnosis": self.diagnosis.to_json() if self.diagnosis else None,
            "expectation": self.expectation.to_json() if self.expectation else None,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The inverse of :meth:`to_json`."""
        diagnosis = data.get("diagnosis")
        listed = data.get("expectation")
        return cls(
            id=data["id"],
            topic=data["topic"],
            case=data["case"],
            release=data["release"],
            target=data["target"],
            verdict=Verdict(data["verdict"]),
            seconds=data["seconds"],
            title=data["title"],
            variant=data.get("variant"),
            requirements=tuple(data.get("requirements", ())),
            reason=data.get("reason"),
            operation=data.get("operation"),
            diagnosis=None if diagnosis is None else Diagnosis.from_json(diagnosis),
            judges=data.get("judges", "client"),
            expectation=None if listed is None else Listed.from_json(listed),
            not_run=data.get("not_run", False),
            place=data.get("place"),
        )


@dataclass(frozen=True)
class RunFooter:
    """How the run ended; without it, or with ``complete`` false, a file is never reported as a pass."""

    counts: Mapping[Verdict, int]
    seconds: float
    exit_code: ExitCode
    ended: str
    """ISO 8601, UTC, ending in ``Z``."""
    complete: bool

    def to_json(self) -> JsonObject:
        """The last line of the file."""
        return {
            "record": "footer",
            "counts": {verdict.value: self.counts.get(verdict, 0) for verdict in Verdict},
            "seconds": self.seconds,
            "exit_code": int(self.exit_code),
            "ended": self.ended,
            "complete": self.complete,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The inverse of :meth:`to_json`."""
        return cls(
            counts={verdict: data["counts"].get(verdict.value, 0) for verdict in Verdict},
            seconds=data["seconds"],
            exit_code=ExitCode(data["exit_code"]),
            ended=data["ended"],
            complete=data["complete"],
        )
