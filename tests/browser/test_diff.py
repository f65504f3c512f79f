"""The page of ``lmconform diff`` and the badge, in a browser."""

import dataclasses

import pytest

from reports.diagnosis import Diagnosis
from reports.diff.compare import compare
from reports.diff.model import Run
from reports.diff.page import html
from reports.formats.badge import badge_svg
from reports.formats.context import Context
from reports.record import CaseRecord, ClientInfo, RunHeader
from reports.results import Results
from reports.verdict import Verdict

WIDE, NARROW = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
HOSTILE = "</pre><script>document.title = 'owned'</script><img src=https://evil.example/x onerror=alert(1)>"
HEADER = RunHeader(
    "0.1.0", "2026-01-02T03:04:05Z", ClientInfo("stdio:./mine", "mine", "1", "Rust"), ("0.5.6",), ("mock",), ("lmconform",), 0,
    "CPython 3.11", "Linux", "4ac22d56",
)  # fmt: skip


def case(name, verdict=Verdict.PASS, summary=None):
    diagnosis = (
        None
        if summary is None
        else Diagnosis(summary, requirement="LM-GET-004", level="MUST", rerun="lmconform run " + "x" * 300)
    )
    topic, _, rest = name.rpartition(".")
    return CaseRecord(f"{name}[0.5.6-mock]", topic, rest, "0.5.6", "mock", verdict, 0.1, "A client waits.", diagnosis=diagnosis)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """A comparison with long, hostile and many texts, in which something is broken, changed, fixed and new."""
    old = [case(f"lm.get.c{number}") for number in range(30)]
    new = [case(f"lm.get.c{number}", Verdict.FAIL, f"{HOSTILE} {number}" * 3) for number in range(30)]
    old += [case("lm.put.was", Verdict.FAIL, "w" * 300), case("lm.put.other", Verdict.FAIL, "one"), case("mp.old")]
    new += [case("lm.put.was"), case("lm.put.other", Verdict.CRASH, "two"), case("lm.put.new")]
    other = dataclasses.replace(HEADER, tool_version="0.2.0", client=dataclasses.replace(HEADER.client, spec=f"stdio:{HOSTILE}"))
    runs = Run("main.jsonl", Results(HEADER, tuple(old))), Run("branch.jsonl", Results(other, tuple(new)))
    path = tmp_path_factory.mktemp("diff") / "diff.html"
    path.write_text(html(compare(*runs), "Nightly"))
    return path


@pytest.mark.parametrize(("size", "scheme"), [(WIDE, "light"), (NARROW, "dark")])
def test_everybody_can_use_it_in_every_size_and_nothing_from_outside_acts(visit, page, size, scheme):
    watched = visit(page, size=size, scheme=scheme)
    assert watched.violations() == []
    assert (watched.complaints, watched.requests, watched.overflow()) == ([], [page.as_uri()], 0)
    assert watched.page.title() == "Nightly: WORSE"


def test_a_cause_opens_by_keyboard_and_a_number_leads_to_its_kind(visit, page):
    watched = visit(page, script=False)
    causes = watched.page.locator("details.cause")
    assert [causes.nth(place).get_attribute("open") is not None for place in (0, 1)] == [True, False]
    causes.nth(1).locator("summary").focus()
    watched.page.keyboard.press("Enter")
    assert causes.nth(1).locator("dl").is_visible()
    watched.page.locator(".tally a", has_text="fixed").click()
    assert watched.page.url.endswith("#fixed")
    assert watched.page.locator("#fixed").is_visible()


@pytest.mark.parametrize("label", ["lmcache conformance", "日本語 <&> MMMM iiii"])
def test_the_texts_of_a_badge_stay_on_their_sides(visit, tmp_path, label):
    path = tmp_path / "badge.svg"
    path.write_bytes(badge_svg(Results(HEADER, (case("lm.get.a"),)), Context(label=label)))
    watched = visit(path)
    sides = watched.page.evaluate(
        "[...document.querySelectorAll('path, rect, text')].map(one => one.getBBox()).map(b => [b.x, b.x + b.width])"
    )
    whole, left, *texts = sides
    for (start, end), (first, last) in zip((left, (left[1], whole[1])), texts, strict=True):
        assert start < first < last < end
    assert (watched.complaints, watched.requests) == ([], [path.as_uri()])
