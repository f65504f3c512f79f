"""The pages of a small site: whole, valid, linked, escaped."""

import json
import posixpath
from pathlib import Path

import html5lib

from reports.site.links import requirement_page
from tests.small_site import HOSTILE, content, pages, site

ROOT = Path(__file__).resolve().parents[3]


def resolved(place, page):
    path, _, fragment = place.partition("#")
    return (posixpath.normpath(posixpath.join(posixpath.dirname(page), path)) if path else page), fragment


def test_every_link_leads_to_a_file_and_every_fragment_to_an_element():
    files, read = site(), pages()
    broken = []
    for page, found in read.items():
        for link in found.links:
            if link.startswith("https://") or page.startswith("runs/"):  # the page of a run has tests of its own
                continue
            path, fragment = resolved(link, page)
            if path not in files or (fragment and fragment not in read[path].ids):
                broken.append((page, link))
    assert broken == []


def test_pages_load_nothing_but_files_of_the_site():
    loads = [(page, load) for page, found in pages().items() for load in found.loads]
    own = {"site.css", "site.js", "upgrade.js", "search.js", "lm/map.js", "mp/map.js"}
    assert {resolved(load, page)[0] for page, load in loads} == own
    assert all(load.split("#")[0] and ":" not in load for _, load in loads)


def test_an_id_is_given_once_in_a_page():
    assert [(page, found.ids) for page, found in pages().items() if len(found.ids) != len(set(found.ids))] == []


def test_pages_of_every_kind_are_valid_html():
    kinds = {}
    for path in pages():
        if not path.startswith("runs/"):
            kinds.setdefault(posixpath.dirname(path) or path, []).append(path)
    assert len(kinds) > 12
    for found in kinds.values():
        html5lib.HTMLParser(strict=True).parse(site()[found[-1]].decode())


def test_what_is_for_programs_is_handed_on_as_it_is_and_linked():
    linked = {resolved(link, "spec/index.html")[0] for link in pages()["spec/index.html"].links}
    for name in ("spec/requirements.json", "spec/machine/lmcache_lm.lua", "spec/machine/lmcache_lm_0_5_1.ksy"):
        assert site()[name] == (ROOT / "docs" / name).read_bytes()
        assert name in linked
    assert "schemas/requirements-v1.schema.json" in site()
    assert "spec/published.json" not in site()


def test_the_specification_leads_to_where_to_begin_to_what_is_for_programs_and_to_the_pictures():
    assert "reading.html#where-to-begin" in pages()["spec/index.html"].links
    assert "lmcache_lm.lua" in pages()["spec/machine/index.html"].links
    assert "../history.html#key-grammar" in pages()["spec/keys.html"].links


def test_the_search_knows_places_that_there_are():
    index = json.loads(site()["search.js"].decode().removeprefix("window.INDEX = ").removesuffix(";\n"))
    assert {kind for kind, *_ in index} == {"requirement", "specification", "case", "finding", "known failure", "change"}
    assert ["Key string", "spec/keys.html#key-string"] in [[name, place] for _, name, _, place in index]
    for _, _, _, place in index:
        path, _, fragment = place.partition("#")
        assert not fragment or fragment in pages()[path].ids, place


def test_every_requirement_has_a_page_of_its_own_that_says_all_of_it():
    for identifier in content().requirements:
        assert requirement_page(identifier) in site()
    page = site()[requirement_page("LM-REPLY-003")].decode()
    assert "A client assembles the whole reply header however the stream is segmented." in page
    assert "lm.segments.split-header" in page
    assert "a reply header that arrives in parts is an error" in page
    assert "findings/lmcache-client.html#f1-" in page


def test_nothing_that_a_client_said_acts_in_a_page():
    for path, found in pages().items():
        if path.startswith("runs/"):
            continue
        assert "img" not in found.tags, path
        assert found.handlers == [], path
        assert "\x1b" not in site()[path].decode(), path
        assert "\u202e" not in site()[path].decode(), path
    assert "&lt;script&gt;alert" in site()["coverage.html"].decode()


def test_nothing_that_a_client_said_ends_a_script():
    for path, data in site().items():
        if path.endswith(".js") and path != "site.js":
            assert b"<" not in data, path


def test_a_client_with_results_has_a_column_with_its_worst_verdict():
    page = site()[requirement_page("LM-REPLY-003")].decode()
    assert '<a class="cell bad" href="../runs/1.html" title="1 fail">F</a>' in page
    assert '<a class="cell good" href="../runs/1.html" title="1 pass">p</a>' in page
    assert '<span class="cell odd">H</span>' in page


def test_the_hostile_text_is_as_hostile_as_it_says():
    assert {"<", ">", '"', "'", "\x1b", "\u202e", "`"} <= set(HOSTILE)


def test_a_pair_of_releases_has_its_reasons_and_the_bytes_side_by_side():
    page = site()["lm/client-0.3.2.html"].decode()
    assert "a request header has 182 bytes and the server reads 186" in page
    assert "<mark>location = 2</mark>" in page or "<mark>location = 0</mark>" in page
    assert 'href="../requirements/LM-REQ-001.html"' in page


def test_an_operation_has_its_captured_bytes():
    page = site()["mp/client-0.5.5.html"].decode()
    assert '<tr id="op-REGISTER_KV_CACHE">' in page
    assert "mp.request.encode.register-kv-cache" in page
    assert "mp-collisions.html#class-moved" in page
