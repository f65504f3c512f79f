"""The manifest of one captured release: where the bytes came from, and hashes of every file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from fixturegen.errors import CorpusError
from fixturegen.vector import content_hash
from fixturegen.wheel import Wheel

CAPTURE_FORMAT = 2
"""Version of the corpus format and of the capture tool's inputs."""

Protocol = Literal["lm", "mp"]
PROTOCOLS: Final[tuple[Protocol, ...]] = ("lm", "mp")
"""The wires that are captured: the ``lm://`` server's with all that is pure, and the multiprocess server's."""

MANIFEST_NAME = "manifest.json"


@dataclass(frozen=True)
class FileEntry:
    """One corpus file: its sha256 and how many lines it has."""

    sha256: str
    entries: int


@dataclass(frozen=True)
class Manifest:
    """Provenance and contents of ``cases/corpus/<release>/``, or of ``mp/`` in it.

    ``seal`` covers all but the environment, ``environment_seal`` the environment: runtimes differ there and only there.
    """

    release: str
    wheel: str
    wheel_sha256: str
    stubs: Sequence[str]
    vllm: Mapping[str, Wheel]
    """Version of vLLM to the wheel whose Python files gave hash functions and NONE_HASH."""
    byte_order: str
    files: Mapping[str, FileEntry]
    volatile: Mapping[str, str]
    """Vector id to the reason why parts of it are masked."""
    unavailable: Mapping[str, str]
    """What this release could not be asked, and why."""
    environment: Mapping[str, Any]
    """Runtime, Python, platform and the versions of the packages around lmcache."""
    protocol: Protocol = "lm"

    def to_text(self) -> str:
        """The file's text."""
        body = self._body()
        document = {
            **body,
            "seal": content_hash(body),
            "environment": dict(self.environment),
            "environment_seal": content_hash(dict(self.environment)),
        }
        return json.dumps(document, indent=2) + "\n"

    def _body(self) -> dict[str, Any]:
        return {
            "format": CAPTURE_FORMAT,
            **({"protocol": self.protocol} if self.protocol != "lm" else {}),
            "release": self.release,
            "wheel": {"name": self.wheel, "sha256": self.wheel_sha256},
            "stubs": list(self.stubs),
            "vllm": {version: {"name": wheel.name, "sha256": wheel.sha256} for version, wheel in sorted(self.vllm.items())},
            "byte_order": self.byte_order,
            "files": {name: {"sha256": e.sha256, "entries": e.entries} for name, e in sorted(self.files.items())},
            "volatile": dict(sorted(self.volatile.items())),
            "unavailable": dict(sorted(self.unavailable.items())),
        }

    @classmethod
    def from_text(cls, text: str, where: str) -> Manifest:
        """Read a manifest and check its seals.

        Raises:
            CorpusError: it is no JSON, lacks a member, has another format, or a seal does not match.
        """
        try:
            document = json.loads(text)
            if document["format"] != CAPTURE_FORMAT:
                raise CorpusError(f"{where}: format {document['format']}, this version reads {CAPTURE_FORMAT}; capture again")
            manifest = cls(
                release=document["release"],
                wheel=document["wheel"]["name"],
                wheel_sha256=document["wheel"]["sha256"],
                stubs=document["stubs"],
                vllm={version: Wheel(w["name"], w["sha256"]) for version, w in document["vllm"].items()},
                byte_order=document["byte_order"],
                files={name: FileEntry(e["sha256"], e["entries"]) for name, e in document["files"].items()},
                volatile=document["volatile"],
                unavailable=document["unavailable"],
                environment=document["environment"],
                protocol=document.get("protocol", "lm"),
            )
            seals = document["seal"], document["environment_seal"]
            true_seals = content_hash(manifest._body()), content_hash(dict(manifest.environment))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise CorpusError(f"{where}: not a manifest ({type(error).__name__}: {error}); restore it or capture again") from None
        if seals != true_seals:
            raise CorpusError(f"{where}: edited after capture (its seal does not match); restore it or capture again")
        return manifest
