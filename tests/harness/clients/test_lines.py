"""What is quick about lines changes nothing of them: neither what a request looks like nor which answer is right."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from harness.client import Ok
from harness.clients.answers import is_plain, read_answer
from harness.clients.contract import ContractViolation
from harness.clients.payloads import members_text, to_json
from harness.clients.schema_files import line_schema

_PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner, max_size=3), max_leaves=5
)
_BYTES = st.binary(max_size=200) | st.integers(0, 9000).map(lambda count: b"\xa5" * count)
_HELD = _PLAIN | _BYTES | st.lists(_BYTES, max_size=2) | st.dictionaries(st.text(max_size=5), st.text(), max_size=2)


@given(st.dictionaries(st.text(max_size=8), _HELD, max_size=5))
def test_members_with_long_digits_put_in_place_are_those_that_json_writes(values: dict[str, Any]) -> None:
    wanted = json.dumps(to_json(values, lambda _: "file"), separators=(",", ":"))
    assert members_text(values, lambda _: "file") == wanted


@given(st.integers(1), st.dictionaries(st.text(max_size=5), _PLAIN, max_size=3))
def test_every_answer_that_counts_as_plain_fits_the_schema_of_answers(number: int, values: dict[str, Any]) -> None:
    answer = {"id": number, "ok": values}
    assert is_plain(answer)
    assert Draft202012Validator(line_schema("answer")).is_valid(answer)


@pytest.mark.parametrize("more", [{"took_ns": 1}, {"miss": True}, {"ok": []}, {"ok": None}])
def test_an_answer_with_anything_else_in_it_is_left_to_the_schema(more: dict[str, Any]) -> None:
    assert not is_plain({"id": 1, "ok": {}} | more)


@pytest.mark.parametrize("pad", [b"", b" "])
def test_a_plain_answer_still_has_its_result_checked(pad: bytes, tmp_path: Path) -> None:
    assert read_answer(b'{"id":1,"ok":{"exists":true}}' + pad, request_id=1, op="exist", scratch=tmp_path) == Ok({"exists": True})
    with pytest.raises(ContractViolation, match="exists"):
        read_answer(b'{"id":1,"ok":{"exists":1}}' + pad, request_id=1, op="exist", scratch=tmp_path)
