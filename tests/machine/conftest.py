"""What the tests of the machine-readable specification need: a compiler, and Wireshark without its window."""

import pytest
from kaitai import Compiler, installed

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
def parsers(compiler, descriptions):
    """A parser in Python for each generation."""
    made = compiler.parsers(descriptions.values())
    return {one.slug: made[name_of_file(one).removesuffix(".ksy")] for one in generations()}
