"""The network that leads to this machine and nowhere else: what is refused of it, and with what words."""

from types import SimpleNamespace

import pytest

from fixturegen.containers.network import internal_address
from fixturegen.errors import EnvironmentUnavailable

UNASSIGNED = "192.0.2.77"
"""An address of the range for documentation, which no machine has."""


@pytest.fixture
def engine_with(monkeypatch, tmp_path):
    """An engine that has the network already: ``engine_with(attributes of the network)``."""
    monkeypatch.setenv("LMCONFORM_CACHE", str(tmp_path))

    def made(attributes, *, shares_loopback=True):
        networks = SimpleNamespace(get=lambda _: SimpleNamespace(attrs=attributes))
        return SimpleNamespace(
            url="unix:///run/engine.sock", shares_loopback=shares_loopback, client=SimpleNamespace(networks=networks)
        )

    return made


def network(*gateways, internal=True):
    return {"Internal": internal, "IPAM": {"Config": [{"Gateway": gateway} for gateway in gateways]}}


@pytest.mark.parametrize("gateways", [["127.0.0.3"], ["127.0.0.3/16"], ["fd00::1", "127.0.0.3"]])
def test_the_address_is_that_of_this_machine_in_the_network(engine_with, gateways):
    assert internal_address(engine_with(network(*gateways))) == "127.0.0.3"


def test_an_address_that_this_machine_has_not_is_refused(engine_with):
    with pytest.raises(
        EnvironmentUnavailable, match=f"has the address {UNASSIGNED}, which this machine has not: the engine is root"
    ):
        internal_address(engine_with(network(UNASSIGNED)))


def test_an_engine_apart_from_this_machine_is_refused_even_where_an_address_looks_like_ours(engine_with):
    with pytest.raises(EnvironmentUnavailable, match="no address in the networks of the container engine at unix:"):
        internal_address(engine_with(network("127.0.0.3"), shares_loopback=False))


def test_a_network_of_that_name_with_a_way_out_is_not_used(engine_with):
    with pytest.raises(EnvironmentUnavailable, match="leads outside, expected one made with --internal: remove it"):
        internal_address(engine_with(network("127.0.0.3", internal=False)))


def test_a_network_without_an_address_is_named(engine_with):
    with pytest.raises(EnvironmentUnavailable, match="has no IPv4 address on this machine"):
        internal_address(engine_with(network("fd00::1")))
