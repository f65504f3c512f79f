"""What a run can judge."""

from __future__ import annotations

from typing import Final, Literal, get_args

Side = Literal["client", "server", "plugin", "connector"]
"""A client of either wire; a server of either wire; a storage plugin of the multiprocess server (its second tier, L2); a remote
connector of the in-process mode."""

SIDES: Final[tuple[Side, ...]] = get_args(Side)
