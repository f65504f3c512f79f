"""Pages of Markdown as HTML: no HTML passes through, headings have the anchors that forges make, and names become links."""

from __future__ import annotations

import html
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote, urlsplit

from markdown_it import MarkdownIt
from markdown_it.token import Token

from reports.site.links import CASE, LABEL, REQUIREMENT, Places, relative
from reports.site.model import Document

_NOT_IN_SLUGS: Final = re.compile(r"[^\w\- ]")
_HEADING_LABEL: Final = re.compile(r"([A-Z]{1,2}\d{1,2}): ")
_ITEM_LABEL: Final = re.compile(r"([A-Z]{1,2}\d{1,2})\. ")
_WORDS: Final = re.compile(f"{REQUIREMENT.pattern}|{CASE.pattern}")
_READER: Final = MarkdownIt("commonmark", {"html": False}).enable("table")


def slug(heading: str) -> str:
    """The anchor of a heading, as forges make it: ``Exit codes`` is ``exit-codes``."""
    return _NOT_IN_SLUGS.sub("", heading.strip().lower()).replace(" ", "-")


@dataclass(frozen=True)
class Section:
    """A heading, and the text below it up to the next one."""

    level: int
    title: str
    anchor: str
    text: str
    """In plain words; of the section alone."""


@dataclass(frozen=True)
class Sources:
    """Which files of the source tree are pages of the site."""

    pages: Mapping[str, str]
    """``docs/spec/lm.md`` to ``spec/lm.html``."""
    places: Places


def rendered(document: Document, page: str, sources: Sources) -> str:
    """The HTML of a document on a page of the site, without its first heading, which is the title of the page."""
    tokens = _READER.parse(document.text)
    if len(tokens) > 2 and tokens[0].type == "heading_open" and tokens[0].tag == "h1":
        tokens = tokens[3:]
    _without_gaps(tokens)
    anchors: set[str] = set()
    for index, token in enumerate(tokens):
        if token.type == "heading_open":
            inline = tokens[index + 1]
            text = _plain(inline)
            token.attrSet("id", _unique(slug(text), anchors))
            label = _label_of_heading(text, sources)
            if label is not None:
                inline.children = [_raw(f'<a id="{label}"></a>'), *(inline.children or [])]
        elif token.type == "inline":
            token.children = list(_linked(token.children or [], document, page, sources))
        elif token.type in {"th_open", "td_open"} and "style" in token.attrs:
            token.attrSet("class", str(token.attrs.pop("style")).replace("text-align:", "to-"))
    text = str(_READER.renderer.render(tokens, _READER.options, {}))
    return (
        text.replace("<table>", '<div class="wide" tabindex="0"><table>')
        .replace("</table>", "</table></div>")
        .replace("<pre>", '<pre tabindex="0">')
        .replace("<th></th>", "<td></td>")
    )


def _without_gaps(tokens: Sequence[Token]) -> None:
    """Let each heading be one level below that before it at most: by their levels some people find their way."""
    before = 1
    for token, end in zip(tokens, tokens[2:], strict=False):
        if token.type == "heading_open":
            before = min(int(token.tag[1]), before + 1)
            token.tag = end.tag = f"h{before}"


def sections(document: Document) -> Iterator[Section]:
    """The document cut at its headings."""
    tokens = _READER.parse(document.text)
    anchors: set[str] = set()
    heading: tuple[int, str, str] = (1, document.title, "")
    words: list[str] = []
    index = 0
    first = True
    while index < len(tokens):
        token = tokens[index]
        if token.type == "heading_open":
            if words or not first:
                yield Section(*heading, " ".join(words))
            words = []
            text = _plain(tokens[index + 1])
            heading = (int(token.tag[1]), text, "" if first and token.tag == "h1" else _unique(slug(text), anchors))
            first = False
            index += 2
        elif token.type == "inline":
            words.append(_plain(token))
        elif token.type in {"fence", "code_block"}:
            words.append(token.content)
        index += 1
    yield Section(*heading, " ".join(words))


def labels(document: Document) -> Iterator[str]:
    """The numbers of findings that a document gives: F1 for ``## F1: ...``, or for a paragraph beginning ``**F1. ...**``."""
    tokens = _READER.parse(document.text)
    for index, token in enumerate(tokens):
        if token.type == "heading_open":
            found = _HEADING_LABEL.match(_plain(tokens[index + 1]))
            if found:
                yield found[1]
        elif token.type == "inline":
            yield from (label for _, label in _item_labels(token.children or []))


def inline(text: str, page: str, places: Places) -> str:
    """One line of Markdown as HTML, with links to what it names."""
    tokens = _READER.parseInline(text)
    for token in tokens:
        children = [child for child in token.children or [] if child.type not in {"link_open", "link_close", "image"}]
        token.children = list(_words(children, page, places))
    return str(_READER.renderer.render(tokens, _READER.options, {}))


def linked_words(text: str, page: str, places: Places) -> str:
    """Plain text as HTML, in which requirements, cases and findings are links."""
    pattern = re.compile(f"{_WORDS.pattern}|{LABEL.pattern}")
    return "".join(_anchor(word, place, page) if place else html.escape(word) for word, place in _split(text, pattern, places))


def _linked(children: list[Token], document: Document, page: str, sources: Sources) -> Iterator[Token]:
    """The parts of a line, links rewritten and names linked."""
    marked = dict(_item_labels(children))
    inside: list[bool] = []
    for child, token in enumerate(children):
        if token.type == "link_open":
            place = _target(str(token.attrGet("href") or ""), document, page, sources)
            inside.append(place is not None)
            if place is None:
                yield _raw(f'<span class="elsewhere" title="{html.escape(_source(token, document))}">')
            else:
                token.attrSet("href", place)
                yield token
        elif token.type == "link_close":
            yield token if inside.pop() else _raw("</span>")
        elif token.type == "image":
            yield _raw(html.escape(token.content))
        elif inside:
            yield token
        elif token.type == "strong_open" and child in marked:
            token.attrSet("id", marked[child].lower())
            yield token
        else:
            yield from _words([token], page, sources.places)


def _words(children: list[Token], page: str, places: Places) -> Iterator[Token]:
    for token in children:
        if token.type not in {"text", "code_inline"}:
            yield token
            continue
        for word, place in _split(token.content, _WORDS, places):
            shown = html.escape(word)
            shown = f"<code>{shown}</code>" if token.type == "code_inline" else shown
            yield _raw(f'<a href="{html.escape(relative(place, page))}">{shown}</a>' if place else shown)


def _split(text: str, pattern: re.Pattern[str], places: Places) -> Iterator[tuple[str, str | None]]:
    """Stretches of text, those that name something with its place."""
    end = 0
    for found in pattern.finditer(text):
        place = places.of(found[0])
        if place is not None:
            if found.start() > end:
                yield text[end : found.start()], None
            yield found[0], place
            end = found.end()
    if end < len(text):
        yield text[end:], None


def _anchor(word: str, place: str, page: str) -> str:
    return f'<a href="{html.escape(relative(place, page))}">{html.escape(word)}</a>'


def _target(href: str, document: Document, page: str, sources: Sources) -> str | None:
    """Where a link of a document leads in the site; None where the site has nothing of it."""
    parts = urlsplit(href)
    if parts.scheme or parts.netloc:
        return href if parts.scheme in {"https", "http"} else None
    if not parts.path:
        return href
    path = posixpath.normpath(posixpath.join(posixpath.dirname(document.source), unquote(parts.path)))
    place = sources.pages.get(path)
    if place is None:
        return None
    fragment = unquote(parts.fragment)
    return relative(f"{place}#{fragment}" if fragment else place, page)


def _source(token: Token, document: Document) -> str:
    href = unquote(str(token.attrGet("href") or ""))
    if urlsplit(href).scheme:
        return href
    return posixpath.normpath(posixpath.join(posixpath.dirname(document.source), urlsplit(href).path))


def _label_of_heading(text: str, sources: Sources) -> str | None:
    """The short anchor of a heading that begins with the number of a finding or is one of a requirement."""
    found = _HEADING_LABEL.match(text)
    if found:
        return found[1].lower()
    word = text.partition(" ")[0]
    return word if word in sources.places.requirements else None


def _item_labels(children: list[Token]) -> Iterator[tuple[int, str]]:
    """Where a bold stretch begins with the number of a finding."""
    for index, token in enumerate(children[:-1]):
        found = _ITEM_LABEL.match(f"{children[index + 1].content} ")
        if token.type == "strong_open" and found:
            yield index, found[1]


def _plain(inline_token: Token) -> str:
    return "".join(
        " " if token.type in {"softbreak", "hardbreak"} else token.content
        for token in inline_token.children or ()
        if token.type in {"text", "code_inline", "softbreak", "hardbreak"}
    )


def _unique(anchor: str, taken: set[str]) -> str:
    found, number = anchor or "section", 0
    while found in taken:
        number += 1
        found = f"{anchor}-{number}"
    taken.add(found)
    return found


def _raw(text: str) -> Token:
    return Token("html_inline", "", 0, content=text)


def title_of(text: str, otherwise: str) -> str:
    """The heading that a page of Markdown begins with."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    tokens = _READER.parse(first)
    return _plain(tokens[1]) if tokens and tokens[0].type == "heading_open" else otherwise
