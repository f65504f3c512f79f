"""The reference client in front of a server that follows a script."""

import pytest
from scripted_server import Link, ScriptedServer


@pytest.fixture
def play():
    """Start a server with one script per connection and connect to it."""
    ends = []

    def start(*scripts, release="0.5.6"):
        server = ScriptedServer(*scripts)
        link = Link(server, release)
        ends.extend([link.session.stop, server.stop])
        return server, link

    yield start
    for end in ends:
        end()
