"""KV tensors in registrations: classes, the map of each, and the attributes and their order where they are pickled."""

from __future__ import annotations

from collections.abc import Iterator

from docs.generator.spec.mp_operations import FIRST
from docs.generator.spec.words import code, joint, spanned
from docs.generator.table import table
from fixturegen.inputs.mp.registration import SHAPES_ARE_SIZES, WRAPPERS
from wire.mp.registration import DATA_ONLY, MAPS, METADATA, MODULES, NOT_PICKLED, VERSION
from wire.release import ReleaseRange


def forms() -> str:
    """As what a KV tensor crosses."""
    forms = {True: "a map of plain data", False: "a pickle, protocol 4, of an object of the class"}
    return table(
        ("releases", "the data of extension type 1"),
        [(spanned(span, first=FIRST), forms[as_map]) for span, as_map in DATA_ONLY.rows()],
    )


def maps() -> str:
    """The members of each map, in their order."""
    return table(("class", "`type`", "members in their order"), _maps())


def _maps() -> Iterator[tuple[str, str, str]]:
    metadata = f"`metadata` ({', '.join(map(code, METADATA))})"
    for name, (tag, members) in MAPS.items():
        between = ", ".join(code(member) for member in members)
        yield code(name), code(tag), f"`type`, {between}, `version` ({VERSION}), {metadata}"
    yield (
        code("NpuIPCWrapper"),
        code("npu"),
        f"`type`, `version` ({VERSION}), `bare`, `planes`: an array of maps of `handle` and {metadata}",
    )


def pickles() -> str:
    """The class that a pickle names, and the attributes that it holds."""
    return table(("class", "releases", "module that the pickle names", "attributes in their order"), _pickles())


def _pickles() -> Iterator[tuple[str, ...]]:
    for name, fields in WRAPPERS.items():
        first = next(span.first for span, _ in fields.rows())
        for span, release in joint(MODULES[name], fields, DATA_ONLY, first=first.text):
            module = MODULES[name][release]
            if module is not None and not DATA_ONLY[release]:
                held = ", ".join(code(field) for field in fields[release] if field not in NOT_PICKLED)
                yield code(name), str(span), code(module), held


def sizes() -> str:
    """How the shape is pickled."""
    forms = {True: "`torch.Size`, called with a tuple", False: "a tuple"}
    return table(("releases", "`shape` in a pickle"), list(_sizes(forms)))


def _sizes(forms: dict[bool, str]) -> Iterator[tuple[str, str]]:
    for span, release in joint(SHAPES_ARE_SIZES, DATA_ONLY, first=FIRST):
        if not DATA_ONLY[release]:
            yield _words(span), forms[SHAPES_ARE_SIZES[release]]


def _words(span: ReleaseRange) -> str:
    return spanned(span, first=FIRST)
