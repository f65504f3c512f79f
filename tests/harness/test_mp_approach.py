"""A server of the user is asked for its release without harm, also where the user names another than it is of."""

import pytest

from harness.failure import TargetUnavailable
from harness.mp.approach import HARM, OLDEST, SILENCE, Question, may_be, outcome
from harness.mp.targets import LiveMpServers
from mockserver.mp import MpServer
from wire.mp.operations import FIRST_RELEASE, operation_table
from wire.mp.values import pack, unpack
from wire.release import KNOWN_RELEASES, Release

EVERY = [release for text in KNOWN_RELEASES if (release := Release.parse(text)) >= FIRST_RELEASE]
RESULTS = {SILENCE: None, "str": [b"", pack("OK")], "int": [b"", pack(0)], "bool": [b"", pack(True)], "nothing": [b""]}


@pytest.mark.parametrize("named", EVERY, ids=str)
def test_no_question_harms_a_server_of_any_release(named):
    for real in [release for release in EVERY if release >= OLDEST or release == named]:

        def ask(frames, real=real):
            found = outcome(real, Question(unpack(frames[0]), tuple(map(unpack, frames[1:]))))
            assert found != HARM, f"{frames} at {real}"
            return RESULTS[found]

        allowed = may_be(named, ask)
        assert allowed or real != named
        noop = Question(operation_table(named).named("NOOP").number)
        assert not allowed or outcome(real, noop) != HARM


def test_a_release_that_is_not_known_here_is_asked_as_the_one_before():
    newer = Release.parse("0.5.99")
    assert may_be(newer, lambda frames: RESULTS[outcome(newer, Question(unpack(frames[0]), tuple(map(unpack, frames[1:]))))])


def test_what_can_harm_is_known():
    assert outcome(Release.parse("0.5.5"), Question(20)) == HARM  # CLEAR, which is NOOP in 0.4.7
    assert outcome(Release.parse("0.4.6"), Question(99)) == HARM  # the message thread ends
    assert outcome(Release.parse("0.5.6"), Question(99)) == SILENCE
    assert outcome(Release.parse("0.5.6"), Question(20)) == SILENCE  # CLEAR with a flag there


@pytest.mark.parametrize(("named", "real"), [("0.4.7", "0.5.5"), ("0.5.6", "0.4.6")])
def test_a_wrong_release_neither_clears_nor_ends_the_server(named, real, monkeypatch):
    monkeypatch.setattr("harness.mp.targets.ANSWER_TIMEOUT", 0.2)
    with MpServer(real) as server:
        with pytest.raises(TargetUnavailable, match=f"does not answer as lmcache {named} does"):
            LiveMpServers(address=server.address).get(Release.parse(named))
        assert server.journal.death == ""
        assert server.journal.exchanges("CLEAR") == []
        assert LiveMpServers(address=server.address).get(Release.parse(real)).port == server.port
