"""The colours of pictures: custom properties of the page, and where it has none values of their own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

ROOT_CLASS: Final = "lmp"
"""The class of the ``svg`` element; every rule is bound to it: a style inside an inline picture holds for the whole page."""

TOKENS: Final[Mapping[str, tuple[str, str]]] = {
    "page": ("#ffffff", "#0d1117"),
    "raised": ("#f6f8fa", "#161b22"),
    "line": ("#d0d7de", "#30363d"),
    "text": ("#1f2328", "#e6edf3"),
    "dim": ("#59636e", "#9198a1"),
    "link": ("#0550ae", "#79c0ff"),
    "good": ("#116329", "#4ac26b"),
    "good-back": ("#dafbe1", "#12261e"),
    "bad": ("#a40e26", "#ff9492"),
    "bad-back": ("#ffebe9", "#341a1d"),
    "odd": ("#6639ba", "#d2a8ff"),
    "odd-back": ("#f3eaff", "#271f38"),
    "warn": ("#7d4e00", "#e3b341"),
    "warn-back": ("#fff8c5", "#2e2508"),
    "none": ("#59636e", "#9198a1"),
    "none-back": ("#eaeef2", "#21262d"),
}
"""Token of the theme: its value in light and in dark, for where no theme is."""

PARTS: Final[Mapping[str, tuple[str, str]]] = {
    "part-a": ("#8a3a00", "#f0a868"),
    "part-b": ("#0550ae", "#79c0ff"),
    "part-c": ("#0f6674", "#56c8d8"),
    "part-d": ("#3d6b00", "#a3d65c"),
    "part-e": ("#a40e6a", "#ff8fd0"),
    "part-f": ("#6639ba", "#d2a8ff"),
    "part-g": ("#8f1d1d", "#ff9492"),
    "part-h": ("#6b5300", "#e3c341"),
}
"""Colours of the parts of keys, which the theme does not have."""

SANS: Final = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif"
MONO: Final = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"


def style() -> str:
    """The style sheet of a picture."""
    root = f".{ROOT_CLASS}"
    tones = [*TOKENS, *PARTS]
    rules = [
        f"{root} {{ {_properties(0)} }}",
        f"@media (prefers-color-scheme: dark) {{ {root} {{ {_properties(1)} }} }}",
        f"{root} text {{ font-family: var(--sans, {SANS}); fill: var(--p-text); }}",
        f"{root} .m {{ font-family: var(--mono, {MONO}); }}",
        f"{root} .b {{ font-weight: 600; }}",
        f"{root} .h {{ paint-order: stroke; stroke: var(--p-page); stroke-width: 3px; stroke-linejoin: round; }}",
        *(f"{root} .f-{tone} {{ fill: var(--p-{tone}); }}" for tone in tones),
        *(f"{root} .s-{tone} {{ stroke: var(--p-{tone}); }}" for tone in tones),
        *(f"{root} text.t-{tone} {{ fill: var(--p-{tone}); }}" for tone in tones),
        f"{root} a {{ text-decoration: none; }}",
        f"{root} a:hover text, {root} a:focus-visible text {{ text-decoration: underline; }}",
        f"{root} a:focus-visible {{ outline: 2px solid var(--p-link); outline-offset: 1px; }}",
        f"@media print {{ {root} * {{ print-color-adjust: exact; -webkit-print-color-adjust: exact; }} }}",
    ]
    return "\n".join(["", *rules, ""])


def _properties(scheme: int) -> str:
    return " ".join(f"--p-{tone}: var(--{tone}, {values[scheme]});" for tone, values in {**TOKENS, **PARTS}.items())
