"""Lines that every form of the report has: what was sent, what came back, where a reason holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from reports.compat.grouping import Group, Reason, spans
from reports.compat.model import CompatResult, Evidence, Exchange
from reports.escape import escape
from reports.words import count
from wire.lm.profile import KEY_FIELD_SIZE

_ENDINGS: Final = {"silence": "then silence", "closed": "then the connection was closed"}
SHOWN: Final = 64
"""Bytes of a reply that are written out."""
NAMED: Final = 6
"""Questions that are named; the rest are counted."""


def evidence_lines(evidence: Evidence) -> list[str]:
    """What shows a finding, one thing a line."""
    lines = [line for exchange in evidence.exchanges for line in exchange_lines(exchange)]
    return lines + [f"captured, {about}: {escape(text)}" for about, text in evidence.captured]


def exchange_lines(exchange: Exchange) -> list[str]:
    """What was sent and what came, in two lines; nothing comes after a PUT."""
    payload = f" and {exchange.payload} bytes of payload" if exchange.payload else ""
    numbers, key = exchange.sent[:-KEY_FIELD_SIZE], exchange.sent[-KEY_FIELD_SIZE:]
    text = escape(key.decode(errors="backslashreplace").rstrip(" "))
    lines = [f"{exchange.by} {exchange.request}: sent {len(exchange.sent)} bytes{payload}: {_hex(numbers)} | {text}"]
    if exchange.wanted:
        lines.append(f"  came {_came(exchange)}")
    return lines


def _came(exchange: Exchange) -> str:
    ending = _ENDINGS.get(exchange.ending, "")
    if not exchange.received:
        return f"nothing, {ending}; {exchange.wanted} bytes were waited for"
    shown = _hex(exchange.got[:SHOWN]) + (" ..." if exchange.received > SHOWN else "")
    counted = f"{exchange.received} bytes" if exchange.ending == "answered" else f"{exchange.received} of {exchange.wanted} bytes"
    return f"{counted}: {shown}{f', {ending}' if ending else ''}"


def _hex(data: bytes) -> str:
    """Bytes in groups of four, as the fields of a header are."""
    return " ".join(data[start : start + 4].hex() for start in range(0, len(data), 4))


def problem_words(problem: str) -> str:
    """Why something was not run, on one line: of a long story, such as a log, how it begins and how it ends."""
    lines = [line.strip() for line in problem.splitlines() if line.strip()]
    return escape(lines[0] if len(lines) == 1 else f"{lines[0]} ... {lines[-1]}") if lines else ""


def struck_words(struck: Sequence[str]) -> str:
    """The questions that a reason strikes."""
    if len(struck) <= NAMED:
        return ", ".join(struck)
    return f"{', '.join(struck[:NAMED])} and {len(struck) - NAMED} more"


def where(reason: Reason, clients: Sequence[Group], servers: Sequence[Group]) -> str:
    """Groups of clients and servers that a reason holds for: ``a -> 4-13; b c -> 1``."""
    rows: dict[tuple[str, ...], list[str]] = {}
    for client in clients:
        held = tuple(server.label for server in servers if (client.releases[-1], server.releases[-1]) in reason.cells)
        if held:
            rows.setdefault(held, []).append(client.label)
    known = [group.label for group in clients], [group.label for group in servers]
    return "; ".join(f"{spans(asking, known[0])} -> {spans(held, known[1])}" for held, asking in rows.items())


def summary(result: CompatResult) -> str:
    """One line about the whole run."""
    how = f"{result.target} servers" + (f" ({result.runtime})" if result.runtime else "")
    counts = [f"{count(result.count('run'), 'cell')} played", f"{result.count('derived')} derived"]
    counts += [f"{result.count('not-run')} not run"] if result.count("not-run") else []
    size = f"{count(len(result.clients), 'client')} x {count(len(result.servers), 'server')}"
    return f"{size}, {how}: {', '.join(counts)}, {result.seconds:.0f} s"


def derived_lines(result: CompatResult) -> list[str]:
    """Which releases stand for which, where cells were derived."""
    sides: dict[str, dict[str, dict[str, None]]] = {"clients": {}, "servers": {}}
    for cell in result.cells.values():
        if cell.derived_from is None:
            continue
        for side, own, source in (("clients", cell.client, cell.derived_from[0]), ("servers", cell.server, cell.derived_from[1])):
            if own != source:
                sides[side].setdefault(source, {})[own] = None
    if sides["clients"] == sides["servers"]:
        sides = {"clients and servers": sides["clients"]}
    order = {release: place for place, release in enumerate((*result.clients, *result.servers))}
    return [
        f"as {side}: {', '.join(names)} from {source}"
        for side, found in sides.items()
        for source, names in sorted(found.items(), key=lambda item: order.get(item[0], 0))
    ]
