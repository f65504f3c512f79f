"""Addresses that users write: ``HOST:PORT``, with brackets around the host where it has colons."""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass
from typing import Self

from harness.usage import UsageError


@dataclass(frozen=True)
class Address:
    """A host and a port."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str, *, what: str, lowest: int = 1) -> Self:
        """Read ``HOST:PORT``, ``[::1]:PORT``, ``:PORT`` for loopback, also behind ``lm://`` or ``tcp://``.

        Raises:
            UsageError: it is none of them; the message names the option, ``what``.
        """
        bare = text.strip().removeprefix("lm://").removeprefix("tcp://").rstrip("/")
        host, separator, port = bare.rpartition(":")
        host = host.removeprefix("[").removesuffix("]") or "127.0.0.1"
        if not separator or not port.isascii() or not port.isdigit() or not lowest <= int(port[:6]) <= 65535:
            raise UsageError(f"{what} takes HOST:PORT with a port from {lowest} to 65535, such as 127.0.0.1:65432, not {text!r}")
        return cls(host, int(port))

    def resolve(self, *, what: str) -> tuple[socket.AddressFamily, tuple[str | int, ...]]:
        """The family and the numeric address for a socket.

        Raises:
            UsageError: the host has no address.
        """
        try:
            found = socket.getaddrinfo(self.host, self.port, type=socket.SOCK_STREAM)
        except (socket.gaierror, UnicodeError) as error:
            raise UsageError(f"{what}: host {self.host!r} has no address: {error}; a numeric one always works") from None
        family, _, _, _, where = found[0]
        return family, where  # type: ignore[return-value]  # no interpreter without IPv6 is supported

    def is_loopback(self) -> bool:
        """Whether only this machine can reach it.

        Raises:
            UsageError: the host has no address.
        """
        _, where = self.resolve(what="--listen")
        return ipaddress.ip_address(str(where[0]).partition("%")[0]).is_loopback

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"
