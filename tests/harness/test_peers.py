"""Raw peers of servers, and what is left behind when connections end."""

import os
import socket
import threading

import pytest
from scripted_peer import Close, Read, ScriptedPeer

from harness.case import case, spec_of
from harness.failure import LiveServerFailure, MockDriftFailure, TargetUnavailable
from harness.judge import Judge
from harness.leaks import Footprint, footprint, room_for, server_leaves_nothing, server_process
from harness.peers import Peer, PeerFailed, at_once, await_bytes
from harness.targets import Server, mock_server
from harness.values import Keys
from wire.lm.profile import lm_profile
from wire.release import Release

NEW, OLD = Release.parse("0.5.6"), Release.parse("0.3.1")


@case("LM-SRV-017", judges="server")
def test_something():
    """Judged."""


test_something.__test__ = False


@pytest.fixture
def judge():
    return Judge(spec_of(test_something), {}, lm_profile(NEW), None)


@pytest.mark.parametrize("release", [OLD, NEW])
def test_a_peer_speaks_to_a_server(release):
    key = Keys(release)()
    with mock_server(release) as server, Peer(release, server) as peer:
        assert peer.get(key) is None
        assert not peer.exist(key)
        peer.put(key, b"payload")
        assert peer.exist(key)
        assert peer.get(key) == b"payload"
        assert peer.health(key)
        (put,) = server.journal.exchanges(command="PUT")
        assert (put.payload, len(put.header)) == (b"payload", peer.header_size)


def test_half_a_put_is_waited_for():
    key = Keys(NEW)()
    with mock_server(NEW) as server, Peer(NEW, server) as peer:
        peer.send(peer.frame("PUT", key, bytes(1000))[:700])
        await_bytes(NEW, server, key, 700)
        (put,) = server.journal.exchanges(command="PUT")
        assert (put.bytes_in, put.done) == (700, False)


def test_a_put_that_never_comes_is_a_failure(monkeypatch):
    monkeypatch.setattr("harness.peers.PATIENCE", 0.05)
    with mock_server(NEW) as server, pytest.raises(PeerFailed, match="did not take 1 bytes of a PUT"):
        await_bytes(NEW, server, Keys(NEW)(), 1)


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ((Read(186), b"abc", Close()), "ended the connection 3 bytes into a reply header of 36"),
        ((Read(186), bytes(36), Close()), "no reply header came"),
        ((Read(186), Close(reset=True)), "a reply header of 36 bytes ended after 0"),
        ((Read(186),), "a reply header of 36 bytes ended after 0: timed out"),
    ],
)
def test_a_server_that_does_not_answer_is_told_apart(script, words):
    with (
        ScriptedPeer(script) as server,
        Peer(NEW, Server(server.host, server.port), patience=0.3) as peer,
        pytest.raises(PeerFailed, match=words),
    ):
        peer.exist(Keys(NEW)())


def test_nobody_there_is_a_failure_of_the_target():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(TargetUnavailable, match="takes no connection"):
        Peer(NEW, Server("127.0.0.1", port))


def test_work_at_once_is_under_way_at_once_and_its_results_are_in_order():
    together = threading.Barrier(3)

    def work(number):
        together.wait(10)
        return number

    assert at_once([lambda number=number: work(number) for number in range(3)]) == [0, 1, 2]


def test_an_error_in_one_piece_of_work_is_raised():
    with pytest.raises(ZeroDivisionError):
        at_once([lambda: 1, lambda: 1 // 0])


def test_work_that_does_not_end_is_given_up():
    never = threading.Event()
    with pytest.raises(PeerFailed, match="1 of 2 peers were not done after"):
        at_once([never.wait, lambda: True], patience=0.05)
    never.set()


def test_descriptors_and_threads_that_stay_are_seen(judge, monkeypatch):
    monkeypatch.setattr("harness.leaks.SETTLE", 0.02)
    ended = threading.Event()
    with mock_server(NEW) as server:
        kept = []
        with (
            pytest.raises(MockDriftFailure, match="still holds 1 descriptors of connections"),
            server_leaves_nothing(judge, server),
        ):
            kept.append(os.open(os.devnull, os.O_RDONLY))
        os.close(kept.pop())
        with pytest.raises(MockDriftFailure, match="still holds 1 threads of connections"), server_leaves_nothing(judge, server):
            threading.Thread(target=ended.wait, daemon=True).start()
        ended.set()


def test_what_ends_a_moment_later_is_waited_for(judge):
    ended = threading.Event()
    with mock_server(NEW) as server, server_leaves_nothing(judge, server):
        threading.Thread(target=ended.wait, args=(0.05,), daemon=True).start()


def test_connections_of_a_mock_leave_nothing(judge):
    with mock_server(NEW) as server, server_leaves_nothing(judge, server):
        for _ in range(5):
            with Peer(NEW, server) as peer:
                peer.exist(Keys(NEW)())


def test_a_live_server_of_ours_is_found_by_its_port_and_any_other_is_not(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        ours = Server("127.0.0.1", listener.getsockname()[1])
        assert server_process(ours) == os.getpid()
        monkeypatch.setattr("harness.leaks._ancestors", lambda _: iter([1]))
        assert server_process(ours) is None


def test_a_live_server_that_leaks_is_blamed_as_such(judge, monkeypatch):
    monkeypatch.setattr("harness.leaks.SETTLE", 0.02)
    kept = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = Server("127.0.0.1", listener.getsockname()[1])
        with pytest.raises(LiveServerFailure, match="still holds 1 descriptors"), server_leaves_nothing(judge, server):
            kept.append(os.open(os.devnull, os.O_RDONLY))
    os.close(kept.pop())


def test_a_process_that_is_gone_has_no_footprint():
    assert footprint(2**22 + 1) is None
    mine = footprint(os.getpid())
    assert mine.descriptors > 2
    assert mine.threads >= 1


@pytest.mark.parametrize(
    ("now", "allowed", "words"),
    [
        (Footprint(10, 4), 0, None),
        (Footprint(9, 3), 0, None),
        (Footprint(11, 4), 0, "1 descriptors"),
        (Footprint(11, 4), 1, None),
        (Footprint(12, 7), 1, "2 descriptors and 3 threads"),
    ],
)
def test_growth_is_told_in_words(now, allowed, words):
    assert now.above(Footprint(10, 4), allowed) == words


def test_too_few_descriptors_are_an_error_that_says_what_to_do(monkeypatch):
    monkeypatch.setattr("resource.getrlimit", lambda _: (64, 64))
    with pytest.raises(TargetUnavailable, match=r"the hard limit is 64; raise it \(ulimit -Hn"):
        room_for(1000)


def test_the_soft_limit_is_raised_where_the_hard_one_allows_it(monkeypatch):
    raised = []
    monkeypatch.setattr("resource.getrlimit", lambda _: (64, 100_000))
    monkeypatch.setattr("resource.setrlimit", lambda _, limits: raised.append(limits))
    room_for(1000)
    ((soft, hard),) = raised
    assert 1000 < soft < 1000 + 10_000
    assert hard == 100_000


def test_no_limit_is_room_enough(monkeypatch):
    monkeypatch.setattr("resource.getrlimit", lambda _: (-1, -1))
    monkeypatch.setattr("resource.setrlimit", None)
    room_for(10**9)
