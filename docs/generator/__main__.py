"""``python -m docs.generator`` writes the pages that are made from the program itself; a test holds them against it."""

from __future__ import annotations

from docs.generator.generated import PAGES
from docs.generator.links import ROOT

if __name__ == "__main__":
    for name, page in PAGES.items():
        (ROOT / name).write_text(page(), encoding="utf-8")
        print(name)
