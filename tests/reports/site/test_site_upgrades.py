"""What an update costs, read off the maps."""

from dataclasses import replace

import pytest

from reports.compat.model import Cell, CompatResult, Evidence, Finding
from reports.compat.outcome import Grade, Outcome
from reports.site.overview import script_data
from reports.site.sidebyside import marked
from reports.site.upgrade import Upgrades, between, changes_words, reach
from tests.small_site import gathered

OLD, NEW = "0.5.5", "0.5.6"


def finding(outcome, *, plain=True, part="talk", reason="it is refused", struck=("health",)):
    return Finding(part, Grade(outcome, plain), reason, struck, Evidence())


def upgrade(*, ahead=(), behind=(), today=()):
    """The answers where old clients have some findings at new servers, new ones at old servers, and both already today."""
    cells = {
        (OLD, NEW): Cell(OLD, NEW, tuple(ahead)),
        (NEW, OLD): Cell(NEW, OLD, tuple(behind)),
        (OLD, OLD): Cell(OLD, OLD, tuple(today)),
        (NEW, NEW): Cell(NEW, NEW),
    }
    result = CompatResult("0", "2026-01-02T03:04:05Z", 1.0, "mock", None, "0", (OLD, NEW), (OLD, NEW), cells)
    return Upgrades(replace(gathered(), compat=result)).of(OLD, NEW)


def test_where_nothing_is_wrong_the_order_does_not_matter():
    found = upgrade()
    assert (found.lm.chip, found.lm.tone) == ("works", "good")
    assert (found.keys.chip, found.keys.tone) == ("found", "good")


@pytest.mark.parametrize(
    ("ahead", "behind", "chip", "tone"),
    [
        ([], [finding(Outcome.REFUSED)], "servers first", "good"),
        ([finding(Outcome.REFUSED)], [], "clients first", "good"),
        ([finding(Outcome.REFUSED)], [finding(Outcome.HANGS)], "breaks", "bad"),
        ([finding(Outcome.WRONG, plain=False)], [finding(Outcome.HANGS)], "mostly works", "warn"),
        ([finding(Outcome.HANGS)], [finding(Outcome.WRONG, plain=False)], "mostly works", "warn"),
        ([finding(Outcome.REFUSED, plain=False)], [finding(Outcome.REFUSED, plain=False)], "mostly works", "warn"),
    ],
)
def test_the_better_order_is_told(ahead, behind, chip, tone):
    found = upgrade(ahead=ahead, behind=behind).lm
    assert (found.chip, found.tone) == (chip, tone)


def test_what_is_wrong_today_is_no_cost_of_the_update():
    one = finding(Outcome.REFUSED, plain=False, struck=("key a", "key b"))
    assert upgrade(ahead=[finding(Outcome.REFUSED, plain=False, struck=("key a",))], today=[one]).lm.chip == "works"


def test_what_strikes_more_than_today_is_a_cost():
    one = finding(Outcome.REFUSED, plain=False, struck=("key a",))
    more = finding(Outcome.REFUSED, plain=False, struck=("key a", "key b"))
    assert upgrade(ahead=[more], behind=[more], today=[one]).lm.chip == "mostly works"


@pytest.mark.parametrize(
    ("found", "chip"),
    [
        (finding(Outcome.MISSES, part="share"), "not found"),
        (finding(Outcome.MISSES, plain=False, part="share"), "mostly found"),
        (finding(Outcome.WRONG, part="share"), "wrong values"),
        (finding(Outcome.UNKNOWN, part="share"), "cannot be said"),
        (finding(Outcome.REFUSED, part="share", reason="nothing can be stored there (see talk)"), "not found"),
    ],
)
def test_stored_chunks_are_judged_apart(found, chip):
    answers = upgrade(ahead=[found])
    assert answers.keys.chip == chip
    assert answers.lm.chip == "works"


def test_a_release_without_the_multiprocess_server_says_so():
    found = Upgrades(gathered()).of("0.3.2", "0.5.6")
    assert (found.mp.chip, found.mp.place) == ("not there", "")
    assert found.lm.chip == "breaks"


def test_how_far_one_can_go_is_the_last_release_before_the_first_trouble():
    found = reach(Upgrades(gathered()), gathered().releases, "0.5.5")
    assert found.fine == ("0.5.6", "0.5.6", None)
    assert found.newest.mp.chip == "breaks"
    assert found.next == "0.5.6"


def test_changes_between_two_releases_are_the_same_in_both_directions():
    there, back = between(gathered().history, "0.3.2", "0.5.6"), between(gathered().history, "0.5.6", "0.3.2")
    assert there == back
    assert changes_words(there).endswith(" additive")
    assert changes_words([]) == "none"


def test_what_differs_is_marked():
    assert marked("m@1@0", "m@12@0") == ("m@1@0", "m@1<mark>2</mark>@0")
    assert marked("<a>", "<b>") == ("&lt;<mark>a</mark>&gt;", "&lt;<mark>b</mark>&gt;")


def test_data_of_a_script_ends_no_script():
    assert script_data(["</script>\u2028"]) == '["\\u003c/script>\\u2028"]'
