"""Captured conversations with the real ``lm://`` server, step by step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from docs.generator.spec.corpus import captured, conversation_place, transcript
from docs.generator.spec.words import code
from docs.generator.table import table
from fixturegen.vector import Step
from wire.lm.enums import CODES, COMMANDS
from wire.lm.frames import header_numbers
from wire.lm.profile import KEY_FIELD_SIZE, LmProfile, lm_profile
from wire.release import Release

_SHOWN: Final = (
    ("lm.server.put-get", "PUT has no reply; GET, EXIST and HEALTH have one each"),
    ("lm.server.pipelined-put-get", "Requests that are sent at once are answered in their order"),
    ("lm.server.list-silent", "LIST has no reply, and the connection goes on"),
    ("lm.server.bad-dtype-nine", "A request that cannot be read ends its connection"),
    ("lm.server.cut-payload-over-good", "A payload that is cut off leaves a key without a value (LM-SRV-009)"),
)
_ACTS: Final = {"connect": "connects", "half-close": "ends its sending side", "close": "closes", "reset": "resets the connection"}


def conversations() -> str:
    """Some conversations of the newest captured release."""
    release = captured()[-1]
    profile = lm_profile(Release.parse(release))
    parts = []
    for identity, title in _SHOWN:
        steps = transcript(release, identity).steps
        several = len({step.connection for step in steps}) > 1
        rows = [
            (f"{step.connection}: {words}" if several else words, answer)
            for step in steps
            for words, answer in _step(profile, step)
        ]
        parts += [f"{title} ({conversation_place(release, identity)}):", table(("the client", "the server"), rows)]
    return "\n\n".join(parts)


def _step(profile: LmProfile, step: Step) -> Iterator[tuple[str, str]]:
    if step.do == "send":
        yield "sends " + "; ".join(_requests(profile, step.payload())), ""
    elif step.do == "receive":
        got = step.values["got"]
        data = bytes.fromhex(got.get("bytes", ""))
        answers = list(_replies(profile, data))
        if got["closed"]:
            answers.append("ends the connection")
        yield "", ", then ".join(answers) or "nothing"
    else:
        yield _ACTS[step.do], ""


def _requests(profile: LmProfile, data: bytes) -> Iterator[str]:
    size = profile.header.request_size
    names = {number: name for name, number in COMMANDS.items()}
    while len(data) >= size:
        numbers = header_numbers(profile.header.request, data)
        key = data[size - KEY_FIELD_SIZE : size].decode(errors="replace").rstrip()
        command = names.get(numbers["command"], str(numbers["command"]))
        data = data[size:]
        wanted = numbers["length"] if command == "PUT" else 0
        sent, data = data[:wanted], data[wanted:]
        about = f", dtype {numbers['dtype']}" if numbers["dtype"] > 8 else ""
        payload = f", length {wanted}, and {len(sent)} bytes of payload" if wanted else ""
        yield f"{command} of {code(key)}{about}{payload}"
    if data:
        yield f"{len(data)} bytes"


def _replies(profile: LmProfile, data: bytes) -> Iterator[str]:
    size = profile.header.reply_size
    names = {number: name for name, number in CODES.items()}
    while len(data) >= size:
        numbers = header_numbers(profile.header.reply, data)
        length, data = numbers["length"], data[size:]
        taken, data = data[:length], data[length:]
        behind = f", length {length}, and {len(taken)} bytes of payload" if length else ", length 0"
        yield f"{numbers['code']} {names.get(numbers['code'], '')}{behind}"
    if data:
        yield f"{len(data)} bytes"
