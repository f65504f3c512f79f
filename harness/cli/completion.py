"""What a shell offers for the values of options."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from fixturegen.corpus import captured_releases
from fixturegen.environment import RUNTIMES
from fixturegen.errors import CorpusError
from harness.protocols import CHOICES
from harness.sides import FACTS


def several(known: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """What offers words separated by commas: what may stand behind the last comma and does not stand before it."""

    def offered(incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",")
        taken = before.split(",") if comma else []
        return [f"{before}{comma}{word}" for word in known() if word.startswith(last) and word not in taken]

    return offered


def one_of(*words: str) -> Callable[[str], list[str]]:
    """What offers one of some words."""
    return lambda incomplete: [word for word in words if word.startswith(incomplete)]


def _releases() -> list[str]:
    """Those that are captured, the newest first; none where the corpus is damaged, which the command itself says."""
    try:
        return ["all", *(str(release) for release in reversed(captured_releases()))]
    except CorpusError:
        return ["all"]


releases = several(_releases)
client_targets = several(lambda: FACTS["client"].targets)
plugin_targets = several(lambda: FACTS["plugin"].targets)
protocols = one_of(*CHOICES)
runtimes = one_of(*RUNTIMES)
