"""The page of what real servers make of plugins that misbehave."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final

from docs.generator.table import cell, table
from harness.l2.served.faults import FAULTS
from harness.l2.served.measured import Measured, read_measured
from harness.l2.served.outcome import Outcome
from wire.release import Release

_INTRODUCTION: Final = """\
# Plugins that misbehave, in real servers

What the real multiprocess servers do while a `native_plugin` misbehaves, and what is left of it afterwards, measured
for each release. NOOP was answered in all of these: the thread that takes messages is not the one that suffers.
[Findings](../findings/mp-l2-plugins.md) says what follows from this for authors of plugins.

Each server had one plugin that stores and loads as it should and has the fault for a while. Meanwhile an engine stored
something, and loaded what was in the server's memory and what the plugin alone had. When the fault was over, the same
was asked again of the same server. *Hangs* means that a lookup was not answered within 2.5 seconds, and *for ever* that
nothing had changed as long after the fault. A descriptor that misbehaves, and what misbehaves at the start, is not over.

`python -m harness.l2.served RELEASE` measures again, and says where a release does otherwise."""

_HEAD: Final = ("what the plugin does", "lmcache", "meanwhile", "afterwards")
_DURING: Final[Mapping[tuple[str, object], str]] = {
    ("starts", False): "the server does not start",
    ("store", "never"): "stores hang",
    ("store", "refused"): "stores are refused",
    ("store", "stored late"): "stores wait as long",
    ("first_tier", "never"): "loads of what is in memory hang",
    ("first_tier", "miss"): "loads of what is in memory miss",
    ("first_tier", "equal late"): "loads of what is in memory wait as long",
    ("second_tier", "never"): "loads from the plugin hang",
    ("second_tier", "miss"): "loads from the plugin miss",
    ("second_tier", "part"): "loads from the plugin bring the first part",
    ("second_tier", "damaged"): "engines get the **damaged bytes**",
    ("second_tier", "equal late"): "loads from the plugin wait as long",
}
_AFTERWARDS: Final[Mapping[tuple[str, object], str]] = {
    ("later_first_tier", "never"): "**every lookup hangs**",
    ("later_first_tier", "damaged"): "**what others stored is damaged** in memory",
    ("later_second_tier", "never"): "**lookups of what is not in memory hang**",
    ("later_second_tier", "miss"): "**nothing is stored into the plugin any more**",
    ("unwritten", True): "stores into the plugin are under way for ever",
    ("unanswered", True): "lookups are under way for ever",
    ("locked", True): "objects are locked for ever",
    ("healthy", False): "the status page says so",
    ("spins", True): "a thread of the server runs in a circle",
    ("ends", "hangs"): "the server does not end when it is asked to",
    ("ends", "dies (9)"): "the server ends with status 9",
}
_BESIDES: Final = {("later_first_tier", "never"): ("later_second_tier", "never")}
"""What goes without saying once something else was said."""


def page() -> str:
    """The whole page."""
    measured = read_measured()
    return "\n\n".join(filter(None, (_INTRODUCTION, _less(measured), table(_HEAD, _rows(measured))))) + "\n"


def _less(measured: Measured) -> str:
    counts = {release: sum(fault.text in outcomes for fault in FAULTS) for release, outcomes in sorted(measured.items())}
    fewer = [f"{release} for {count}" for release, count in counts.items() if count < len(FAULTS)]
    if not fewer:
        return ""
    return (
        f"Not every release was measured for all {len(FAULTS)} faults: {', '.join(fewer)}. Ranges pass over the others of these."
    )


def _rows(measured: Measured) -> Iterator[Sequence[str]]:
    for fault in FAULTS:
        of_fault = [(release, outcomes[fault.text]) for release, outcomes in sorted(measured.items()) if fault.text in outcomes]
        what = cell(fault.words)
        for outcome, group in groupby(of_fault, key=lambda one: one[1]):
            releases = [release for release, _ in group]
            yield what, _range(releases), *told(outcome)
            what = ""


def told(outcome: Outcome) -> tuple[str, str]:
    """An outcome in words: meanwhile, and afterwards."""
    unusual = list(outcome.unusual.items())
    implied = [_BESIDES[each] for each in unusual if each in _BESIDES]
    known = [each for each in unusual if each not in implied]
    unknown = [each for each in known if each not in _DURING and each not in _AFTERWARDS]
    if unknown:
        raise ValueError(f"no words for {unknown}; add them to {__name__}")
    during, afterwards = ("; ".join(words[each] for each in known if each in words) for words in (_DURING, _AFTERWARDS))
    return during or "as ever", afterwards or ("as ever" if outcome.starts else "")


def _range(releases: Sequence[Release]) -> str:
    return str(releases[0]) if len(releases) == 1 else f"{releases[0]} to {releases[-1]}"
