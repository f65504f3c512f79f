"""What the tests of the machine-readable specification need: a compiler, and Wireshark without its window."""

import pytest
from kaitai import Compiler, classes, installed

from docs.generator.links import ROOT
from docs.generator.machine.generations import generations
from docs.generator.machine.kaitai import FOLDER, name_of_file


@pytest.fixture(scope="session")
def compiler(npm, needed):
    """The compiler of Kaitai Struct."""
    try:
        return Compiler(installed())
    except OSError as error:
        needed([f"the compiler of Kaitai Struct ({error})"])


@pytest.fixture(scope="session")
def descriptions():
    """The text of each description by the slug of its generation."""
    return {one.slug: (ROOT / FOLDER / name_of_file(one)).read_text() for one in generations()}


@pytest.fixture(scope="session")
def compiled(compiler, descriptions):
    """The files of the parsers in Python and in JavaScript for each generation, by name."""
    return compiler.files(descriptions.values(), "python", "javascript")


@pytest.fixture(scope="session")
def parsers(compiled):
    """A parser in Python for each generation."""
    made = classes(compiled)
    return {one.slug: made[name_of_file(one).removesuffix(".ksy")] for one in generations()}
