"""Limits that the kernel keeps for a client that is a process: processor time, open files, file sizes; none unless asked for."""

from __future__ import annotations

import resource
from dataclasses import dataclass
from typing import Final

from wire.numerals import NoNumber, read_integer, shown

FORM: Final = "cpu=SECONDS,files=NUMBER,file-size=BYTES"
_MOST: Final = 1 << 50
_LEAST: Final = {"cpu": 1, "files": 16, "file-size": 1}
"""An interpreter that cannot open sixteen files does not start."""


class LimitsError(ValueError):
    """What was written are no limits; the message says what to write."""


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
        """Set them for a process that was just started; one that is over already needs none."""
        for kind, value in (
            (resource.RLIMIT_CPU, self.cpu),
            (resource.RLIMIT_NOFILE, self.files),
            (resource.RLIMIT_FSIZE, self.file_size),
        ):
            if value is None:
                continue
            try:
                _, hard = resource.prlimit(pid, kind)
                end = value + 1 if hard == resource.RLIM_INFINITY else min(value + 1, hard)
                resource.prlimit(
                    pid, kind, (min(value, end), end)
                )  # at the hard limit of processor time comes SIGKILL, which says less
            except (ProcessLookupError, PermissionError):
                return


def parse_client_limits(text: str | None) -> ClientLimits | None:
    """Read ``cpu=SECONDS,files=NUMBER,file-size=BYTES``, of which each may be left out; None stays None.

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
        try:
            number = read_integer(value)
        except NoNumber as error:
            raise LimitsError(f"--client-limits {name}: {error}") from None
        if not _LEAST[name] <= number <= _MOST:
            raise LimitsError(f"--client-limits {name}={shown(value)} is out of bounds; give from {_LEAST[name]} to {_MOST}")
        found[name.replace("-", "_")] = number
    return ClientLimits(**found)
