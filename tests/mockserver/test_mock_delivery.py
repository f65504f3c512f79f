"""Cutting replies into sends, and looking at the other end."""

from __future__ import annotations

import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockserver.delivery import split
from mockserver.peer import PeerWatch, undelivered


@given(st.lists(st.binary(min_size=1), max_size=3), st.lists(st.integers(1, 20), min_size=1, max_size=4))
def test_pieces_have_the_sizes_asked_for_and_make_up_the_whole(parts, sizes):
    pieces = [bytes(piece) for piece in split(parts, tuple(sizes))]
    assert b"".join(pieces) == b"".join(parts)
    wanted = sizes + [sizes[-1]] * len(pieces)
    assert [len(piece) for piece in pieces[:-1]] == wanted[: max(0, len(pieces) - 1)]
    assert all(pieces)


@pytest.fixture
def pair():
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        socket.create_connection(listener.getsockname()) as near,
        listener.accept()[0] as far,
    ):
        yield near, far


def test_the_receive_queue_of_a_local_peer_can_be_seen(pair):
    near, far = pair
    with PeerWatch(near) as watch:
        if watch.unread() is None:
            pytest.skip("this kernel does not tell")
        near.sendall(b"0123456789")
        while undelivered(near):
            pass
        assert watch.unread() == 10
        far.recv(4)
        assert watch.unread() == 6
        far.recv(6)
        assert watch.unread() == 0


def test_a_watch_that_is_closed_knows_nothing(pair):
    watch = PeerWatch(pair[0])
    watch.close()
    watch.close()
    assert watch.unread() is None
