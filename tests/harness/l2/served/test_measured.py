"""What was measured of real servers, as data."""

from dataclasses import replace

from harness.l2.served.faults import FAULTS
from harness.l2.served.measured import FILE, read_measured, write_measured
from harness.l2.served.outcome import Outcome
from wire.release import Release

NEWEST = Release.parse("0.5.6")


def test_the_file_is_as_it_is_written(tmp_path):
    write_measured(read_measured(), tmp_path / "again.json")
    assert (tmp_path / "again.json").read_text() == FILE.read_text()


def test_the_newest_release_and_those_of_the_guide_were_measured_for_every_fault():
    measured = read_measured()
    for text in ("0.4.6", "0.4.7", "0.5.4", "0.5.6"):
        assert [fault.text for fault in FAULTS if fault.text not in measured[Release.parse(text)]] == []


def test_no_fault_of_a_plugin_keeps_a_server_from_answering_noop():
    outcomes = [outcome for faults in read_measured().values() for outcome in faults.values()]
    assert all(outcome.alive for outcome in outcomes if outcome.starts)


def test_only_what_is_unusual_is_told():
    assert dict(Outcome().unusual) == {}
    outcome = replace(Outcome(), second_tier="miss", locked=True)
    assert dict(outcome.unusual) == {"second_tier": "miss", "locked": True}


def test_a_fault_lasts_where_something_is_left_of_it():
    assert not replace(Outcome(), store="refused", first_tier="never", second_tier="damaged").lasts
    assert all(replace(Outcome(), **left).lasts for left in ({"locked": True}, {"spins": True}, {"later_first_tier": "never"}))
