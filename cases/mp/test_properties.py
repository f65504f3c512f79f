"""Properties: any tokens, cut into any chunks and parts, are found and loaded as they were stored; anything else is not."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from cases.mp.messages import raw_frames, request_in_words
from cases.mp.test_roundtrip import DATA, TRANSFER
from cases.mp.workers import CHUNK, contents, knows_too, request, worker
from harness.case import MOCK, case
from harness.examples import Examples
from harness.judge import Judge
from harness.mp.keys import MpKeys
from harness.mp.targets import MpTarget
from harness.subject import Subject
from wire.mp.operations import OperationTable
from wire.mp.records import key_record
from wire.mp.values import pack, to_json
from wire.release import Release

TOKENS = st.one_of(st.integers(0, 9), st.integers(0, 2**32 - 1))
TEXTS = st.text(st.characters(exclude_characters="@/\\\0", exclude_categories=["Cs"]), max_size=20)


@case("MP-FLOW-005", "MP-FLOW-004", "MP-FLOW-006", "MP-KEY-006", targets=MOCK, needs=DATA, releases=TRANSFER)
def test_round_trip(client: Subject, judge: Judge, mp_server: MpTarget, mp_keys: MpKeys, examples: Examples) -> None:
    """Any tokens, stored and loaded in any two parts, are found as far as they are whole chunks."""
    one = worker(client, judge, mp_server, mp_keys)

    @examples.costly(25)
    @given(st.data(), st.lists(TOKENS, min_size=CHUNK, max_size=5 * CHUNK))
    def check(data: Any, tokens: list[int]) -> None:
        whole = request(mp_keys, tokens, model=f"{mp_keys.model}/{next_number()}")
        mine, count = knows_too(one, whole), len(tokens) // CHUNK
        chunks = contents(count)
        first, again = (
            data.draw(st.integers(0, count), "end of the first part"),
            data.draw(st.integers(0, count), "begin of the second"),
        )
        again = min(first, again)
        mine.stored(whole.part(0, first * CHUNK), chunks[:first])
        mine.hits(whole.again(), first, because=f"{first} chunks are stored")
        mine.stored(whole.again().part(again * CHUNK, len(tokens)), chunks[again:])
        cut = data.draw(st.integers(0, count), "end of the first retrieve")
        wanted = whole.again()
        found = mine.lookup(wanted)
        judge.holds(found == count, f"mp_lookup found {found} of {count} chunks", cite="MP-FLOW-004")
        mine.retrieved(wanted.part(0, cut * CHUNK), chunks[:cut])
        mine.retrieved(wanted.part(cut * CHUNK, len(tokens)), chunks[cut:])

    numbers = iter(range(10**6))

    def next_number() -> int:
        return next(numbers)

    check()


@case("MP-ID-001", "MP-KEY-001", "MP-KEY-004", targets=MOCK, needs=DATA, releases=TRANSFER)
def test_another_identity(client: Subject, judge: Judge, mp_server: MpTarget, mp_keys: MpKeys, examples: Examples) -> None:
    """Whatever is changed of an identity, one token included, nothing is found from the change on."""
    one = worker(client, judge, mp_server, mp_keys)
    whole = request(mp_keys, list(range(3 * CHUNK)), salt="tenant")
    one.stored(whole, contents(3))

    @examples.costly(30)
    @given(st.one_of(st.tuples(st.integers(0, 3 * CHUNK - 1), TOKENS), TEXTS))
    def check(change: tuple[int, int] | str) -> None:
        if isinstance(change, str):
            one.hits(
                whole.again(salt=change), 3 if change == "tenant" else 0, because=f"the salt is {change!r}", cite="MP-ID-001"
            )
            return
        place, token = change
        other = [*whole.tokens[:place], token, *whole.tokens[place + 1 :]]
        found = 3 if token == whole.tokens[place] else place // CHUNK
        one.hits(whole.again(tokens=other), found, because=f"token {place} is {token}", cite="MP-KEY-001")

    check()


@case(
    "MP-REQ-002",
    "MP-REQ-003",
    "MP-FRAME-001",
    needs=("mp_encode_request", "mp_decode_request"),
    releases="0.3.15 and later",
)
def test_any_key(client: Subject, judge: Judge, mp_table: OperationTable, examples: Examples) -> None:
    """Any key that a client writes into a LOOKUP has the types of the release, and is read back as it was."""
    operation = mp_table.named("LOOKUP")
    rest = [1] * (len(operation.payloads) - 1)

    @examples
    @given(records(mp_table.release))
    def check(record: dict[str, Any]) -> None:
        payloads = [to_json(record), *rest]
        frames = client.ok("mp_encode_request", operation="LOOKUP", payloads=payloads)["frames"]
        expected = request_in_words(judge, mp_table, operation, [pack(operation.number), *map(pack, [record, *rest])])
        judge.same_value(expected, request_in_words(judge, mp_table, operation, raw_frames(frames)), what="the LOOKUP request")
        got = client.ok("mp_decode_request", frames=frames)
        judge.same_value({"operation": "LOOKUP", "payloads": payloads}, dict(got), what="the request read back")

    check()


def records(release: Release) -> st.SearchStrategy[dict[str, Any]]:
    """Key records of a release."""
    numbers = st.integers(-(2**63), 2**64 - 1)
    members: dict[str, st.SearchStrategy[Any]] = {
        "model_name": st.text(max_size=20),
        "world_size": numbers,
        "worker_id": st.none() | numbers,
        "token_ids": st.lists(TOKENS, max_size=40),
        "start": numbers,
        "end": numbers,
        "request_id": st.text(max_size=20),
        "chunk_hash": st.none() | st.binary(max_size=40),
        "cache_salt": TEXTS,
        "request_configs": st.none() | st.dictionaries(st.text(max_size=5), st.integers(0, 9), max_size=3),
        "num_kv_readers": numbers,
    }
    return st.fixed_dictionaries(key_record(release, members))
