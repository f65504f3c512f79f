"""Kaitai Struct descriptions of the ``lm://`` wire, one for each generation."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from docs.generator.machine.generations import Generation, generations
from harness.requirements import load_requirements
from reports.documents import templates
from wire.lm.enums import CODES, COMMANDS, DTYPE_ALIASES, DTYPES, FORMATS, LOCATIONS
from wire.lm.profile import KEY_FIELD_SIZE
from wire.lm.shapes import RANK

FOLDER: Final = "docs/spec/machine"
_WORD_BEGINS: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")
_HASHES: Final = {
    "text": "Text that is not read as a number.",
    "decimal": "A decimal number, signed, of any width.",
    "decimal-read-as-hex": "A decimal number where it was written, which servers read as a hexadecimal one.",
    "hex": "A hexadecimal number, signed, of any width.",
}


@dataclass(frozen=True)
class Entry:
    """A number of an enumeration: its name here, in the tables, and what else there is to say."""

    number: int
    name: str
    original: str | None
    doc: str = ""


@dataclass(frozen=True)
class Field:
    """An int32 of a header, or four of them: the shape."""

    name: str
    enum: str | None
    valid: bool
    repeat: int
    doc: str
    refs: Sequence[str]


def name_of_file(generation: Generation) -> str:
    """The file that describes a generation."""
    return f"lmcache_lm_{generation.slug}.ksy"


def pages() -> Mapping[str, functools.partial[str]]:
    """Each description by its path in the repository."""
    return {f"{FOLDER}/{name_of_file(one)}": functools.partial(page, one) for one in generations()}


def page(generation: Generation) -> str:
    """The description of a generation."""
    return (
        templates("docs.generator.machine", html=False)
        .get_template("lm.ksy.j2")
        .render(
            generation=generation,
            name=name_of_file(generation).removesuffix(".ksy"),
            profile=generation.profile,
            keys=generation.keys,
            refs=functools.partial(applicable, generation),
            request=list(_fields(generation, generation.profile.header.request)),
            reply=list(_fields(generation, generation.profile.header.reply)),
            metadata=list(_fields(generation, ("length", "format"))),
            group=list(_fields(generation, ("dtype", *(f"shape{index}" for index in range(RANK))))),
            enums=_enums(generation),
            codes=sorted(CODES.values()),
            dtypes=generation.dtype_names,
            hash_doc=_HASHES[generation.keys.hash_style],
            key_size=KEY_FIELD_SIZE,
            has_groups=generation.profile.metadata_groups,
        )
    )


def applicable(generation: Generation, *requirements: str) -> list[str]:
    """Of requirements those that hold for the generation, as references to their pages.

    Raises:
        KeyError: there is no such requirement.
    """
    found = [load_requirements()[name] for name in requirements]
    return [f"{one.id} in docs/spec/{one.document}" for one in found if generation.releases.first in one.releases]


def identifier(name: str | None) -> str:
    """A name as Kaitai Struct wants it: ``LocalCPUBackend`` is ``local_cpu_backend``, None is ``none``."""
    return _WORD_BEGINS.sub("_", name or "none").replace("CPUB", "CPU_B").lower()


def _enums(generation: Generation) -> dict[str, list[Entry]]:
    enums = {
        "command": [Entry(number, identifier(name), name) for name, number in COMMANDS.items()],
        "code": [Entry(number, identifier(name), name) for name, number in CODES.items()],
        "format": [
            Entry(number, identifier(name), name)
            for name, number in FORMATS.items()
            if number <= generation.profile.highest_format
        ],
        "dtype": sorted(
            [
                *(Entry(number, identifier(name), name) for name, number in DTYPES.items()),
                *(
                    Entry(number, "half", None, f"Read as {name}; no encoder of lmcache writes it.")
                    for number, name in DTYPE_ALIASES.items()
                ),
            ],
            key=lambda entry: entry.number,
        ),
    }
    if generation.profile.has_location:
        enums["location"] = [Entry(number, identifier(name), name) for name, number in LOCATIONS.items()]
    return enums


def _fields(generation: Generation, names: Sequence[str]) -> Iterator[Field]:
    strict = generation.profile.strict_enums
    for name in names:
        if name.startswith("shape"):
            if name == "shape0":
                doc = (
                    "Dimensions; a shape of fewer than four is followed by zeros."
                    if generation.profile.short_shapes
                    else "Dimensions, always four."
                )
                yield Field("shape", None, False, RANK, doc, applicable(generation, "LM-REQ-009", "LM-REQ-010"))
            continue
        doc, requirements = _DOCS[f"{names[0]} length" if name == "length" else name]
        yield Field(
            name=name,
            enum=None if name == "length" else name,
            valid=name != "length" and (strict or name not in {"command", "code"}),
            repeat=1,
            doc=doc,
            refs=applicable(generation, *requirements),
        )


_DOCS: Final[Mapping[str, tuple[str, Sequence[str]]]] = {
    "command": ("What is asked for.", ("LM-REQ-005", "LM-REQ-012")),
    "code": ("Whether the request succeeded.", ("LM-REPLY-004", "LM-REPLY-006")),
    "command length": (
        "Bytes of payload behind the header of a PUT; a negative number stands for none. It means nothing elsewhere.",
        ("LM-PUT-001", "LM-SRV-005"),
    ),
    "code length": (
        "Bytes of payload that follow; a negative number stands for none.",
        ("LM-GET-002", "LM-SRV-003", "LM-SRV-005"),
    ),
    "length length": ("Bytes of the value.", ("LM-META-001", "LM-META-002")),
    "format": ("Which axis of the shape is what.", ("LM-REQ-007", "LM-REQ-012")),
    "dtype": ("Type of an element.", ("LM-REQ-006", "LM-REQ-012")),
    "location": ("Where the value is to lie. Servers ignore it.", ("LM-REQ-008", "LM-REQ-012")),
}
