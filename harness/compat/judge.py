"""What is wrong with a reply, judged by what crossed the wire alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from harness.compat.exchange import Ask, Heard
from harness.compat.why import why_closed, why_silent
from reports.compat.model import Evidence, Finding, Part
from reports.compat.outcome import Grade, Outcome
from wire.lm.frames import Description
from wire.release import Release


@dataclass(frozen=True)
class Trouble:
    """One thing that went wrong, and the reason in words that name neither release nor key."""

    outcome: Outcome
    reason: str


def trouble_in(ask: Ask, heard: Heard, server: Release, before: Sequence[bytes] = ()) -> Trouble | None:
    """Compare a reply with what the release of the side that asked would get from its own server; None if nothing differs.

    ``before`` are the request headers that the connection carried already: what went wrong may have begun with one of them.
    """
    if ask.expects is None:
        return None
    exchange = heard.exchange
    if exchange.ending == "closed":
        return Trouble(Outcome.REFUSED, why_closed(server, (*before, ask.header)))
    if exchange.ending == "silence":
        return Trouble(Outcome.HANGS, why_silent(server, (*before, ask.header)[0], exchange))
    if heard.unreadable is not None:
        return Trouble(Outcome.WRONG, f"the reply means nothing to the client: {heard.unreadable}")
    assert heard.reply is not None
    if heard.reply.code != ask.expects.code:
        return _other_code(ask)
    if heard.surplus:
        return Trouble(Outcome.WRONG, f"{heard.surplus} bytes are left over, and the next reply begins with them")
    return _other_value(ask, heard)


def _other_code(ask: Ask) -> Trouble:
    assert ask.expects is not None
    if ask.expects.code == "FAIL":
        return Trouble(Outcome.WRONG, f"{ask.command} of a key that nobody stored is answered with success")
    if ask.command == "HEALTH":
        return Trouble(Outcome.WRONG, "HEALTH is answered with failure")
    return Trouble(Outcome.MISSES, "what was stored is answered with 400")


def _other_value(ask: Ask, heard: Heard) -> Trouble | None:
    assert ask.expects is not None
    assert heard.reply is not None
    if ask.expects.value is None:
        return None
    about, payload = ask.expects.value
    came = heard.reply.about
    differing = [name for name in ("length", "format", "dtype", "shape") if getattr(about, name) != getattr(came, name)]
    if differing:
        return Trouble(Outcome.WRONG, _differs(about, came, differing))
    return None if heard.body == payload else Trouble(Outcome.WRONG, "success with other bytes than those that were stored")


def _differs(stored: Description, came: Description, names: Sequence[str]) -> str:
    words = [f"{name} {_word(getattr(stored, name))} reads as {_word(getattr(came, name))}" for name in names]
    return f"the value is described otherwise: {', '.join(words)}"


def _word(value: object) -> str:
    return str(list(value)) if isinstance(value, tuple) else str(value)


Ended = tuple[str, bool, Trouble, Evidence]
"""A question, whether it is plain use, what went wrong and what shows it."""


def together(part: Part, found: Sequence[Ended]) -> list[Finding]:
    """Equal troubles as one finding.

    The evidence of plain use is kept where there is some, otherwise the first.
    """
    kept: dict[Trouble, Finding] = {}
    for question, plain, trouble, evidence in found:
        known = kept.get(trouble)
        if known is None:
            kept[trouble] = Finding(part, Grade(trouble.outcome, plain), trouble.reason, (question,), evidence)
            continue
        better = plain and not known.grade.plain
        kept[trouble] = replace(
            known,
            grade=Grade(trouble.outcome, plain or known.grade.plain),
            struck=known.struck if question in known.struck else (*known.struck, question),
            evidence=evidence if better else known.evidence,
        )
    return list(kept.values())
