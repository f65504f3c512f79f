"""What cases about the multiprocess server make of frames: equal meanings are equal, others differ, and nothing is executed."""

import pickle
from pathlib import Path

import msgspec
import pytest

from cases.mp.messages import request_in_words
from cases.mp.seen import Wanted, Watch, record
from cases.mp.test_registration import words_of
from cases.mp.workers import Request
from harness.case import CaseSpec
from harness.failure import CaseFailure
from harness.judge import Judge
from harness.mp.keys import MpKeys
from harness.requirements import load_requirements
from mockserver.mp.journal import Exchange
from wire.lm.profile import lm_profile
from wire.mp.operations import operation_table
from wire.release import Release, ReleaseRange

OLD, NEW = (operation_table(Release.parse(text)) for text in ("0.5.5", "0.5.6"))
KEY = {
    "model_name": "m",
    "world_size": 1,
    "worker_id": None,
    "token_ids": [1, 2],
    "start": 0,
    "end": 2,
    "request_id": "r",
    "cache_salt": "",
    "request_configs": None,
    "num_kv_readers": 1,
}


@pytest.fixture
def judge():
    spec = CaseSpec(("MP-REQ-001",), ("mock",), (), ReleaseRange.parse("all"), None, "client")
    return Judge(spec, load_requirements(), lm_profile(Release.parse("0.5.6")), None)


def frames(*values):
    return [msgspec.msgpack.encode(value) for value in values]


def meaning(judge, table, *values):
    return request_in_words(judge, table, table.named("LOOKUP"), frames(*values))


def test_a_record_means_the_same_in_any_order_with_unknown_members_and_without_defaults(judge):
    shuffled = {name: KEY[name] for name in reversed(KEY) if name not in {"cache_salt", "request_configs"}}
    assert meaning(judge, NEW, 8, {**shuffled, "later": 1}, 1) == meaning(judge, NEW, 8, KEY, 1)


@pytest.mark.parametrize(
    "changed", [{"worker_id": 0}, {"num_kv_readers": 0}, {"token_ids": [1, 3]}, {"cache_salt": "a"}, {"end": True}]
)
def test_a_record_with_another_member_means_something_else(judge, changed):
    assert meaning(judge, NEW, 8, {**KEY, **changed}, 1) != meaning(judge, NEW, 8, KEY, 1)


def test_an_array_in_place_of_a_record_means_something_else(judge):
    assert meaning(judge, NEW, 8, list(KEY.values()), 1) != meaning(judge, NEW, 8, KEY, 1)


def test_a_text_is_an_operation_from_0_5_6_on(judge):
    assert meaning(judge, NEW, "lookup", KEY, 1) == meaning(judge, NEW, 8, KEY, 1)
    assert meaning(judge, OLD, "lookup", KEY, 1) != meaning(judge, OLD, 8, KEY, 1)


def test_a_number_of_another_operation_means_that_one(judge):
    assert meaning(judge, NEW, 7, KEY, 1)["operation"] == "RETRIEVE"


@pytest.mark.parametrize("broken", [[], [b"\xc1"], [b"\x08", b"\xc1"]])
def test_what_is_no_message_is_a_finding(judge, broken):
    with pytest.raises(CaseFailure):
        request_in_words(judge, NEW, NEW.named("LOOKUP"), broken)


def test_a_key_record_has_whole_chunks_and_the_members_of_the_release():
    wanted = Request(MpKeys(NEW.release), "m", range(40), salt="s", readers=2, id="r")
    assert record(NEW, wanted, None) == {
        **KEY,
        "token_ids": list(range(40)),
        "end": 32,
        "cache_salt": "s",
        "num_kv_readers": 2,
    }
    assert list(record(operation_table(Release.parse("0.4.2")), wanted, 1)) == list(KEY)[:7]


class Seen:
    """A server that has seen some requests."""

    def __init__(self):
        self.seen = []
        self.journal = self

    def exchanges(self):
        return self.seen

    def sees(self, operation, *values):
        self.seen.append(Exchange(1, 1, b"", (b"\0", *frames(*values)), 1, 1, 0.0, operation=operation))


@pytest.fixture
def watched(judge):
    server = Seen()
    return server, Watch(judge, server, NEW)


def test_a_request_that_is_due_and_came_is_no_finding_and_a_question_for_the_chunk_size_never_is(watched):
    server, watch = watched
    server.sees("GET_CHUNK_SIZE", 21)
    server.sees("LOOKUP", 8, KEY, 1)
    watch.sent(Wanted("LOOKUP", [KEY, 1]))


@pytest.mark.parametrize(
    ("operations", "requirement"), [((), "MP-REQ-007"), (("LOOKUP", "LOOKUP"), "MP-REQ-007"), (("NOOP",), "MP-REQ-007")]
)
def test_other_requests_than_those_that_are_due_are_a_finding(watched, operations, requirement):
    server, watch = watched
    for operation in operations:
        server.sees(operation, 8, KEY, 1)
    with pytest.raises(CaseFailure) as caught:
        watch.sent(Wanted("LOOKUP", [KEY, 1]))
    assert caught.value.diagnosis.requirement == requirement


@pytest.mark.parametrize(
    ("changed", "requirement"),
    [
        ({"worker_id": 1}, "MP-KEY-002"),
        ({"num_kv_readers": 0}, "MP-KEY-003"),
        ({"cache_salt": "x"}, "MP-KEY-004"),
        ({"end": 1}, "MP-KEY-006"),
        ({"token_ids": []}, "MP-KEY-001"),
        ({"model_name": "n"}, "MP-REQ-002"),
    ],
)
def test_a_finding_cites_the_requirement_that_speaks_of_the_member(watched, changed, requirement):
    server, watch = watched
    server.sees("LOOKUP", 8, {**KEY, **changed}, 1)
    with pytest.raises(CaseFailure) as caught:
        watch.sent(Wanted("LOOKUP", [KEY, 1]))
    assert caught.value.diagnosis.requirement == requirement


class Touching:
    """A pickle of this makes a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def test_the_words_of_a_pickle_are_read_without_loading_it(tmp_path):
    assert ["STACK_GLOBAL", None] in words_of(pickle.dumps(Touching(tmp_path / "made")))
    assert not (tmp_path / "made").exists()


def test_pickles_of_other_values_and_of_other_classes_have_other_words():
    words = [
        str(words_of(pickle.dumps(value))) for value in ({"a": 1}, {"a": 2}, {"b": 1}, [1], Path("a"), ReleaseRange.parse("all"))
    ]
    assert len(set(words)) == len(words)


def test_frames_of_a_pickle_are_no_words():
    long = {"a": "x" * 70_000}
    assert words_of(pickle.dumps(long, protocol=3)) == words_of(pickle.dumps(long, protocol=4))


def test_what_is_no_pickle_is_told():
    assert words_of(b"\xff")[-1][0] == "no pickle"
