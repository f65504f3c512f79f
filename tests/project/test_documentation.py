"""Pages lead somewhere, generated pages are what the program says, and the site of them can be built."""

import os
import re
import shutil
import subprocess
import sys

import pytest
from markdown_it import MarkdownIt

from docs.generator.generated import PAGES
from docs.generator.links import ROOT, Link, links, pages, problem

IN_SITE = [page for page in pages() if page.is_relative_to(ROOT / "docs")]
HERE = ROOT / "docs" / "index.md"
REQUESTED = re.compile(r"<(?:script|img|iframe|link(?! rel=\"?canonical))[^>]*?(?:src|href)=[\"']?((?:https?:)?//[^\"' >]+)")


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_the_links_of_a_page_lead_somewhere(page):
    assert [f"{link}: {why}" for link in links(page) if (why := problem(link))] == []


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ("nothing.md", "there is no docs/nothing.md"),
        ("index.md#nothing", "docs/index.md has no heading for #nothing"),
        ("#nothing", "docs/index.md has no heading for #nothing"),
        ("../reports/schemas", "is a folder without a README.md"),
        ("../../elsewhere", "leads out of the repository"),
        ("http://example.org/", "expected an address with https"),
        ("https:page", "expected an address with a host"),
    ],
)
def test_a_link_that_leads_nowhere_is_told(target, why):
    assert why in problem(Link(HERE, 1, target))


def test_links_are_found_with_their_line():
    readme = ROOT / "README.md"
    found = {link.target: link.line for link in links(readme)}
    line = next(number for number, text in enumerate(readme.read_text().split("\n"), 1) if "](ARCHITECTURE.md)" in text)
    assert 0 < found["ARCHITECTURE.md"] <= line


@pytest.mark.parametrize("name", PAGES)
def test_a_generated_page_is_what_the_program_says(name):
    assert (ROOT / name).read_text() == PAGES[name](), "write it anew with: .venv/bin/python -m docs.generator"


def build(tree, site):
    words = [sys.executable, "-m", "mkdocs", "build", "--config-file", str(tree / "mkdocs.yml"), "--site-dir", str(site)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(words, capture_output=True, text=True, timeout=120, check=False, env=environment, cwd=site.parent)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("documentation") / "site"
    built = build(ROOT, folder)
    assert built.returncode == 0, built.stderr
    return folder


def test_the_site_has_every_page_of_the_documentation(site):
    assert [page for page in IN_SITE if not (site / page.relative_to(ROOT / "docs")).with_suffix(".html").is_file()] == []


def test_a_file_outside_of_the_documentation_is_in_the_site_where_a_page_links_to_it(site):
    name = "reports/schemas/results-v1.schema.json"
    assert (site / "repository" / name).read_bytes() == (ROOT / name).read_bytes()
    assert f'href="../repository/{name}"' in (site / "reference" / "results.html").read_text()


@pytest.mark.parametrize("page", IN_SITE, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_has_the_same_parts_in_the_site_as_on_a_forge(site, page):
    """Markdown has dialects: what is a list or a table on a forge may be a paragraph in the site."""
    written = (site / page.relative_to(ROOT / "docs")).with_suffix(".html").read_text()
    article = written[written.index("<article") : written.index("</article>")]
    on_a_forge = MarkdownIt("commonmark").enable("table").render(page.read_text())
    for tag in ("h1", "h2", "h3", "li", "p", "pre", "tr"):
        assert len(re.findall(f"<{tag}[ >]", article)) == len(re.findall(f"<{tag}[ >]", on_a_forge)), tag


def test_a_requirement_has_an_anchor_that_does_not_change_with_its_level_or_range(site):
    page = (site / "spec" / "lm.html").read_text()
    assert '<a id="lm-reply-003"></a><h3 id="lm-reply-003--must--all">' in page
    assert page.count('<a id="lm-') == len(re.findall(r'<h3 id="lm-', page)) > 60


def test_the_site_fetches_nothing_from_elsewhere(site):
    assert [(page.name, found) for page in site.rglob("*.html") for found in REQUESTED.findall(page.read_text())] == []


@pytest.fixture
def tree(tmp_path):
    """A copy of what the site is made from."""
    folder = tmp_path / "tree"
    shutil.copytree(ROOT / "docs", folder / "docs", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy2(ROOT / "mkdocs.yml", folder)
    for path in ROOT.iterdir():
        if not path.name.startswith(".") and not (folder / path.name).exists():
            (folder / path.name).symlink_to(path)
    return folder


def test_the_site_is_not_built_with_a_broken_link_or_anchor(tree, tmp_path):
    with (tree / "docs" / "index.md").open("a") as page:
        page.write("\n[one](nothing.md) [two](reference/faults.md#nothing) [three](../reports/nothing.json)\n")
    built = build(tree, tmp_path / "site")
    assert built.returncode == 1
    for target in ("nothing.md", "reference/faults.md#nothing", "../reports/nothing.json"):
        assert target in built.stderr


def test_a_picture_fetches_nothing_from_elsewhere():
    pictures = sorted((ROOT / "docs").rglob("*.svg"))
    assert pictures
    for picture in pictures:
        assert set(re.findall(r"\w+://[^\"') ]+", picture.read_text())) == {"http://www.w3.org/2000/svg"}
