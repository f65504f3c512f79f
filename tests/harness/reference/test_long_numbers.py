"""The reference client says in the words of the contract that a number is too long for Python to write or read in base 10."""

import pytest

from harness.client import ClientError
from harness.reference.lm import ReferenceClient

KEY = {"model": "m", "world_size": 1, "worker_id": 0, "dtype": "float16", "fmt": None, "layer": None, "tags": []}


def test_a_hash_of_a_key_that_base_10_does_not_hold_is_refused():
    with pytest.raises(ClientError, match="the chunk hash cannot be told: a number of 16000 bits") as told:
        ReferenceClient().parse_key(release="0.5.6", text=f"m@1@0@{'f' * 4000}@half")
    assert told.value.kind == "refused"


def test_a_hash_of_the_contract_that_is_too_long_is_refused():
    with pytest.raises(ClientError, match=r"9{40}\.{3}' is no integer, or has more digits") as told:
        ReferenceClient().format_key(release="0.5.6", key={**KEY, "chunk_hash": {"int": "9" * 4400}})
    assert told.value.kind == "refused"


def test_a_world_that_is_too_large_is_refused():
    with pytest.raises(ClientError, match="the world size of a key cannot be written") as told:
        ReferenceClient().format_key(release="0.5.6", key={**KEY, "world_size": 10**4400, "chunk_hash": {"int": "1"}})
    assert told.value.kind == "refused"
