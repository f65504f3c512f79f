"""Links between the Markdown pages of this repository: where they lead, and whether something is there.

Pages are read on a forge as well as in the site, so a link names a file of the repository as seen from the page, and an anchor
is what GitHub and GitLab make of a heading. Other hosts are not asked: their addresses are looked at by form alone.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT: Final = Path(__file__).resolve().parents[2]
_NOT_OURS: Final = frozenset({"build", "dist", "node_modules", "site", "target"})
_SCHEMES: Final = frozenset({"https", "mailto"})
_READER: Final = MarkdownIt("commonmark").enable("table")
_NOT_IN_SLUGS: Final = re.compile(r"[^\w\- ]")


@dataclass(frozen=True)
class Link:
    """A link or picture of a page."""

    page: Path
    line: int
    target: str

    def __str__(self) -> str:
        """``README.md:12: docs/x.md``."""
        return f"{self.page.relative_to(ROOT)}:{self.line}: {self.target}"


def pages(root: Path = ROOT) -> list[Path]:
    """Every Markdown page of the source tree."""
    tops = [path for path in root.iterdir() if not path.name.startswith(".") and path.name not in _NOT_OURS]
    found = [path for top in tops if top.is_dir() for path in top.rglob("*.md")]
    found += [path for path in tops if path.suffix == ".md"]
    return sorted(path for path in found if not _NOT_OURS & set(path.relative_to(root).parts))


def links(page: Path) -> Iterator[Link]:
    """The links and pictures of a page, in their order."""
    for block in _READER.parse(page.read_text(encoding="utf-8")):
        for token in block.children or ():
            target = token.attrGet("href") or token.attrGet("src")
            if target is not None:
                yield Link(page, block.map[0] + 1 if block.map else 0, unquote(str(target)))


@functools.lru_cache
def anchors(page: Path) -> frozenset[str]:
    """What a link to a heading of the page may name."""
    blocks = _READER.parse(page.read_text(encoding="utf-8"))
    headings = [blocks[index + 1] for index, block in enumerate(blocks) if block.type == "heading_open"]
    return frozenset(slug(_text(heading)) for heading in headings)


def slug(heading: str) -> str:
    """The anchor of a heading, as forges make it: ``Exit codes`` is ``exit-codes``."""
    return _NOT_IN_SLUGS.sub("", heading.strip().lower()).replace(" ", "-")


def problem(link: Link) -> str | None:
    """What is wrong with a link, or None."""
    parts = urlsplit(link.target)
    if parts.scheme or parts.netloc:
        if parts.scheme not in _SCHEMES:
            return f"expected an address with {' or '.join(sorted(_SCHEMES))}"
        return None if parts.netloc or parts.scheme == "mailto" else "expected an address with a host"
    target = (link.page.parent / parts.path).resolve() if parts.path else link.page
    if not target.is_relative_to(ROOT):
        return "leads out of the repository"
    if not target.exists():
        return f"there is no {target.relative_to(ROOT)}"
    if target.is_dir() and not (target / "README.md").is_file():
        return f"{target.relative_to(ROOT)} is a folder without a README.md; name a file in it"
    if parts.fragment and target.suffix == ".md" and parts.fragment not in anchors(target):
        return f"{target.relative_to(ROOT)} has no heading for #{parts.fragment}"
    return None


def _text(heading: Token) -> str:
    return "".join(token.content for token in heading.children or () if token.type in {"text", "code_inline"})
