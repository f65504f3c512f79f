"""A tap between the real client of one release and the real server of another names both, and the first wrong byte."""

import pytest

from fixturegen.errors import EnvironmentUnavailable
from fixturegen.venv import VenvEnvironment
from harness.client import Budget, ClientFailure
from harness.clients.samples import sample_key
from harness.clients.spec import open_client
from harness.tap.address import Address
from harness.tap.session import Wishes, tapping
from wire.release import Release

OLD = Release.parse("0.3.1")


def between(client, server, file):
    """Let the real client of one release ask the real server of another through a tap: what was found, and the guesses."""
    found = []
    with VenvEnvironment().server(server) as there:
        wishes = Wishes(Address("127.0.0.1", 0), Address(there.host, there.port), "lm", file, patience=0.5)
        with tapping(wishes, tell=found.append) as (address, outcome):
            asking = open_client(f"lmcache:{client}", budget=Budget(start=60))
            try:
                arguments = {"connection": "c", "protocol": "lm", "host": address.host, "port": address.port}
                asking.call("connect", {**arguments, "release": str(client), "timeout_ms": 1000}, deadline=20)
                asking.call("exist", {"connection": "c", "key": sample_key(str(client))}, deadline=2)
            except ClientFailure:
                pass  # the real client waits without end for a reply that never comes
            finally:
                asking.stop()
    return found, outcome.guesses


@pytest.mark.live
@pytest.mark.parametrize("newer_client", [True, False])
def test_both_releases_and_the_first_wrong_byte_are_named(pinned_release, tmp_path, newer_client):
    try:
        VenvEnvironment().prepare(OLD)
    except EnvironmentUnavailable as error:
        pytest.skip(str(error))
    client, server = (pinned_release, OLD) if newer_client else (OLD, pinned_release)
    found, guesses = between(client, server, tmp_path / "tap.jsonl")
    assert guesses["client"].may_be(client)
    assert not guesses["client"].may_be(server)
    assert guesses["server"].may_be(server)
    assert not guesses["server"].may_be(client)
    differ = next(finding for finding in found if finding.rule.name == "sides-differ")
    assert (differ.offset, differ.exchange) == (32, 1)
    assert ("shape3" in differ.expected) is not newer_client
