"""A recording of the multiprocess wire as a transcript of the corpus: what to send, and what came back, step by step.

What a server chooses anew in every run gets a name: the number of a lookup, its shared memory and the places in it. Polls that
had no result yet are one step. What lay in shared memory is not on the wire, so nothing of it is in the transcript.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from fixturegen.mp.transcript import MpStep, MpTranscript, Setting, StepKind, frame_bytes, named
from harness.tap.event import Event
from harness.tap.mp.candidates import operation_in
from harness.tap.mp.lint import MpListener, listen
from harness.tap.mp.parts import Part, Parts
from harness.tap.mp.talk import Seen, Talk
from harness.tap.mp.zmtp import Command, properties
from wire.mp.operations import operation_table
from wire.mp.values import Value, ValueRefused, to_json
from wire.release import KNOWN_RELEASES, Release

BOUND: Final[Mapping[str, str]] = {
    "job": "the server numbers its lookups",
    "pool": "the server names its shared memory",
    "size": "the size of the server's memory is its own choice",
    "place": "the server picks places in its memory",
    "data": "payload may have been left out of the recording",
}
_POLLED: Final = ("QUERY_PREFETCH_STATUS", "WAIT_PREFETCH_STATUS")
_PREPARES: Final = ("PREPARE_STORE", "PREPARE_RETRIEVE")


@dataclass
class _Talk:
    name: str
    open: dict[bytes, tuple[Parts, str, int]] = field(default_factory=dict)
    """By uid: the request, its meaning, and the index of its step."""
    ended: bool = False


class _Transcriber:
    def __init__(self, release: Release) -> None:
        self.release = release
        self.steps: list[MpStep | None] = []
        self.setting: Setting = "control"
        self._listener = Talk()
        self._talks: dict[int, _Talk] = {}
        self._bound: dict[str, Any] = {}
        self._jobs: dict[object, str] = {}

    def hear(self, event: Event) -> None:
        for seen in self._listener.feed(event):
            self._seen(seen)

    def finish(self) -> list[MpStep]:
        for talk in self._talks.values():
            if talk.open and not talk.ended:
                self._add("receive", talk, got={"silence": True})
        return [step for step in self.steps if step is not None]

    def _seen(self, seen: Seen) -> None:
        if not seen.connection:
            return
        talk = self._talks.get(seen.connection)
        match seen.what:
            case Command(name=b"READY") as found if seen.side == "client" and talk is None:
                identity = (properties(found.data) or {}).get("Identity", b"")
                talk = self._talks[seen.connection] = _Talk(f"c{seen.connection}")
                self._add("connect", talk, **({"routing_id": identity.hex()} if identity else {}))
            case Parts() as parts if talk is not None and not talk.ended:
                (self._request if seen.side == "client" else self._reply)(talk, parts)
            case "end" | "reset" if talk is not None and not talk.ended and seen.side == "client":
                self._add("close", talk)
                talk.ended = True

    def _request(self, talk: _Talk, parts: Parts) -> None:
        operation = operation_in(operation_table(self.release), parts)
        meaning = operation.meaning if operation is not None else ""
        frames = [part.data.hex() for part in parts.parts]
        job = parts.behind[0].value if parts.behind else None
        if meaning in (*_POLLED, "QUERY_PREFETCH_LOOKUP_HITS") and isinstance(job, int) and job in self._jobs:
            frames[2] = {"msgpack": {"bound": self._jobs[job]}}  # type: ignore[call-overload]
        talk.open[parts.uid] = parts, meaning, len(self.steps)
        self._add("send", talk, frames=frames)

    def _reply(self, talk: _Talk, parts: Parts) -> None:
        asked = talk.open.get(parts.uid)
        got: list[Any] = [part.data.hex() for part in parts.parts]
        if asked is not None:
            _, meaning, index = asked
            if meaning != "SUBSCRIBE_KV_EVENTS" or not parts.behind:
                del talk.open[parts.uid]
            if parts.behind and not parts.behind[0].refused:
                got[2] = self._result(meaning, parts.behind[0])
            sent = self.steps[index]
            if meaning in _POLLED and sent is not None:
                self.steps[index] = None
                if parts.behind:
                    self._add("poll", talk, frames=sent.values["frames"], got={"frames": got})
                return
        self._add("receive", talk, got={"frames": got})

    def _result(self, meaning: str, part: Part) -> Any:
        """A result, with names in the places that differ from run to run."""
        value = part.value
        if meaning == "LOOKUP" and isinstance(value, int) and not isinstance(value, bool):
            name = self._jobs[value] = f"job.{len(self._jobs)}"
            return {"msgpack": {"bound": name}}
        places: dict[str, str] = {}
        if isinstance(value, Mapping):
            if value.get("shm_name"):
                self.setting = "shared-memory"
                places = {"shm_name": "pool", "pool_size": "size"}
            elif meaning in _PREPARES:
                self.setting = self.setting if self.setting != "control" else "pickle"
                places = {"context.slots.*.offset": f"place.{len(self.steps)}"}
                if value.get("data"):
                    places["data"] = f"data.{len(self.steps)}"
        return self._named(value, places, part)

    def _named(self, value: Value, places: Mapping[str, str], part: Part) -> Any:
        if not places:
            return part.data.hex()
        try:
            found = {"msgpack": named(value, places, self._bound)}
            if frame_bytes(found, self._bound) == part.data:
                return found
            plain = to_json(value)
        except (KeyError, TypeError, ValueRefused):  # nested too deep, or members that are called as those of transcripts
            return part.data.hex()
        return part.data.hex() if any(_names(plain)) else {"msgpack": plain}

    def _add(self, do: StepKind, talk: _Talk, **values: Any) -> None:
        self.steps.append(MpStep(do, talk.name, values))


def transcript_of(events: Iterable[Event], name: str, title: str) -> dict[str, Any]:
    """The transcript of a recording, with the release that the server seems to be of."""
    kept = list(events)
    release = _release(listen(kept).listener)
    made = _Transcriber(release)
    for event in kept:
        made.hear(event)
    steps = made.finish()
    used = {text.split(".")[0] for step in steps for text in _names(step.to_json())}
    transcript = MpTranscript(name, title, made.setting, steps, {text: why for text, why in BOUND.items() if text in used})
    return {**transcript.to_json(), "release": str(release)}


def _release(listener: MpListener) -> Release:
    for who in ("server", "client"):
        guess = listener.guess(who)
        if guess.seen and guess.candidates:
            return guess.candidates[-1]
    return Release.parse(KNOWN_RELEASES[-1])


def _names(value: Any) -> Iterable[str]:
    if isinstance(value, Mapping):
        if sorted(value) == ["bound"]:
            yield str(value["bound"])
        for member in value.values():
            yield from _names(member)
    elif isinstance(value, list):
        for member in value:
            yield from _names(member)
