"""A sheet to draw on: elements of SVG with computed coordinates, colours by name, and everything escaped."""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, Literal
from urllib.parse import urlsplit
from xml.etree import ElementTree as ET

from reports.escape import escape
from reports.pictures.colours import ROOT_CLASS, style
from reports.pictures.widths import Face, text_width

Anchor = Literal["start", "middle", "end"]
Hatch = Literal["moved", "added", "removed", "resized"]
Href = Callable[[str, str], str | None]
"""Where a thing is told of: its kind (``release``, ``operation``, ``field`` ...) and its name; None for nowhere."""

SMALLEST: Final = 11.0
"""CSS pixels of the smallest text, so that a phone shows it legibly."""
HATCHES: Final[Mapping[Hatch, tuple[str, str]]] = {
    "moved": ("warn", "M0 8 L8 0 M-1 1 L1 -1 M7 9 L9 7"),
    "added": ("good", "M4 0 V8"),
    "removed": ("bad", "M0 0 L8 8 M-1 7 L1 9 M7 -1 L9 1"),
    "resized": ("odd", "M1 2 h1.5 M5 6 h1.5"),
}
"""What happened to a thing: its colour, and a tile of 8 by 8 pixels, which tells the same without colour."""
HEADLINE: Final = 28.0
"""CSS pixels that the headline takes."""
_NAME: Final = re.compile(r"[a-z][a-z0-9-]*")
_SCHEMES: Final = frozenset({"", "http", "https"})


class Drawing:
    """A sheet of ``width`` by ``height`` CSS pixels; what is drawn later lies above."""

    def __init__(self, name: str, title: str, description: str) -> None:
        if not _NAME.fullmatch(name):
            raise ValueError(f"a picture is named by small letters, digits and hyphens, not {name!r}")
        self.name = name
        self.width = 0.0
        self.height = 0.0
        self._root = ET.Element("svg")
        self.title, self.description = title, description
        self._stack = [self._root]
        self._linked = False
        self._headline: ET.Element | None = None

    def grow(self, x: float, y: float) -> None:
        """Make the sheet reach to a point."""
        self.width, self.height = max(self.width, x), max(self.height, y)

    def mark(self) -> int:
        """The place of what is drawn next, for :meth:`below`."""
        return len(self._stack[-1])

    @contextlib.contextmanager
    def below(self, mark: int) -> Iterator[None]:
        """What is drawn inside lies below everything that was drawn since the mark."""
        made = ET.Element("g")
        self._stack[-1].insert(mark, made)
        self._stack.append(made)
        try:
            yield
        finally:
            self._stack.pop()

    @contextlib.contextmanager
    def group(self, **data: object) -> Iterator[None]:
        """What is drawn inside belongs together; ``data`` become ``data-`` attributes."""
        with self._inside("g", _data(data)):
            yield

    @contextlib.contextmanager
    def link(self, target: str | None, label: str = "") -> Iterator[None]:
        """What is drawn inside leads to an address; None leads nowhere.

        Raises:
            ValueError: the address is one that runs something instead of leading somewhere.
        """
        if target is None:
            yield
            return
        if urlsplit(target).scheme not in _SCHEMES:
            raise ValueError(f"a picture links to pages, not to {target!r}")
        self._linked = True
        with self._inside("a", {"href": escape(target), **({"aria-label": escape(label)} if label else {})}):
            yield

    def rect(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        *,
        fill: str | None = None,
        stroke: str | None = None,
        hatch: Hatch | None = None,
        dashed: bool = False,
        corner: float = 0.0,
        tip: str = "",
        data: Mapping[str, object] | None = None,
    ) -> None:
        """A rectangle; ``fill`` and ``stroke`` are tones, a hatch has a tone of its own. ``tip`` is shown under the pointer."""
        size = {"x": _number(x), "y": _number(y), "width": _number(width), "height": _number(height)}
        size |= {"rx": _number(corner)} if corner else {}
        if hatch:
            self._add("rect", {**size, "class": f"f-{HATCHES[hatch][0]}-back"})
            self._add("rect", {**size, "fill": f"url(#{self.name}-{hatch})"})
        classes = _classes(None if hatch else fill, stroke)
        paint = {} if fill and not hatch else {"fill": "none"}
        dashes = {"stroke-dasharray": "4 3"} if dashed else {}
        self._add("rect", {**size, **classes, **paint, **dashes, **_data(data)}, tip)
        self.grow(x + width, y + height)

    def path(
        self, steps: str, *, fill: str | None = None, stroke: str | None = None, opacity: float = 1.0, width: float = 1.0
    ) -> None:
        """A path, in the language of SVG."""
        faint = {"opacity": _number(opacity)} if opacity < 1 else {}
        lines = {"stroke-width": _number(width)} if stroke and width != 1 else {}
        self._add("path", {"d": steps, **_classes(fill, stroke), **({} if fill else {"fill": "none"}), **faint, **lines})

    def polygon(self, points: Sequence[tuple[float, float]], *, fill: str, opacity: float = 1.0) -> None:
        """A filled shape."""
        steps = " L".join(f"{_number(x)} {_number(y)}" for x, y in points)
        self.path(f"M{steps} Z", fill=fill, opacity=opacity)

    def line(
        self, x1: float, y1: float, x2: float, y2: float, *, stroke: str = "line", dashed: bool = False, width: float = 1.0
    ) -> None:
        """A straight line."""
        ends = {"x1": _number(x1), "y1": _number(y1), "x2": _number(x2), "y2": _number(y2)}
        more = ({"stroke-dasharray": "2 3"} if dashed else {}) | ({"stroke-width": _number(width)} if width != 1 else {})
        self._add("line", {**ends, **_classes(None, stroke), **more})

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        size: float = 12.0,
        face: Face = "sans",
        tone: str = "text",
        anchor: Anchor = "start",
        halo: bool = False,
        struck: bool = False,
        turned: float = 0.0,
        tip: str = "",
        data: Mapping[str, object] | None = None,
    ) -> float:
        """A line of text on the baseline ``y``; gives the width that is kept for it.

        Raises:
            ValueError: the size is too small to be read.
        """
        if size < SMALLEST:
            raise ValueError(f"text of {size} pixels cannot be read on a phone; at least {SMALLEST:g}")
        shown = escape(text)
        bold = face == "bold"
        classes = " ".join(filter(None, ["m" if face == "mono" else "", "b" if bold else "", f"t-{tone}", "h" if halo else ""]))
        attributes = {"x": _number(x), "y": _number(y), "font-size": _number(size), "class": classes}
        attributes |= {"text-anchor": anchor} if anchor != "start" else {}
        attributes |= {"text-decoration": "line-through"} if struck else {}
        attributes |= {"transform": f"rotate({_number(turned)} {_number(x)} {_number(y)})"} if turned else {}
        self._add("text", {**attributes, **_data(data)}, tip, shown)
        width = text_width(shown, size, face)
        if not turned:
            self.grow(x + {"start": width, "middle": width / 2, "end": 0.0}[anchor], y + size * 0.3)
        return width

    def headline(self) -> None:
        """The title at the top of the sheet, which a page that has it as a heading leaves out."""
        self.text(0, 22, self.title, size=20, face="bold")
        self._headline = self._root[-1]

    def to_svg(self, margin: float = 16.0, *, titled: bool = True) -> str:
        """The picture as text, with a margin around it; if not ``titled``, without the headline and the room for it."""
        cut = 0.0 if titled or self._headline is None else HEADLINE
        left, top = _number(-margin), _number(cut - margin)
        width, height = _number(math.ceil(self.width + 2 * margin)), _number(math.ceil(self.height + 2 * margin - cut))
        names = f"{self.name}-title {self.name}-desc"
        root = self._root
        root.attrib = {
            "xmlns": "http://www.w3.org/2000/svg",
            "class": ROOT_CLASS,
            "width": width,
            "height": height,
            "viewBox": f"{left} {top} {width} {height}",
            # what is in an image cannot be reached by keyboard, and links must be
            "role": "group" if self._linked else "img",
            "aria-labelledby": names,
        }
        head = [
            ET.Element("title", {"id": f"{self.name}-title"}),
            ET.Element("desc", {"id": f"{self.name}-desc"}),
        ]
        head[0].text, head[1].text = escape(self.title), escape(self.description)
        sheet = ET.Element("style")
        sheet.text = style()
        back = ET.Element("rect", {"x": left, "y": top, "width": width, "height": height, "class": "f-page"})
        made = ET.Element("svg", root.attrib)
        made.extend([*head, sheet, self._hatches(), back, *(one for one in root if titled or one is not self._headline)])
        return ET.tostring(made, encoding="unicode") + "\n"

    def _hatches(self) -> ET.Element:
        made = ET.Element("defs")
        for hatch, (tone, tile) in HATCHES.items():
            size = {"width": "8", "height": "8", "patternUnits": "userSpaceOnUse"}
            pattern = ET.SubElement(made, "pattern", {"id": f"{self.name}-{hatch}", **size})
            ET.SubElement(
                pattern, "path", {"d": tile, "class": f"s-{tone}", "fill": "none", "stroke-width": "1.25", "opacity": "0.35"}
            )
        return made

    @contextlib.contextmanager
    def _inside(self, tag: str, attributes: Mapping[str, str]) -> Iterator[None]:
        self._stack.append(ET.SubElement(self._stack[-1], tag, dict(attributes)))
        try:
            yield
        finally:
            self._stack.pop()

    def _add(self, tag: str, attributes: Mapping[str, str], tip: str = "", text: str = "") -> None:
        made = ET.SubElement(self._stack[-1], tag, dict(attributes))
        if tip:
            told = ET.SubElement(made, "title")
            told.text = escape(tip)
            told.tail = text or None
        elif text:
            made.text = text


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if value % 1 else f"{value:.0f}"


def _classes(fill: str | None, stroke: str | None) -> dict[str, str]:
    found = " ".join([f"f-{fill}"] * bool(fill) + [f"s-{stroke}"] * bool(stroke))
    return {"class": found} if found else {}


def _data(data: Mapping[str, object] | None) -> dict[str, str]:
    return {
        f"data-{name.replace('_', '-')}": _number(value) if isinstance(value, int | float) else escape(str(value))
        for name, value in (data or {}).items()
    }
