"""The HTML report of a run in a real browser: it opens fast, filters, links to cases, obeys keys, runs nothing of a client."""

import time
from dataclasses import replace

import pytest

from reports.conversation import Conversation, ConversationEvent
from reports.diagnosis import Diagnosis, FieldDifference, FrameDump, ValueDifference
from reports.expectation import Listed, ListFile, Standing
from reports.record import CaseRecord
from reports.results import Results
from reports.run.page import html
from reports.verdict import Verdict, count_verdicts, exit_code
from tests.browser.conftest import NARROW, WIDE
from tests.reports.run.made import made_run

SOON = 5_000
"""Milliseconds in which 5,000 cases open on any machine that runs tests; docs/reference/html-report.md has the figure."""


SMALL = made_run(240, 48, names=60)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A run of which 48 cases failed: some of its causes are in the data alone."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(html(SMALL), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """A run with few cases of every verdict, for what takes long."""
    path = tmp_path_factory.mktemp("tiny") / "report.html"
    run = made_run(24, 2, names=6)
    entry = Listed(3, "fail", Standing.PASSED, Verdict.PASS, "it only connects", "2999-01-01")
    others = [
        replace(case, verdict=verdict, reason="for a reason") for case, verdict in zip(run.cases[1:], Verdict, strict=False)
    ]
    cases = (*run.cases, *(replace(case, id=f"other {case.id}", expectation=entry, requirements=()) for case in others))
    path.write_text(html(replace(run, cases=cases)), encoding="utf-8")
    return path


def shown(page, selector):
    return page.locator(selector).evaluate_all("all => all.filter(one => one.offsetParent !== null).length")


def at(path, view):
    return _At(path, view)


class _At:
    """A file, and the part behind '#'."""

    def __init__(self, path, view):
        self.path, self.view = path, view

    def as_uri(self):
        return f"{self.path.as_uri()}#{self.view}"


def quiet(watched):
    """Nothing was complained of, and nothing but the file itself was asked for."""
    return watched.complaints == [] and all(url.startswith("file:") for url in watched.requests) and len(watched.requests) <= 1


def test_a_filter_narrows_failures_and_cases_and_stands_in_the_address(visit, small):
    watched = visit(small)
    page = watched.page
    assert shown(page, ".cause") == 48
    page.select_option("select[aria-label='all topics']", "lm.topic10")
    assert page.evaluate("location.hash") == "#topic=lm.topic10"
    names = page.locator(".name b").all_inner_texts()
    assert names
    assert all(name.startswith("lm.topic10.") for name in names)
    assert 0 < shown(page, ".cause") < 48
    assert "of 240 cases" in page.locator(".shown").inner_text()
    page.fill("input[type=search]", "case-40 fixtures")
    page.wait_for_url("**#*q=case-40*")
    assert page.locator(".name b").all_inner_texts() == ["lm.topic10.case-40"]
    page.click("text=Clear")
    assert shown(page, ".cause") == 48
    assert quiet(watched)


def test_counts_and_cells_are_filters(visit, small):
    page = visit(small).page
    page.click(".counts a >> text=fail")
    assert page.locator(".shown").inner_text().startswith("48 of 240 cases")
    page.click(".grid td.bad a >> nth=0")
    wanted = page.evaluate("Object.fromEntries(new URLSearchParams(location.hash.slice(1)))")
    assert set(wanted) == {"topic", "release", "target"}
    assert all(name.startswith(f"{wanted['topic']}.") for name in page.locator(".name b").all_inner_texts())


def test_a_case_opens_by_a_link_and_from_the_list_and_escape_closes_it(visit, small):
    last = SMALL.cases[235]
    watched = visit(at(small, f"topic={last.topic}&case={last.id}"))
    page = watched.page
    dialog = page.locator("dialog[open]")
    assert dialog.locator("h2").inner_text() == last.id
    assert last.diagnosis.summary in dialog.inner_text()
    assert "GET lmconform/d84c2407" in dialog.inner_text()
    page.keyboard.press("Escape")
    dialog.wait_for(state="hidden")
    page.wait_for_function("wanted => location.hash == wanted", arg=f"#topic={last.topic}")  # told after the dialog is hidden
    page.click("text=Clear")
    page.click(".name >> nth=1")
    page.click(".runs a >> nth=0")
    text = dialog.inner_text()
    assert "pass" in text
    assert "LM-REPLY-003" in text
    assert quiet(watched)


def test_keys_walk_through_the_failures(visit, small):
    page = visit(small).page
    page.keyboard.press("j")
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.parentElement.dataset.cause") == "1"
    page.keyboard.press("Enter")
    assert page.locator(".cause[data-cause='1'][open] .talk").is_visible()
    page.keyboard.press("Escape")
    assert not page.locator(".cause[data-cause='1'] .talk").is_visible()
    page.keyboard.press("ArrowUp")
    assert page.evaluate("document.activeElement.parentElement.dataset.cause") == "0"
    page.keyboard.press("/")
    page.keyboard.type("jjj/")
    assert page.input_value("input[type=search]") == "jjj/"
    page.keyboard.press("Escape")
    assert page.input_value("input[type=search]") == ""
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.tagName") == "SELECT"


def test_a_cause_that_is_in_the_data_alone_opens_as_the_others_do_and_its_command_can_be_copied(visit, small):
    page = visit(small).page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.click(".cause[data-cause='47'] summary")
    body = page.locator(".cause[data-cause='47'] .told")
    assert body.locator(".dumps mark").count() > 0
    assert body.locator(".copied button").count() == 1
    body.locator("text=Copy").click()
    page.wait_for_selector("text=Copied")
    assert page.evaluate("navigator.clipboard.readText()").startswith("lmconform run --client stdio:./mine --only")


@pytest.mark.parametrize(("size", "scheme"), [(WIDE, "light"), (NARROW, "dark")])
def test_everybody_can_use_it(visit, tiny, size, scheme):
    watched = visit(tiny, size=size, scheme=scheme)
    names = watched.page.locator(".name b").all_inner_texts()
    assert len(names) == len(set(names)) == 6
    watched.page.click(".cause >> nth=0")
    watched.page.click(".name >> nth=0")
    assert watched.overflow() == 0
    assert watched.violations() == []
    watched.page.click(".runs a >> nth=0")
    assert watched.overflow() == 0
    if size is NARROW:
        assert watched.violations(within="dialog") == []
    assert quiet(watched)


def test_without_script_the_verdict_the_table_and_the_failures_are_there(visit, small):
    watched = visit(small, script=False)
    page = watched.page
    assert page.locator("h1").inner_text() == "NOT CONFORMANT"
    assert shown(page, ".grid td.bad") > 1
    assert shown(page, ".cause") == 40
    page.click(".cause >> nth=3")
    assert page.locator(".cause >> nth=3").locator(".talk").is_visible()
    assert page.locator("noscript li").count() == 8
    assert watched.complaints == []


def test_an_open_failure_is_printed(visit, small):
    page = visit(small).page
    page.click(".cause >> nth=2")
    page.emulate_media(media="print")
    assert page.locator(".cause >> nth=2").locator(".talk").is_visible()
    assert shown(page, "#tools") == 0
    assert len(page.pdf()) > 10_000


def test_five_thousand_cases_of_which_five_hundred_failed_open_soon(visit, tmp_path):
    path = tmp_path / "report.html"
    path.write_text(html(made_run(5000, 500)), encoding="utf-8")
    assert path.stat().st_size < 3_000_000
    page = visit(path).page
    assert page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd") < SOON
    assert shown(page, ".cause") == 500
    began = time.monotonic()
    page.fill("input[type=search]", "case-77")
    page.wait_for_selector("text=of 5000 cases")
    assert time.monotonic() - began < SOON / 1000


WILD = (
    "<script>window.pwned = 1</script></script><img src=x onerror='window.pwned = 2'><svg onload=window.pwned=3>"
    "\" onmouseover=\"window.pwned=4\" x='' onfocus='window.pwned=5' autofocus <!-- --> ]]> {{ 7*7 }} {% raw %} "
    "</style><style>body{display:none}</style> javascript:window.pwned=6 "
    "\u202eabc\u2028\u2029\x00\x1b[2J\x07 &lt; &#39; ` \\u003c \\"
)


@pytest.fixture
def wild(tmp_path, monkeypatch):
    """A report in which every text that a client, a server or a user has a say in is markup."""
    monkeypatch.setattr("reports.run.page.SHOWN", 2)  # the other causes are in the data alone
    event = [ConversationEvent(0.1 * number, number, "client", "data", 4, b"\x00<b>", WILD) for number in range(20)]
    diagnosis = Diagnosis(
        *(WILD, WILD, "MUST", WILD, WILD, WILD, WILD),
        fields=(FieldDifference(0, 1, WILD, WILD, WILD, WILD),),
        frames=(FrameDump(WILD, b"<script>", marks=((0, 1),)), FrameDump(WILD, b"<b>")),
        values=(ValueDifference(WILD, {WILD: WILD}, WILD, WILD),),
        **dict.fromkeys(("client_answered", "conformant_answer", "provenance", "counterexample", "rerun", "client_stderr"), WILD),
        conversation=Conversation(WILD, tuple(event)),
    )
    made = made_run(4, 1)
    entry = Listed(3, "fail", Standing.AS_LISTED, Verdict.FAIL, WILD, "2999-01-01", WILD, WILD)

    def case(name, verdict, **more):
        identity = f"{WILD}.{name}[{WILD}-{WILD}-{WILD}]"
        return CaseRecord(identity, WILD, name, WILD, WILD, verdict, 0.1, WILD, WILD, (WILD,), **more)

    cases = [
        *(case(f"f{number}", Verdict.FAIL, diagnosis=replace(diagnosis, summary=f"{number}{WILD}")) for number in range(4)),
        case("u", Verdict.UNSUPPORTED, operation=WILD, reason=WILD),
        case("k", Verdict.KNOWN_FAILURE, reason=WILD, expectation=entry, diagnosis=diagnosis),
        case("x", Verdict.UNEXPECTED_PASS, reason=WILD, expectation=replace(entry, standing=Standing.PASSED)),
        case("s", Verdict.SHORTFALL, diagnosis=replace(diagnosis, level="SHOULD")),
        case("p", Verdict.PASS),
    ]
    client = replace(
        made.header.client, **dict.fromkeys(("spec", "name", "version", "language", "issues"), WILD), operations=(WILD,)
    )
    told = dict.fromkeys(("python", "platform", "corpus", "tool_version"), WILD)
    header = replace(made.header, client=client, command_line=(WILD,), expectations=ListFile(WILD, "0" * 64, 3), **told)
    counts = count_verdicts(one.verdict for one in cases)
    footer = replace(made.footer, counts=counts, exit_code=exit_code(counts))
    path = tmp_path / "report.html"
    path.write_text(html(Results(header, tuple(cases), footer)), encoding="utf-8")
    return path


def unfold(page):
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    page.wait_for_selector(".runs")


def show_run(page, place):
    page.evaluate(f"location.hash = document.querySelectorAll('.runs a')[{place}].hash")
    page.wait_for_selector("dialog[open]")


def test_a_case_stays_open_that_was_opened_before_the_browser_told_of_the_end_of_the_last_one(visit, wild):
    page = visit(wild).page
    unfold(page)
    show_run(page, 0)
    # The event of the close is on its way when the next address is there, and comes after it.
    page.evaluate("""async () => {
        const dialog = document.querySelector("dialog"), next = document.querySelectorAll(".runs a")[3].hash;
        const told = new Promise(done => dialog.addEventListener("close", done));
        dialog.close();
        location.hash = next;
        dispatchEvent(new HashChangeEvent("hashchange"));
        await told;
    }""")
    assert page.locator("dialog[open]").count() == 1


def test_nothing_of_a_client_runs(visit, wild):
    watched = visit(wild)
    page = watched.page
    unfold(page)
    for place in (0, 3, 5, 8):
        show_run(page, place)
        page.keyboard.press("Escape")
        page.wait_for_selector("dialog[open]", state="detached")  # the browser closes it in its own time
    page.select_option("select[aria-label='all verdicts']", "known-failure")
    assert page.evaluate("window.pwned === undefined")
    assert page.evaluate("document.querySelectorAll('img, svg, iframe, object, form, base').length") == 0
    assert page.locator("h1").is_visible()
    assert quiet(watched)
