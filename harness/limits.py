"""Limits that the kernel keeps for a client that is a process: processor time, open files, file sizes; none unless asked for."""

from __future__ import annotations

import resource
from dataclasses import dataclass
from typing import Final

from harness.sizes import size_of
from wire.numerals import NoNumber, read_integer, shown

CAN_LIMIT: Final = hasattr(resource, "prlimit")
"""Whether the kernel limits a process that runs already, as that of Linux does and that of macOS does not."""
FORM: Final = "cpu=SECONDS,files=NUMBER,file-size=BYTES"
_MOST: Final = 1 << 50
_LEAST: Final = {"cpu": 1, "files": 16, "file-size": 1}
"""An interpreter that cannot open sixteen files does not start."""


class LimitsError(ValueError):
    """What was written are no limits; the message says what to write."""


class LimitRefused(Exception):
    """The kernel did not take a limit; the message names each that it refused."""


@dataclass(frozen=True)
class ClientLimits:
    """What a client may use at most, as may each process that it starts; None is as much as it likes."""

    cpu: int | None = None
    """Seconds of processor time, after which it gets SIGXCPU."""
    files: int | None = None
    """Files that are open at once."""
    file_size: int | None = None
    """Bytes of a file that it writes; beyond them it gets SIGXFSZ."""

    @property
    def text(self) -> str:
        """As :func:`parse_client_limits` reads it."""
        return ",".join(f"{name.replace('_', '-')}={value}" for name, value in vars(self).items() if value is not None)

    def impose(self, pid: int) -> None:
        """Set them for a process that was just started; one that is over already needs none.

        Raises:
            LimitRefused: the kernel does not let us set one of them, as for a program that runs as another user; all others are
                set.
        """
        refused = []
        for name, kind, value in (
            ("cpu", resource.RLIMIT_CPU, self.cpu),
            ("files", resource.RLIMIT_NOFILE, self.files),
            ("file-size", resource.RLIMIT_FSIZE, self.file_size),
        ):
            if value is None:
                continue
            try:
                _, hard = resource.prlimit(pid, kind)
                end = value + 1 if hard == resource.RLIM_INFINITY else min(value + 1, hard)
                resource.prlimit(
                    pid, kind, (min(value, end), end)
                )  # at the hard limit of processor time comes SIGKILL, which says less
            except ProcessLookupError:
                return
            except OSError as error:
                refused.append(f"{name}={value}: {error.strerror}")
        if refused:
            raise LimitRefused(f"--client-limits: the kernel does not limit this client ({', '.join(refused)}); leave them out")


def parse_client_limits(text: str | None) -> ClientLimits | None:
    """Read ``cpu=SECONDS,files=NUMBER,file-size=BYTES``, of which each may be left out; None stays None.

    Bytes may have a unit, as ``file-size=8MiB``.

    Raises:
        LimitsError: a name is unknown or given twice, or a number is none.
    """
    if text is None:
        return None
    found: dict[str, int] = {}
    for part in text.split(","):
        name, separator, value = (word.strip() for word in part.partition("="))
        if name not in _LEAST or not separator or name.replace("-", "_") in found:
            raise LimitsError(f"--client-limits takes {FORM}, each at most once; not {shown(part)!r}")
        number = _bytes(value) if name == "file-size" else _number(name, value)
        if not _LEAST[name] <= number <= _MOST:
            raise LimitsError(f"--client-limits {name}={shown(value)} is out of bounds; give from {_LEAST[name]} to {_MOST}")
        found[name.replace("-", "_")] = number
    return ClientLimits(**found)


def _number(name: str, value: str) -> int:
    try:
        return read_integer(value)
    except NoNumber as error:
        raise LimitsError(f"--client-limits {name}: {error}") from None


def _bytes(value: str) -> int:
    size = size_of(value)
    if size is None:
        raise LimitsError(
            f"--client-limits file-size={shown(value)} is no size; give bytes, or a number with KiB, MiB or GiB, such as 8MiB"
        )
    return size
