"""What is told and written beside the traffic: no more than may be, whatever goes wrong."""

import threading

import pytest
from tapped import PATIENCE, put, request, talk

from harness.tap.event import Event
from harness.tap.keeper import Keeper
from harness.tap.lm.listener import LmListener
from harness.tap.recording import Header, Recorder, Redacted, load
from harness.tap.scribe import Scribe

MODEL = "acme/Secret-70B"
KEY = f"{MODEL}@1@0@7f@half"
SECRET = b"confidential" * 20
ALL = Redacted(keys=True, payloads=True)


class Broken(LmListener):
    """A listener with a mistake in it."""

    def hear(self, event):  # noqa: ARG002  # as the listener has it
        raise RuntimeError("a mistake")


class Hanging(Recorder):
    """A recorder whose disk hangs."""

    def __init__(self, *words):
        super().__init__(*words)
        self.end = threading.Event()

    def event(self, event):  # noqa: ARG002  # as the recorder has it
        self.end.wait(PATIENCE)


@pytest.fixture
def scribe(tmp_path):
    """Make a scribe, and lists of what it tells and notices."""

    def made(redacted, listener=LmListener, recorder=Recorder):
        told, noticed = [], []
        heard = listener()
        keeper = Keeper(heard, redacted=redacted)
        written = recorder(tmp_path / "tap.jsonl", Header("lm", "a:1", "b:2", None, redacted, "2026-11-30T00:00:00"))
        teller = listener() if redacted else None
        scribe = Scribe(heard, keeper, written, teller=teller, tell=told.append, notice=noticed.append, elapsed=lambda: 100.0)
        scribe.start()
        return scribe, written, told, noticed

    return made


def test_findings_are_told_with_pseudonyms_where_keys_are_redacted(scribe):
    writing, _, told, _ = scribe(ALL)
    for event in talk(("client", request(2, KEY, dtype=9) + put(SECRET, KEY))):
        writing.put(event)
    assert writing.close()
    rules = [finding.rule.name for finding in told]
    assert {"unknown-dtype", "unanswered"} <= set(rules)
    assert not [finding for finding in told if MODEL in repr(finding) or SECRET.hex() in repr(finding)]
    assert writing.findings.total() == len(told)


@pytest.mark.parametrize("redacted", [ALL, Redacted(keys=True), Redacted(payloads=True)])
def test_a_mistake_of_ours_lets_nothing_out_that_is_redacted(scribe, tmp_path, redacted):
    writing, _, _, _ = scribe(redacted, Broken)
    for event in talk(("client", put(SECRET, KEY))):
        writing.put(event)
    assert writing.close()
    assert writing.defect == "RuntimeError: a mistake"
    assert [event.data for event in load(tmp_path / "tap.jsonl").events if event.data] == []


def test_a_mistake_of_ours_loses_nothing_that_may_be_recorded(scribe, tmp_path):
    writing, _, _, _ = scribe(Redacted(), Broken)
    for event in talk(("client", put(SECRET, KEY))):
        writing.put(event)
    assert writing.close()
    assert b"".join(event.data for event in load(tmp_path / "tap.jsonl").events) == put(SECRET, KEY)


def test_trouble_of_the_tap_itself_is_noticed_and_leaves_a_recording_that_can_be_read(scribe, tmp_path):
    writing, _, _, noticed = scribe(Redacted())
    writing.put(Event(0.5, 0, "client", "error", text="no more connections can be accepted"))
    for event in talk(("client", request(2))):
        writing.put(event)
    assert writing.close()
    found = load(tmp_path / "tap.jsonl")
    assert (len(noticed), found.footer.counts["not_accepted"]) == (1, 1)
    assert {event.connection for event in found.events} == {1}


def test_a_disk_that_hangs_holds_up_nobody_who_is_in_a_hurry(scribe):
    writing, recorder, _, _ = scribe(Redacted(), recorder=Hanging)
    for event in talk(("client", request(2))):
        writing.put(event)
    assert not writing.close(hurried=lambda: True)
    recorder.end.set()
    assert writing.close()
