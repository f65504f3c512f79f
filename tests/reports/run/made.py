"""A made run of any size, with failures that have everything that a failure can have."""

from __future__ import annotations

from reports.conversation import Conversation, ConversationEvent
from reports.diagnosis import Diagnosis, FieldDifference, FrameDump, ValueDifference
from reports.record import CaseRecord, ClientInfo, RunFooter, RunHeader
from reports.results import Results
from reports.verdict import Verdict, count_verdicts, exit_code

RELEASES = tuple(f"0.5.{number}" for number in range(22))
TARGETS = ("fixtures", "mock", "live")
COLUMNS = [(release, target) for target in TARGETS for release in RELEASES]


def made_run(count: int, failing: int, *, names: int = 120) -> Results:
    """So many cases, of which so many failed, each for a reason of its own."""
    cases = [_case(place, names, fails=failing > 0 and place % (count // max(1, failing)) == 0) for place in range(count)]
    counts = count_verdicts(case.verdict for case in cases)
    client = ClientInfo("stdio:./mine", "mine", "1.2", "Rust", ("get", "put"), RELEASES)
    header = RunHeader(
        *("0.1.0", "2026-01-02T03:04:05Z", client, RELEASES, TARGETS, ("lmconform", "run"), 7, "3.11.7", "Linux", "sha256:0")
    )
    return Results(header, tuple(cases), RunFooter(counts, 61.5, exit_code(counts), "2026-01-02T03:05:06Z", complete=True))


def _case(place: int, names: int, *, fails: bool) -> CaseRecord:
    name, turn = place % names, place // names
    (release, target), variant = COLUMNS[turn % len(COLUMNS)], str(turn // len(COLUMNS))
    topic, case = f"lm.topic{name % 30}", f"case-{name}"
    identity = f"{topic}.{case}[{release}-{target}-{variant}]"
    told = _diagnosis(place, identity) if fails else None
    return CaseRecord(
        *(identity, topic, case, release, target, Verdict.FAIL if fails else Verdict.PASS, 0.012 * (place % 40)),
        title="A client waits until all of a reply has come.",
        variant=variant,
        requirements=(f"LM-GET-{name:03}", "LM-REPLY-003"),
        diagnosis=told,
    )


def _diagnosis(place: int, identity: str) -> Diagnosis:
    return Diagnosis(
        summary=f"{place} of 36 bytes differ in the reply, the first at 0x4",
        requirement=f"LM-GET-{place % 120:03}",
        level="MUST",
        statement="A client waits for all of it, however long it takes and however it is cut.",
        why_it_matters="a header arrives split now and then, and then wrong bytes are read",
        exchange="exchange 2 (EXIST), connection 1",
        delivery="sent in 2 segments: 10 + 26 bytes",
        fields=tuple(
            FieldDifference(offset, 4, name, "2 (float16)", "1 (float16)")
            for offset, name in ((4, "length"), (8, "format"), (12, "dtype"))
        ),
        frames=(
            FrameDump("expected", bytes(36), marks=((4, 1), (8, 1))),
            FrameDump("got", b"\x01" * 36, cuts=(10,), marks=((4, 1), (8, 1))),
        ),
        values=(ValueDifference("keys[3].end", 3, 4),),
        client_answered="ok: exists = False",
        conformant_answer="exists = true",
        provenance="corpus 0.5.6, vector lm.reply.exist-hit (wheel lmcache-0.5.6 sha256 1f3a)",
        rerun=f"lmconform run --client stdio:./mine --only '{identity}'",
        client_stderr="Traceback (most recent call last):\n" + '  File "client.py", line 12, in get\n    raise ValueError\n' * 8,
        conversation=Conversation("the mock", tuple(map(_event, range(14)))),
    )


def _event(number: int) -> ConversationEvent:
    if number % 2:
        return ConversationEvent(number / 1000, 1, "server", "data", 36, bytes(36), "reply to GET: 200 (success)")
    return ConversationEvent(
        number / 1000, 1, "client", "data", 186, bytes(range(186)), f"GET lmconform/d84c2407/{number}@1@0@1a2b"
    )
