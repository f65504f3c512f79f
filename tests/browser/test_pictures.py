"""All pictures in a real browser: nothing overlaps, nothing is cut off, everything can be read, in light and in dark.

They are taken from ``docs/pictures``, which a test of the documentation holds against the program; making them takes seconds.
"""

import json

import pytest

from docs.generator.links import ROOT
from reports.documents import templates
from reports.pictures.gallery import GALLERY
from reports.pictures.messages import operation_picture
from reports.pictures.picture import Picture, Table, figure
from reports.pictures.sequences import Item, Order, Story
from reports.pictures.strip import frame_strip, layout_of
from reports.pictures.widths import text_width
from tests.browser.conftest import NARROW, WIDE
from wire.release import Release

PAGE = """{% extends 'theme/base.html.j2' %}
{% block main %}<h1>Pictures</h1>{% for one in figures %}{{ one }}{% endfor %}{% endblock %}"""
CONTRAST = 4.5
TOLERANCE = 1.5
"""CSS pixels by which letters may stand out of what is computed for them."""

MEASURE = """(least) => {
  const rgb = text => (text.match(/[\\d.]+/g) || []).map(Number);
  const light = colour => {
    const [r, g, b] = rgb(colour).map(c => c / 255).map(c => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (one, other) => {
    const [low, high] = [light(one), light(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
  const inked = box => ({
    left: box.left + 0.5, right: box.right - 0.5, top: box.top + box.height * 0.2, bottom: box.bottom - box.height * 0.18,
  });
  const leaves = (a, b, by) => a.left < b.left - by || a.right > b.right + by || a.top < b.top - by || a.bottom > b.bottom + by;
  const meet = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
  return [...document.querySelectorAll("svg.lmp")].map(svg => {
    const view = svg.getBoundingClientRect();
    const found = {name: svg.getAttribute("aria-labelledby"), overlaps: [], outside: [], pale: [], widths: [], texts: 0};
    const grounds = [];
    const texts = [];
    for (const one of svg.querySelectorAll("rect, text")) {
      const box = one.getBoundingClientRect();
      const style = getComputedStyle(one);
      if (one.tagName === "rect") {
        if (style.fill.startsWith("rgb") && !one.closest("defs")) grounds.push({box, fill: style.fill});
        if (leaves(box, view, 1))
          found.outside.push("rect " + one.dataset.box);
        continue;
      }
      const words = [...one.childNodes].filter(node => node.nodeType === 3).map(node => node.data).join("");
      const ink = one.hasAttribute("transform")
        ? {left: box.left + 2, right: box.right - 2, top: box.top, bottom: box.bottom} : inked(box);
      if (leaves(ink, view, 0)) found.outside.push(words);
      const x = (box.left + box.right) / 2, y = (box.top + box.bottom) / 2;
      const ground = grounds.filter(({box: g}) => g.left <= x && x <= g.right && g.top <= y && y <= g.bottom).pop();
      const ratio = contrast(style.fill, ground.fill);
      if (ratio < least) found.pale.push(words + " " + ratio.toFixed(2) + " " + style.fill + " on " + ground.fill);
      texts.push({words, ink});
      const size = parseFloat(one.getAttribute("font-size"));
      found.widths.push([words, one.getComputedTextLength(), size, one.getAttribute("class")]);
    }
    texts.sort((a, b) => a.ink.left - b.ink.left);
    texts.forEach((one, index) => {
      for (let other = index + 1; other < texts.length && texts[other].ink.left < one.ink.right; other++)
        if (meet(one.ink, texts[other].ink)) found.overlaps.push(one.words + " / " + texts[other].words);
    });
    found.texts = texts.length;
    return found;
  });
}"""


STRIP = frame_strip(
    layout_of("request", Release.parse("0.5.6")),
    got=bytes(range(180)),
    expected=bytes(186),
    title="A frame that is wrong",
    per_row=16,
)


def written(figures):
    """A page of the theme with figures."""
    return templates("reports.run", html=True).from_string(PAGE).render(figures=figures)


def stored(name):
    """A picture as it is in the tree, without its table."""
    svg = (ROOT / "docs" / "pictures" / f"{name}.svg").read_text(encoding="utf-8")
    return Picture(name, name, name, svg, Table(("release",), (("0.5.6",),)))


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """One page with every picture, and with a strip that marks bytes."""
    path = tmp_path_factory.mktemp("pictures") / "pictures.html"
    path.write_text(written([*(figure(stored(name)) for name in GALLERY), figure(STRIP)]), encoding="utf-8")
    return path


def face_of(classes):
    return "mono" if "m" in classes.split() else "bold" if "b" in classes.split() else "sans"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pictures_can_be_read(visit, page, scheme):
    watched = visit(page, size=WIDE, scheme=scheme)
    measured = watched.page.evaluate(MEASURE, CONTRAST)
    assert len(measured) == len(GALLERY) + 1
    for one in measured:
        assert one["texts"] > 10, one["name"]
        assert (one["overlaps"], one["outside"], one["pale"]) == ([], [], []), one["name"]
        wider = [
            (words, round(width, 1))
            for words, width, size, classes in one["widths"]
            if width > text_width(words, size, face_of(classes)) + TOLERANCE
        ]
        assert wider == [], one["name"]
    assert (watched.complaints, watched.requests) == ([], [page.as_uri()])


def test_pictures_on_a_phone_scroll_in_themselves(visit, page):
    watched = visit(page, size=NARROW)
    assert watched.overflow() <= 0
    inner = watched.page.evaluate(
        "[...document.querySelectorAll('.wide:has(> svg)')]"
        ".map(one => [one.scrollWidth > one.clientWidth, one.querySelector('svg').clientWidth])"
    )
    assert len(inner) == len(GALLERY) + 1
    assert all(scrolls for scrolls, width in inner if width > NARROW["width"])


def test_a_picture_in_a_page_can_be_used_by_everybody(visit, tmp_path):
    """One with links and one without, both small: the rules look at each element, and cost a minute for all pictures."""
    story = Story(
        "STORE", (Order(("0.4.7", "0.5.0"), (Item("", "int"),)), Order(("0.5.6",), (Item("", "str"),), result=Item("", "bool")))
    )
    linked = operation_picture([story], "STORE", lambda kind, name: f"#{kind}-{name}")
    path = tmp_path / "page.html"
    plain = frame_strip(layout_of("reply", Release.parse("0.5.6")), got=bytes(36), expected=bytes(35) + b"1")
    path.write_text(written([figure(linked), figure(plain)]), encoding="utf-8")
    assert visit(path, size=WIDE).violations() == []


@pytest.mark.parametrize(("scheme", "page_colour"), [("light", [255, 255, 255]), ("dark", [13, 17, 23])])
def test_a_picture_of_its_own_has_colours_for_light_and_dark(visit, tmp_path, scheme, page_colour):
    path = tmp_path / "picture.svg"
    path.write_text(stored("lm-headers").svg, encoding="utf-8")
    watched = visit(path, scheme=scheme)
    fill = watched.page.evaluate("getComputedStyle(document.querySelector('svg > rect')).fill")
    assert json.loads(fill.replace("rgb(", "[").replace(")", "]")) == page_colour
    assert watched.requests == [path.as_uri()]
