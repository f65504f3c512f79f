"""A server that gives exactly the bytes it was told to."""

import socket
import struct

import pytest

from harness.scripted_server import Script, scripted_server
from wire.lm.profile import lm_profile
from wire.release import Release

PROFILE = lm_profile(Release.parse("0.5.6"))
REQUEST = bytes(PROFILE.header.request_size)


@pytest.fixture
def peer():
    with scripted_server(PROFILE) as found:
        yield found


@pytest.fixture
def connection(peer):
    with socket.create_connection((peer.server.host, peer.server.port), timeout=10) as found:
        yield found


def code(connection):
    data = connection.recv(PROFILE.header.reply_size, socket.MSG_WAITALL)
    return struct.unpack_from("<i", data)[0]


def test_it_gives_the_bytes_of_its_script_and_ends(peer, connection):
    peer.play(Script(b"no reply at all", "close"), exists=True)
    connection.sendall(REQUEST)
    assert connection.recv(100, socket.MSG_WAITALL) == b"no reply at all"


def test_it_resets_where_it_is_told_to(peer, connection):
    peer.play(Script(b"", "reset"), exists=True)
    connection.sendall(REQUEST)
    with pytest.raises(ConnectionResetError):
        connection.recv(1)


@pytest.mark.parametrize(("exists", "expected"), [(True, 200), (False, 400)])
def test_behind_silence_it_answers_properly(peer, connection, exists, expected):
    peer.play(Script(b"?", "silence"), exists=exists)
    connection.sendall(REQUEST)
    assert connection.recv(1) == b"?"
    connection.sendall(REQUEST)
    assert code(connection) == expected


def test_a_script_is_played_once_whatever_the_connection(peer, connection):
    peer.play(Script(b"?", "silence"), exists=True)
    connection.sendall(REQUEST)
    assert connection.recv(1) == b"?"
    with socket.create_connection((peer.server.host, peer.server.port), timeout=10) as other:
        other.sendall(REQUEST)
        assert code(other) == 200


def test_it_ends_its_connections_when_it_stops():
    with scripted_server(PROFILE) as peer:
        connection = socket.create_connection((peer.server.host, peer.server.port), timeout=10)
        connection.sendall(REQUEST)
        assert code(connection) == 400
    with connection:
        assert connection.recv(1) == b""
