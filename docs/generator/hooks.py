"""Hooks of mkdocs: pages find files of the repository that lie outside of ``docs``, and new pages find their place.

A page links to a schema, an example or ARCHITECTURE.md by its path in the repository, which is right on a forge. For the site
such files are copied to ``repository/``, Markdown among them as pages, and the links are written anew.
"""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath
from typing import Any, Final
from urllib.parse import urlsplit

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT: Final = Path(__file__).resolve().parents[2]
DOCS: Final = ROOT / "docs"
OUTSIDE: Final = "repository"
"""Folder of the site for files that lie outside of ``docs``."""

_REQUIREMENT: Final = re.compile(r'<h3 id="([a-z]+(?:-[a-z]+)?-\d{3})--')
"""The heading of a requirement; its anchor has the level and the releases in it, and changes with them."""
_LINK: Final = re.compile(r"(?<=\]\()([^)\s]+)(?=\))")
_FENCE: Final = re.compile(r"^ *(```|~~~)")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Replace ``FOLDER/*`` in the navigation by the pages of this folder that the navigation does not name."""
    named = set(_named(config.nav))
    config.nav = [_expanded(entry, named) for entry in config.nav or []]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the files outside of ``docs`` that pages link to, and those that these link to."""
    waiting = [DOCS / file.src_uri for file in files.documentation_pages()]
    while waiting:
        page = waiting.pop()
        for target in _targets(page):
            place = _place(target)
            if not target.is_relative_to(DOCS) and files.get_file_from_path(place) is None:
                files.append(File.generated(config, place, abs_src_path=str(target)))
                if target.suffix == ".md":
                    waiting.append(target)
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Let links to files of the repository lead to their places in the site."""
    del config, files
    source = Path(page.file.abs_src_path or "")

    def written(found: re.Match[str]) -> str:
        target = _target(source, found[1])
        if target is None:
            return found[1]
        path = os.path.relpath(_place(target), PurePosixPath(page.file.src_uri).parent)
        fragment = urlsplit(found[1]).fragment
        return f"{path}#{fragment}" if fragment else path

    lines = []
    fenced = False
    for line in markdown.split("\n"):
        fenced ^= bool(_FENCE.match(line))
        lines.append(line if fenced else _LINK.sub(written, line))
    return "\n".join(lines)


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Give every requirement an anchor that stays the same: its id."""
    del page, config, files
    return _REQUIREMENT.sub(r'<a id="\1"></a>\g<0>', html)


def _targets(page: Path) -> list[Path]:
    found = (_target(page, link) for link in _LINK.findall(page.read_text(encoding="utf-8")))
    return [target for target in found if target is not None]


def _target(page: Path, link: str) -> Path | None:
    """The file of the repository that a link of a page means: of a folder its README.md."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc or not parts.path:
        return None
    target = Path(os.path.normpath(page.parent / parts.path))
    target = target / "README.md" if target.is_dir() else target
    return target if target.is_file() and target.is_relative_to(ROOT) else None


def _place(target: Path) -> str:
    """Where a file of the repository is in the site."""
    if target.is_relative_to(DOCS):
        return target.relative_to(DOCS).as_posix()
    return f"{OUTSIDE}/{target.relative_to(ROOT).as_posix()}"


def _named(entry: Any) -> list[str]:
    if isinstance(entry, str):
        return [entry]
    return [name for part in (entry.values() if isinstance(entry, dict) else entry or ()) for name in _named(part)]


def _expanded(entry: Any, named: set[str]) -> Any:
    if isinstance(entry, dict):
        return {title: _expanded(part, named) for title, part in entry.items()}
    if not isinstance(entry, list):
        return entry
    expanded: list[Any] = []
    for part in entry:
        if isinstance(part, str) and part.endswith("/*"):
            found = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.glob(f"{part}.md"))
            expanded += [name for name in found if name not in named]
        else:
            expanded.append(_expanded(part, named))
    return expanded
