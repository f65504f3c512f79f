"""Every picture is one file that asks for nothing, says in words what it shows, and escapes what it is given."""

import re
from xml.etree import ElementTree as ET

import pytest

from reports.documents import templates
from reports.pictures.boxes import box
from reports.pictures.colours import TOKENS
from reports.pictures.drawing import Drawing
from reports.pictures.frames import Field, Layout, history
from reports.pictures.gallery import GALLERY, picture
from reports.pictures.headers import draw
from reports.pictures.picture import Picture, Table, as_table, figure
from reports.pictures.sequences import Item
from reports.pictures.strip import Mark, frame_strip
from reports.pictures.widths import shortened, text_width, wrapped
from tests.reports.pictures.conftest import SVG, Drawn, shown

HOSTILE = "\"><script>alert(1)</script><![CDATA[ ]]> &amp; \u202e\x1b[31m\x00 'onload=x"


def test_a_picture_says_in_words_what_it_shows(each):
    title, description = each.root[0], each.root[1]
    assert (title.text, description.text) == (each.picture.title, each.picture.description)
    assert each.root.get("role") == "img"
    assert each.root.get("aria-labelledby").split() == [title.get("id"), description.get("id")]


def test_a_picture_has_its_table(each):
    table = as_table(each.picture)
    assert table.rows
    assert {len(row) for row in table.rows} == {len(table.head)}


def test_a_picture_asks_for_nothing_and_runs_nothing(each):
    svg = each.picture.svg
    assert not {one.tag.rpartition("}")[2] for one in each.root.iter()} & {"script", "image", "use", "foreignObject", "a"}
    assert not re.search(r"\son\w+=|@import|javascript:|@font-face", svg)
    assert re.findall(r"https?://[^\"\s]+", svg) == ["http://www.w3.org/2000/svg"]
    assert {found for found in re.findall(r"url\(([^)]*)\)", svg) if not found.startswith(f"#{each.picture.name}-")} == set()


def test_a_picture_is_as_large_as_its_view(each):
    _, _, width, height = each.root.get("viewBox").split()
    assert (each.root.get("width"), each.root.get("height")) == (width, height)


def test_a_picture_without_its_title_is_the_same_but_for_the_title(each):
    bare = ET.fromstring(each.picture.inline)
    texts = [shown(one) for one in bare.iter(f"{SVG}text")]
    assert [each.picture.title, *texts] == each.texts()
    assert [float(each.root.get("height")) - float(bare.get("height")), float(bare.get("viewBox").split()[1]) - -16] == [28, 28]


def test_text_is_large_enough_for_a_phone(each):
    assert min(float(one.get("font-size")) for one in each.all("text")) >= 11


def test_a_picture_is_the_same_each_time():
    for name in ("lm-headers", "mp-operation-numbers"):
        assert picture(name).svg == picture(name).svg


def test_ids_differ_between_pictures(drawn):
    ids = [one.get("id") for name in GALLERY for one in drawn(name).root.iter() if one.get("id")]
    assert len(set(ids)) == len(ids)


def test_pictures_are_named_after_their_files(drawn):
    assert [drawn(name).picture.name for name in GALLERY] == list(GALLERY)


def test_links_lead_where_the_page_says_and_can_be_reached_by_keyboard():
    asked = []

    def href(kind, name):
        asked.append((kind, name))
        return f"{kind}.html#{name}" if kind == "release" else None

    made = Drawn(picture("lm-headers", href))
    targets = [one.get("href") for one in made.all("a")]
    assert targets[:2] == ["release.html#0.3.1", "release.html#0.3.3"]
    assert ("field", "request.location") in asked
    assert made.root.get("role") == "group"


@pytest.mark.parametrize(
    "target", ["javascript:alert(1)", "data:text/html,x", " javascript:alert(1)", "vbscript:x", "java\nscript:x"]
)
def test_a_link_that_would_run_something_is_refused(target):
    drawing = Drawing("links", "t", "d")
    with pytest.raises(ValueError, match="links to pages"), drawing.link(target):
        pass


def test_hostile_text_is_shown_and_does_nothing():
    field = Field(HOSTILE, HOSTILE, 0, 4)
    layout = Layout((field,))
    made = [
        draw([history("reply", HOSTILE, [((HOSTILE,), layout)])], [(None,)], lambda _, name: f"#{name}"),
        frame_strip(layout, [Mark(0, 1, HOSTILE)], title=HOSTILE, got=b"abcd"),
    ]
    drawing = Drawing("boxes", HOSTILE, HOSTILE)
    box(drawing, Item(HOSTILE, HOSTILE, HOSTILE), 0, 0, "field", 0)
    with drawing.group(about=HOSTILE):
        drawing.text(0, 0, HOSTILE, tip=HOSTILE, data={"more": HOSTILE})
    for svg in [*(one.svg for one in made), drawing.to_svg()]:
        root = ET.fromstring(svg)
        tags = {one.tag.rpartition("}")[2] for one in root.iter()}
        assert "script" not in tags
        assert not any(name.startswith("on") for one in root.iter() for name in one.attrib)
        assert not {"\u202e", "\x1b", "\x00"} & set(svg)
        assert "\\u202e" in svg


def test_a_figure_escapes_all_but_the_picture():
    hostile = Picture("name", HOSTILE, HOSTILE, "<svg></svg>", Table((HOSTILE,), ((HOSTILE,),)))
    html = str(figure(hostile))
    assert "<svg></svg>" in html
    assert "<script>" not in html
    assert html.count("&lt;script&gt;") >= 5
    assert not {"\u202e", "\x1b", "\x00"} & set(html)


def test_a_figure_fits_into_a_page_of_the_theme():
    page = templates("reports.run", html=True).from_string(
        "{% extends 'theme/base.html.j2' %}{% block main %}{{ made }}{% endblock %}"
    )
    html = page.render(made=figure(picture("lm-headers")))
    assert '<svg xmlns="http://www.w3.org/2000/svg" class="lmp"' in html
    assert "The same as a table" in html


def test_colours_without_a_theme_are_those_of_the_theme():
    made = templates("reports.run", html=True)
    css, _, _ = made.loader.get_source(made, "theme/theme.css")
    for scheme, part in enumerate(css.split("@media (prefers-color-scheme: dark)")[:2]):
        theme = dict(re.findall(r"--([\w-]+): (#\w+)", part.partition("}")[0]))
        assert {name: values[scheme] for name, values in TOKENS.items()} == {name: theme[name] for name in TOKENS}


def test_text_that_is_too_small_is_refused():
    with pytest.raises(ValueError, match="cannot be read on a phone"):
        Drawing("small", "t", "d").text(0, 0, "x", size=9)


def test_names_of_pictures_are_names_of_files():
    with pytest.raises(ValueError, match="small letters"):
        Drawing("../x", "t", "d")


def test_widths_of_text_are_counted_by_its_characters():
    assert text_width("aaaa", 10, "mono") == pytest.approx(4 * 6.021)
    assert text_width("i", 10) < text_width("m", 10) < text_width("m", 10, "bold")
    assert text_width("模", 10, "mono") >= 10


def test_text_that_is_too_long_loses_its_middle():
    made = shortened("0123456789" * 4, 100, 12, "mono")
    assert text_width(made, 12, "mono") <= 100
    assert made.startswith("0123")
    assert made.endswith("789")
    assert shortened("short", 100, 12) == "short"


def test_text_is_broken_at_spaces():
    assert wrapped("one two three", text_width("one two", 12), 12) == ["one two", "three"]
    assert wrapped("", 10, 12) == [""]
