"""The dissector of Wireshark for the ``lm://`` wire: code written by hand, with the tables of ``wire`` in front."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from docs.generator.machine.generations import Generation, conversation_generations
from docs.generator.machine.kaitai import FOLDER
from reports.documents import templates
from wire.lm.enums import BINARY_FORMATS, CODES, COMMANDS, DTYPE_ALIASES, DTYPES, FORMATS, ITEM_SIZES, LOCATIONS
from wire.lm.profile import KEY_FIELD_SIZE
from wire.release import KNOWN_RELEASES

LM: Final = f"{FOLDER}/lmcache_lm.lua"
_HASHES: Final = {"text": "text", "decimal": "decimal", "decimal-read-as-hex": "hex", "hex": "hex"}
"""How servers read the hash of a key; the second of these writes it in decimal all the same."""


def lm_dissector() -> str:
    """The whole file."""
    tables: dict[str, dict[str, str]] = {}
    for generation in conversation_generations():
        _table_of(generation, tables)
    environment = templates("docs.generator.machine", html=False)
    environment.globals["numbers"] = _numbers
    return environment.get_template("lmcache_lm.lua.j2").render(
        first=KNOWN_RELEASES[0],
        last=KNOWN_RELEASES[-1],
        commands=COMMANDS,
        codes=CODES,
        formats=FORMATS,
        dtypes={**DTYPES, **{f"half (read as {name})": number for number, name in DTYPE_ALIASES.items()}},
        locations=LOCATIONS,
        commands_by_name=COMMANDS,
        codes_by_name=CODES,
        item_sizes=dict(sorted([*((DTYPES[name], size) for name, size in ITEM_SIZES.items()), *_alias_sizes()])),
        binary_formats=sorted(FORMATS[name] for name in BINARY_FORMATS),
        key_size=KEY_FIELD_SIZE,
        dtype_tables=tables,
        generations=conversation_generations(),
        hash_of=lambda generation: _HASHES[generation.keys.hash_style],
        dtypes_of=lambda generation: _table_of(generation, tables),
    )


def _alias_sizes() -> list[tuple[int, int]]:
    return [(number, ITEM_SIZES[name]) for number, name in DTYPE_ALIASES.items()]


def _table_of(generation: Generation, tables: dict[str, dict[str, str]]) -> str:
    """The name of the table with the dtype names of a generation, made if it is a new one; ``nil`` where keys have none."""
    if not generation.dtype_names:
        return "nil"
    for name, table in tables.items():
        if table == generation.dtype_names:
            return f"DTYPE_NAMES.{name}"
    name = f"since_{generation.slug}"
    tables[name] = generation.dtype_names
    return f"DTYPE_NAMES.{name}"


def _numbers(names: Mapping[str | None, int]) -> str:
    """A table of Lua from number to name."""
    return "{ " + ", ".join(f'[{number}] = "{name or "none"}"' for name, number in sorted(names.items(), key=_number)) + " }"


def _number(item: tuple[str | None, int]) -> int:
    return item[1]
