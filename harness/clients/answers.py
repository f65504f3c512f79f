"""Answer lines: read with every check of the contract, and written."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Final

from harness.client import MAY_MISS, Answer, Error, Miss, Ok, Unsupported
from harness.clients.contract import ContractViolation, check_line, check_member
from harness.clients.payloads import from_json

_KINDS: Final = ("ok", "miss", "unsupported", "error")


def read_answer(line: bytes, *, request_id: int, op: str, scratch: Path) -> Answer:
    """The answer to a request.

    Raises:
        ContractViolation: the line is not JSON, answers something else, or does not fit the schema.
    """
    return read_one_answer(line, {request_id: op}, scratch=scratch)[1]


def read_one_answer(line: bytes, waiting: Mapping[int, str], *, scratch: Path) -> tuple[int, Answer]:
    """The answer to one of several requests that wait for theirs, operations by id, and that id.

    Raises:
        ContractViolation: the line is not JSON, answers none of them, or does not fit the schema.
    """
    answer = _parsed(line)
    _check_id(answer, waiting)
    return answer["id"], _checked(answer, waiting[answer["id"]], scratch)


def _checked(answer: dict[str, Any], op: str, scratch: Path) -> Answer:
    if is_plain(answer):
        check_member(op, "ok", answer["ok"])
        return Ok(from_json(op, "ok", answer["ok"], scratch))
    _check_kind(answer, op)
    check_line("answer", answer)
    if "miss" in answer:
        return Miss()
    if "unsupported" in answer:
        return Unsupported(answer["unsupported"]["reason"])
    if "error" in answer:
        return Error(answer["error"]["class"], answer["error"]["message"])
    check_member(op, "ok", answer["ok"])
    return Ok(from_json(op, "ok", answer["ok"], scratch), answer.get("took_ns"))


def is_plain(answer: Mapping[str, Any]) -> bool:
    """Whether an answer with an id that fits has a result and nothing else: such a line needs no schema to be right."""
    return len(answer) == 2 and type(answer.get("ok")) is dict


def answer_members(answer: Answer) -> dict[str, Any]:
    """The member of an answer line besides ``id``; bytes inside ``ok`` stay as they are."""
    if isinstance(answer, Ok):
        return {"ok": dict(answer.values)}
    if isinstance(answer, Miss):
        return {"miss": True}
    if isinstance(answer, Unsupported):
        return {"unsupported": {"reason": answer.reason}}
    return {"error": {"class": answer.kind, "message": answer.message}}


def check_miss(op: str) -> None:
    """Raise :class:`ContractViolation` unless the operation may be answered by a miss."""
    if op not in MAY_MISS:
        raise ContractViolation("miss", f"ok, unsupported or error: only {' and '.join(MAY_MISS)} can miss, {op} cannot")


def _parsed(line: bytes) -> dict[str, Any]:
    try:
        text = line.decode("utf-8")
        value = json.loads(text) if text.startswith(_BYTE_ORDER_MARK) else _DECODER.decode(text)
        if "\\u" in text and "\\ud" in text.lower():
            # An escape may hold half of a character; such text could not be written to a report.
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeDecodeError as error:
        raise ContractViolation("the line", f"UTF-8 ({error.reason} at byte {error.start})") from None
    except UnicodeEncodeError:
        raise ContractViolation("the line", "Unicode text, not half of a surrogate pair") from None
    except (ValueError, RecursionError) as error:
        raise ContractViolation("the line", f"one JSON object ({error})") from None
    if not isinstance(value, dict):
        raise ContractViolation("the line", "one JSON object", value)
    return value


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


_DECODER: Final = json.JSONDecoder(parse_constant=_no_constant)
"""One for all lines: ``json.loads`` makes one for each where anything is not as usual."""
_BYTE_ORDER_MARK: Final = "\ufeff"
"""``json.loads`` has a word of its own for it."""


def _check_id(answer: dict[str, Any], waiting: Collection[int]) -> None:
    got = answer.get("id")
    if type(got) is int and got in waiting:
        return
    if not waiting:
        raise ContractViolation("id", f"no request waits for an answer, got one for {answer.get('id')!r}")
    whose = "the id of the request" if len(waiting) == 1 else "the id of a request that has no answer yet"
    wanted = f"{' or '.join(map(str, sorted(waiting)))}, {whose}"
    if "id" not in answer:
        raise ContractViolation("id", f"{wanted}, but the member is missing")
    again = "; that request was answered before" if type(got) is int and 0 < got < max(waiting) else ""
    raise ContractViolation("id", f"{wanted}{again}", got)


def _check_kind(answer: dict[str, Any], op: str) -> None:
    present = [kind for kind in _KINDS if kind in answer]
    if len(present) != 1:
        found = " and ".join(present) or "none of them"
        hint = "; leave a member out instead of sending null" if None in answer.values() else ""
        raise ContractViolation("the line", f"exactly one of {', '.join(_KINDS)}, found {found}{hint}")
    if present == ["miss"]:
        check_miss(op)
