"""The site in a browser: quiet, asking for nothing else, usable by everybody, and doing what its forms promise."""

import pytest
from conftest import NARROW

from reports.site.folder import write_site
from tests.small_site import site

KINDS = (
    "index.html",
    "history.html",
    "lm.html",
    "lm/client-0.3.2.html",
    "mp/client-0.5.5.html",
    "upgrade/0.5.5.html",
    "drift/0.5.6.html",
    "spec/index.html",
    "spec/lm.html",
    "requirements/index.html",
    "requirements/LM-REPLY-003.html",
    "cases/lm.html",
    "coverage.html",
    "findings/index.html",
    "known/lmcache-server.html",
    "search.html?q=segmented",
)
"""One of each; those that share a template with one of these are left out."""
CONTRAST = "color-contrast"
IN_BOTH = ("index.html", "mp/client-0.5.5.html", "requirements/LM-REPLY-003.html")
"""Pages with all that the style sheet colours, whose contrast is looked at in light as well as in dark."""
PICTURES = ("svg",)
"""They have tests of their own."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("site") / "a site"
    write_site(path, site())
    return path


@pytest.fixture
def go(visit, folder):
    """Open a page of the site."""

    def opened(place, **how):
        path, _, query = place.partition("?")
        watched = visit(folder / path, **how)
        if query:
            watched.page.goto(f"{(folder / path).as_uri()}?{query}")
        return watched

    return opened


@pytest.mark.parametrize("place", KINDS)
def test_a_page_is_quiet_fetches_only_its_own_files_and_hinders_nobody(go, folder, place):
    watched = go(place)
    assert watched.complaints == []
    assert [url for url in watched.requests if not url.startswith(folder.as_uri())] == []
    assert watched.overflow() == 0
    assert watched.violations(without=[] if place in IN_BOTH else [CONTRAST], outside=PICTURES) == []
    watched.page.set_viewport_size(NARROW)
    watched.page.emulate_media(color_scheme="dark")
    assert watched.overflow() == 0
    assert watched.violations([CONTRAST], outside=PICTURES) == []


def test_two_releases_are_chosen_and_the_answers_come(go):
    page = go("index.html").page
    page.select_option("select[name=from]", "0.3.2")
    assert "a request header has 182 bytes" in page.inner_text("#verdict")
    assert page.url.endswith("#from=0.3.2&to=0.5.6")
    page.click("#swap")
    assert page.input_value("select[name=to]") == "0.3.2"
    page.click("#verdict a.chip >> nth=0")
    assert "/lm/client-" in page.url


def test_a_map_is_one_stop_and_arrows_walk_in_it(go):
    page = go("lm.html", size=NARROW).page
    assert page.locator('.heat td a[tabindex="0"]').count() == 1
    page.focus('.heat td a[tabindex="0"]')
    page.keyboard.press("Home")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    assert page.inner_text("#detail h2").strip() == "client 0.3.2, server 0.3.2"
    page.keyboard.press("End")
    assert "the server reads 186" in page.inner_text("#detail")
    page.keyboard.press("Enter")
    page.wait_for_url("**/lm/client-0.3.2.html#server-*")


def test_a_cell_that_is_pointed_at_is_told_below_the_map(go):
    page = go("mp.html").page
    page.click(".heat tbody tr:last-child td:nth-child(2) a")
    assert "operations work" in page.inner_text("#detail")
    assert page.url.endswith("/mp.html")


def test_filters_leave_what_fits(go):
    page = go("requirements/index.html").page
    page.fill("[data-filter] [name=words]", "reply header")
    page.select_option("[name=level]", "MUST")
    shown = page.locator("#rows tbody tr:visible").all_inner_texts()
    assert shown
    assert all("MUST" in row and "reply" in row and "header" in row for row in shown)
    assert page.inner_text("[data-filter] output") == f"{len(shown)} of {page.locator('#rows tbody tr').count()}"


def test_topics_without_a_case_that_fits_are_gone(go):
    page = go("cases/lm.html").page
    page.fill("[data-filter] [name=words]", "split-header-of-get")
    assert page.locator(".case:visible").count() == 1
    assert page.locator(".topic:visible").count() == 1


def test_coverage_shows_what_somebody_does_not_keep(go):
    page = go("coverage.html").page
    page.select_option("[name=state]", "trouble")
    shown = page.locator("#rows tbody tr:visible").all_inner_texts()
    assert any("LM-REPLY-003" in row for row in shown)
    assert len(shown) < page.locator("#rows tbody tr").count()


def test_the_search_finds_requirements_cases_and_findings(go):
    page = go("index.html").page
    page.keyboard.press("/")
    page.keyboard.type("header parts")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search.html?q=header+parts")
    found = page.inner_text("#found")
    assert "F1: a reply header that arrives in parts is an error" in found
    page.fill("#find [name=q]", "LM-REPLY-003")
    page.click("#found li:first-child a")
    page.wait_for_url("**/requirements/LM-REPLY-003.html")


def test_without_script_every_answer_is_there(go):
    page = go("index.html", script=False).page
    assert not page.is_visible("#pick")
    page.click("table.reach tbody tr:first-child th a")
    assert "From lmcache 0.5.5" in page.inner_text("h1")
    page.click("dd a.chip >> nth=0")
    assert "/lm/client-" in page.url
    page = go("lm.html", script=False).page
    page.click(".heat tbody tr:first-child td:last-child a")
    assert page.url.endswith("/lm/client-0.3.2.html#server-0.5.5")


def test_printed_pages_have_no_navigation(go):
    page = go("upgrade/0.5.5.html").page
    page.emulate_media(media="print")
    assert not page.is_visible(".nav ul")
    assert page.is_visible("dl.answers")
