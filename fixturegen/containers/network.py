"""The network between this machine and containers that reach nothing else: one for each engine, made on first use and kept."""

from __future__ import annotations

import errno
import socket
from typing import Any, Final

from docker.errors import NotFound

from fixturegen.containers.engine import Engine, engine_trouble
from fixturegen.errors import EnvironmentUnavailable
from fixturegen.lock import locked
from fixturegen.settings import cache_directory

INTERNAL: Final = "lmconform"
"""Its name. It is a bridge without a way out: whoever is on it reaches this machine at one address, and the others on it."""

_APART: Final = "the engine is rootless, or runs in a virtual machine or elsewhere"


def internal_address(engine: Engine) -> str:
    """The address of this machine on the internal network, where a server may listen for containers.

    Raises:
        EnvironmentUnavailable: there is none, as where the engine runs in a virtual machine.
    """
    if not engine.shares_loopback:
        raise EnvironmentUnavailable(
            f"this machine has no address in the networks of the container engine at {engine.url}: {_APART}"
        )
    with locked(cache_directory() / "containers" / "network.lock"), engine_trouble(f"make the network {INTERNAL}"):
        try:
            network = engine.client.networks.get(INTERNAL)
        except NotFound:
            network = engine.client.networks.create(INTERNAL, driver="bridge", internal=True, labels={INTERNAL: "clients"})
            network.reload()
    address = _gateway(network.attrs)
    _require_ours(address)
    return address


def _gateway(attributes: dict[str, Any]) -> str:
    if not attributes.get("Internal"):
        raise EnvironmentUnavailable(
            f"the network {INTERNAL} of the container engine leads outside, expected one made with --internal: "
            f"remove it (docker network rm {INTERNAL}), and it will be made anew"
        )
    for pool in attributes.get("IPAM", {}).get("Config") or ():
        address = str(pool.get("Gateway", "")).partition("/")[0]
        if address and ":" not in address:
            return address
    raise EnvironmentUnavailable(f"the network {INTERNAL} of the container engine has no IPv4 address on this machine")


def _require_ours(address: str) -> None:
    try:
        socket.create_server((address, 0)).close()
    except OSError as error:
        if error.errno != errno.EADDRNOTAVAIL:
            raise EnvironmentUnavailable(f"nothing can listen on {address}, the network {INTERNAL}: {error.strerror}") from error
        raise EnvironmentUnavailable(
            f"the network {INTERNAL} of the container engine has the address {address}, which this machine has not: {_APART}"
        ) from None
