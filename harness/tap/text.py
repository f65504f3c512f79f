"""The story of a recording for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rich.text import Text

from harness.tap.alike import grouped, joined
from harness.tap.finding import LEVELS, Finding
from harness.tap.guess import Guess, ranges
from harness.tap.story import Conversation, Row, Story
from reports.difference import frame_dump
from reports.escape import escape
from reports.hexdump import hexdump
from reports.layout import indent, labelled, paragraph, wrap
from reports.words import count, listing

STYLES: Final = {"error": "bold red", "warning": "yellow", "note": "cyan"}
_COLUMN: Final = 16


def story_lines(story: Story, width: int) -> Iterator[Text]:
    """The lines of a story, laid out for a terminal of so many cells."""
    yield from _head(story, width)
    for guess in story.guesses.values():
        yield Text()
        yield from guess_lines(guess, width)
    yield Text()
    yield from _findings(story, width)
    for one in story.conversations:
        yield Text()
        yield from conversation_lines(one)
    if story.conversations and story.left_out:
        yield Text(f"{count(story.left_out, 'further request')} left out", style="dim")


def guess_lines(guess: Guess, width: int) -> list[Text]:
    """What a side seems to be, and what excluded the other releases."""
    lines = labelled(str(guess.who), Text(guess_words(guess), style="bold"), width, by=0, column=_COLUMN)
    for one in joined(guess.evidence):
        where = f"connection {one.connection}" + (f", byte {one.offset}" if one.offset is not None else "")
        weak = "; others than lmcache may do so too" if one.weak else ""
        words = Text.assemble(f"not {ranges(one.excludes)}: {escape(one.what)} ", (f"({where}{weak})", "dim"))
        lines += indent(wrap(words, width - _COLUMN), _COLUMN)
    return lines


def guess_words(guess: Guess) -> str:
    """Such as ``seems to be 0.3.13 and later``."""
    return f"seems to be {guess.words}" if guess.candidates and guess.seen else guess.words


def finding_lines(finding: Finding, width: int) -> list[Text]:
    """A finding with the frame that it is about, the wrong bytes marked."""
    head = Text.assemble((f"{finding.level:8}", STYLES[finding.level]), (finding.rule.name, "bold"), f"  {where_words(finding)}")
    if finding.cites:
        head.append(f"  {finding.cites}", style="dim")
    lines = [head, *paragraph(escape(finding.summary), width, 8)]
    for label, text in (("field", finding.field), ("expected", finding.expected), ("got", finding.got)):
        if text:
            lines += labelled(label, escape(text), width, by=8, column=20, style="dim")
    if finding.frame is not None:
        frame = finding.frame
        lines.append(Text(f"        {escape(frame.title)}", style="dim"))
        around = frame.marks[0][0] if frame.marks else 0
        lines += indent(hexdump(frame_dump(frame.title, frame.data, marks=frame.marks, around=around)), 8)
    if finding.rule.advice:
        lines += labelled("what to do", finding.rule.advice, width, by=8, column=20, style="dim")
    return lines


def where_words(finding: Finding) -> str:
    """Where a finding is: connection, request, byte and time."""
    parts = [f"connection {finding.connection}" if finding.connection else "all connections"]
    if finding.exchange is not None:
        parts.append(f"request {finding.exchange}")
    if finding.offset is not None:
        parts.append(f"byte {finding.offset} of the {finding.who}")
    return f"{', '.join(parts)}, {finding.at:.3f} s"


def conversation_lines(one: Conversation) -> Iterator[Text]:
    """One connection, each request with its reply on a line."""
    sent = ", ".join(f"{count(number, 'byte')} from the {who}" for who, number in one.sent.items())
    yield Text.assemble((f"connection {one.number}", "bold"), f" from {escape(one.peer) or 'somewhere'}: {sent}")
    for row in one.rows:
        yield _row(row)


def took_words(took: float | None) -> str:
    """How long something took."""
    if took is None:
        return ""
    return f"{took * 1000:.1f} ms" if took < 10 else f"{took:.1f} s"


def _row(row: Row) -> Text:
    line = Text.assemble((f"{row.at:11.6f}  ", "dim"))
    if row.exchange is None:
        return line.append(escape(row.what), style="bold red" if row.wrong else "dim")
    line.append(f"{row.exchange:4} {escape(row.what):6} {escape(row.about)}")
    if row.sent:
        line.append(f"  {escape(row.sent)}", style="dim")
    if row.outcome:
        line.append(f"  -> {escape(row.outcome)}", style="bold red" if row.wrong else "")
    if row.took is not None:
        line.append(f"  {took_words(row.took)}", style="dim")
    return line


def _head(story: Story, width: int) -> Iterator[Text]:
    header = story.header
    words = f"{header.protocol}, {header.listen} to {header.to}, {header.started}, {story.seconds:.1f} s"
    yield from labelled("recording", escape(words), width, by=0, column=_COLUMN)
    if header.profile is not None:
        yield from labelled("", f"both sides were said to be lmcache {header.profile}", width, by=0, column=_COLUMN)
    replaced = [name for name, done in vars(header.redacted).items() if done]
    if replaced:
        yield from labelled("", f"redacted: {listing(replaced)}", width, by=0, column=_COLUMN)
    if story.trouble:
        yield from labelled("", Text(f"not complete: {escape(story.trouble)}", style="yellow"), width, by=0, column=_COLUMN)


def _findings(story: Story, width: int) -> Iterator[Text]:
    totals = [count(story.levels[level], level) for level in LEVELS if story.levels.get(level)]
    yield from labelled("found", listing(totals), width, by=0, column=_COLUMN, style="")
    shown = 0
    for alike in grouped(story.findings):
        yield Text()
        yield from finding_lines(alike.first, width)
        if alike.others:
            yield from paragraph(alike.words, width, 8)
        shown += 1 + len(alike.others)
    more = sum(story.counted.values()) - shown
    if more > 0:
        yield Text()
        yield Text(f"{count(more, 'further finding')} of the same kinds", style="dim")


def only_connection(story: Story, number: int) -> Story:
    """The same story with what was on one connection alone."""
    findings = [one for one in story.findings if one.connection in {0, number}]
    conversations = [one for one in story.conversations if one.number == number]
    counted: dict[str, int] = {}
    levels: dict[str, int] = {}
    for finding in findings:
        counted[finding.rule.name] = counted.get(finding.rule.name, 0) + 1
        levels[finding.level] = levels.get(finding.level, 0) + 1
    return Story(
        story.header, story.guesses, findings, counted, levels, conversations, story.seconds, story.trouble, story.left_out
    )
