"""A site of three releases with the results of a hostile client, for the tests of its pages; made once a process."""

import functools
from dataclasses import replace
from html.parser import HTMLParser
from urllib.parse import unquote

from harness.site.gather import Wanted, gather
from reports.record import CaseRecord, ClientInfo, RunHeader
from reports.results import Results
from reports.site.build import build
from reports.verdict import Verdict
from wire.release import Release

RELEASES = ("0.3.2", "0.5.5", "0.5.6")
HOSTILE = "\"><script>alert('x')</script><img src=x onerror=alert(1)>\x1b[31m\u202e`*<!--"
"""Markup, quotes, an escape sequence, a reversal of direction, Markdown and the beginning of a comment."""


@functools.cache
def gathered():
    """Three releases: the oldest layout, and two with the multiprocess server."""
    return gather(Wanted([Release.parse(text) for text in RELEASES]))


@functools.cache
def content():
    """What was gathered with the hostile run, and with the requirements of one specification alone: pages are many."""
    requirements = {one.id: one for one in gathered().requirements.values() if one.document == "lm"}
    return replace(gathered(), runs=(hostile_run(),), requirements=requirements)


@functools.cache
def site():
    """Its files by path."""
    return build(content())


def hostile_run():
    """Results in which every text that a client controls is hostile."""
    client = ClientInfo(f"stdio:{HOSTILE}", HOSTILE, HOSTILE, HOSTILE, (HOSTILE,), (HOSTILE,), HOSTILE)
    header = RunHeader(
        tool_version="0.1.0", started="2026-01-02T03:04:05Z", client=client, releases=("0.5.6", HOSTILE), targets=("mock",),
        command_line=(HOSTILE,), seed=7, python="CPython 3.11.7", platform="Linux-x86_64", corpus="0123456789abcdef",
    )  # fmt: skip
    verdicts = {"split-header": Verdict.FAIL, "slow-reply": Verdict.PASS, "byte-by-byte": Verdict.HANG}
    cases = tuple(
        CaseRecord(
            id=f"lm.segments.{name}[0.5.6-mock]",
            topic="lm.segments",
            case=name,
            release="0.5.6",
            target="mock",
            verdict=verdict,
            seconds=0.1,
            title=HOSTILE,
            requirements=("LM-REPLY-003",),
            reason=HOSTILE,
        )
        for name, verdict in verdicts.items()
    )
    return Results(header, cases, None, HOSTILE)


class Page(HTMLParser):
    """What a page refers to, and what can be referred to in it."""

    def __init__(self, data):
        super().__init__()
        self.links, self.loads, self.ids, self.tags, self.handlers = [], [], [], [], []
        self.feed(data.decode())

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value)
            elif name == "href" and tag == "a":
                self.links.append(unquote(value))
            elif name in {"href", "src", "action"} and tag != "form":
                self.loads.append(value)
            elif name.startswith("on"):
                self.handlers.append(name)


@functools.cache
def pages():
    """Every page, read."""
    return {path: Page(data) for path, data in site().items() if path.endswith(".html")}
