"""A picture: the SVG, and the same in words and in a table for those who do not see it."""

from __future__ import annotations

from dataclasses import dataclass

from jinja2 import Environment
from markupsafe import Markup

from reports.escape import escape
from reports.pictures.drawing import Drawing

_FIGURE = """\
<figure class="picture" id="{{ name }}">
<div class="wide" tabindex="0" role="region" aria-label="{{ title }}">
{{ svg }}
</div>
<figcaption>{{ description }}</figcaption>
<details><summary>The same as a table</summary>
<div class="wide" tabindex="0" role="region" aria-label="{{ title }}: table">
<table>
<thead><tr>{% for word in table.head %}<th scope="col">{{ word }}</th>{% endfor %}</tr></thead>
<tbody>
{% for row in table.rows %}
<tr>
<th scope="row">{{ row[0] }}</th>{% for word in row[1:] %}<td>{{ word }}</td>{% endfor %}

</tr>
{% endfor %}
</tbody>
</table>
</div>
</details>
</figure>
"""
_TEMPLATES = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True)


@dataclass(frozen=True)
class Table:
    """What a picture shows, in rows under headings; plain text, not yet escaped for any format."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Picture:
    """One picture."""

    name: str
    """The name of its file without ending, and what its ids begin with."""
    title: str
    description: str
    """A sentence or two: what is seen, and how to read it."""
    svg: str
    """The picture as a file of its own; it can stand in a page, too."""
    table: Table
    inline: str = ""
    """The picture without its title, for pages that have the title as a heading."""


def drawn(drawing: Drawing, table: Table) -> Picture:
    """The picture on a sheet."""
    inline = drawing.to_svg(titled=False)
    return Picture(drawing.name, drawing.title, drawing.description, drawing.to_svg(), table, inline)


def as_table(picture: Picture) -> Table:
    """What the picture shows, for those who do not see it; pages show it beneath."""
    return picture.table


def figure(picture: Picture, *, titled: bool = True) -> Markup:
    """The picture for a page of HTML that has the theme: it scrolls in itself, and its table can be opened beneath it.

    A page with a heading of the same words leaves the title out (``titled``). It holds a picture once, since the ids in it begin
    with its name.
    """
    table = Table(_shown(picture.table.head), tuple(map(_shown, picture.table.rows)))
    title, description = _shown((picture.title, picture.description))
    drawing = Markup(picture.svg if titled else picture.inline)  # noqa: S704  # it has escaped everything that came from outside
    made = _TEMPLATES.from_string(_FIGURE).render(
        name=picture.name, title=title, description=description, table=table, svg=drawing
    )
    return Markup(made)  # noqa: S704  # by a template that escapes


def _shown(words: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(map(escape, words))
