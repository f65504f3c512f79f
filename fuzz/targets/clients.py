"""What clients, plugins and connectors answer: lines, members, files, and frames of their hosts."""

from __future__ import annotations

import contextlib
import io
import json
import os
import tempfile
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any, Final

from fuzz.target import Bytes, Target
from harness.client import OPERATIONS, Budget, ClientFailure, ClientUnavailable
from harness.clients.answers import read_answer, read_one_answer
from harness.clients.contract import ContractViolation, check_python, shorten
from harness.clients.host import Host
from harness.clients.payloads import from_json
from harness.clients.scratch import take
from harness.clients.stdio import StdioSession
from harness.l2.answers import Completion, Submitted
from harness.l2.host_process import _members, _NoAnswerError
from harness.reference.lm import ReferenceClient

_OPS: Final = ("hello", "state", "bye", *OPERATIONS)
_BUDGET: Final = Budget(call=5.0, start=5.0, stop=1.0, memory=1 << 30)


def _scratch() -> Path:
    folder = Path(tempfile.gettempdir()) / f"lmconform-fuzz-scratch-{os.getpid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def answer(data: bytes) -> None:
    """A line of an adapter, as the answer to any operation."""
    given = Bytes(data)
    op = given.choice(_OPS)
    read_answer(given.rest(), request_id=1, op=op, scratch=_scratch())


def answers(data: bytes) -> None:
    """A line, while several requests wait."""
    given = Bytes(data)
    read_one_answer(given.rest(), {3: "get", 4: "put", 9: "exist"}, scratch=_scratch())


def python_answer(data: bytes) -> None:
    """What a Python client returns."""
    given = Bytes(data)
    op = given.choice(_OPS)
    check_python(op, "ok", _json(given.rest()))


def arguments(data: bytes) -> None:
    """A request, as the host of Python clients takes it."""
    given = Bytes(data)
    op = given.choice(_OPS)
    args = _json(given.rest())
    if isinstance(args, dict):
        from_json(op, "args", args, _scratch())


def hosted(data: bytes) -> None:
    """Lines for the host of a Python client, which answers each that is a request."""
    host = Host(ReferenceClient())
    for line in data.split(b"\n"):
        request = _json(line)
        is_request = isinstance(request, dict) and isinstance(request.get("op"), str) and isinstance(request.get("args"), dict)
        if is_request and request["op"] not in {"connect", "hello"} and isinstance(request.get("id"), int):
            host.serve_one(request, io.BytesIO())


def scratch_file(data: bytes) -> None:
    """The name of a file in the scratch directory."""
    given = Bytes(data)
    length, folder = given.number(), _scratch()
    (folder / "there").write_bytes(b"x" * 5)
    take(folder, given.text(), length)


def shortened(data: bytes) -> None:
    """Any value, as messages quote it."""
    assert len(shorten(data)) < 700
    assert len(shorten(_json(data))) < 700


def stdio(data: bytes) -> None:
    """A program that writes any lines: what the harness makes of it is a verdict about the client."""
    with tempfile.NamedTemporaryFile(dir=_scratch()) as file:
        file.write(data)
        file.flush()
        try:
            session = StdioSession(["/bin/cat", file.name], budget=_BUDGET, scratch_parent=_scratch())
        except ClientUnavailable as why:
            raise AssertionError(str(why)) from None
        try:
            session.call("state", {}, deadline=5.0)
        finally:
            session.stop()


def plugin_answer(data: bytes) -> None:
    """The header of a frame that the host of a plugin writes, and what is made of its members."""
    members, _ = _members(bytearray(data))
    found = members.get("ok")
    if isinstance(found, dict):
        for kind in (Submitted, Completion):
            with contextlib.suppress(TypeError, LookupError, ValueError):
                kind.of(found)


def _json(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _recorded() -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Operation, request and answer, out of the recorded conversations of the contract."""
    folder = resources.files("harness") / "schemas" / "client-v1" / "examples"
    for file in sorted(folder.iterdir(), key=lambda one: one.name):
        asked: dict[Any, dict[str, Any]] = {}
        for line in file.read_text("utf-8").splitlines():
            value = json.loads(line).get("line")
            if not isinstance(value, dict):
                continue
            if "op" in value:
                asked[value["id"]] = value
            elif value.get("id") in asked:
                request = asked.pop(value["id"])
                yield request["op"], request, value


def _answer_seeds() -> list[bytes]:
    found: dict[str, bytes] = {}
    for op, _, value in _recorded():
        line = json.dumps({**value, "id": 1}).encode()
        if op in _OPS and len(line) < 700:
            found.setdefault(op + str(sorted(value)), bytes([_OPS.index(op)]) + line)
    return list(found.values())[:24] or [b"\0{}"]


def _ok_seeds() -> list[bytes]:
    return [seed[:1] + json.dumps(_json(seed[1:]).get("ok")).encode() for seed in _answer_seeds() if b'"ok"' in seed]


def _request_seeds() -> list[bytes]:
    found: dict[str, bytes] = {}
    for op, request, _ in _recorded():
        line = json.dumps(request["args"]).encode()
        if op in _OPS and len(line) < 700:
            found.setdefault(op, bytes([_OPS.index(op)]) + line)
    return list(found.values())


def _host_seeds() -> list[bytes]:
    lines = [json.dumps(request).encode() for op, request, _ in _recorded() if op not in {"connect", "hello", "bye"}]
    return [line for line in lines if len(line) < 900][:20]


_HELLO: Final = (
    b'{"id":1,"ok":{"name":"x","version":"1","language":"c","operations":["encode_request"],"releases":["0.5.6"],"protocol":1}}\n'
)

TARGETS: Final = (
    Target("clients.answer", answer, (ContractViolation,), _answer_seeds),
    Target(
        "clients.answers", answers, (ContractViolation,), lambda: [b'\0{"id":3,"miss":true}', b'\0{"id":9,"ok":{"exists":true}}']
    ),
    Target("clients.python-answer", python_answer, (ContractViolation,), _ok_seeds),
    Target("clients.arguments", arguments, (ContractViolation, TypeError, KeyError, ValueError), _request_seeds),
    Target("clients.hosted", hosted, (), _host_seeds),
    Target(
        "clients.scratch-file",
        scratch_file,
        (ContractViolation,),
        lambda: [b"\5there", b"\5../there", b"\1/dev/zero", b"\5."],
        300,
    ),
    Target("clients.shortened", shortened, (), lambda: [b'{"a":"b"}', b"\xff\xfe\n", b'"\\ud800"']),
    Target(
        "clients.stdio",
        stdio,
        (ClientFailure,),
        lambda: [_HELLO + b'{"id":2,"ok":{"connections":[]}}\n', _HELLO, b'{"id":1,"unsupported":{"reason":"no"}}\n', b"hello\n"],
    ),
    Target(
        "clients.plugin-answer",
        plugin_answer,
        (_NoAnswerError,),
        lambda: [
            b'{"ok":{"task":1},"blobs":[0,5]}',
            b'{"failed":"a.py","text":"b","blobs":[]}',
            b'{"ok":{"task_id":3,"raised":null},"blobs":[]}',
        ],
    ),
)
