"""Pictures, made once, as trees of elements."""

from xml.etree import ElementTree as ET

import pytest

from reports.pictures.gallery import GALLERY, picture

SVG = "{http://www.w3.org/2000/svg}"


class Drawn:
    """The elements of a picture."""

    def __init__(self, made):
        self.picture = made
        self.root = ET.fromstring(made.svg)

    def all(self, tag, **data):
        """Elements of a tag with these ``data-`` attributes: of any value where True is given."""
        wanted = {f"data-{name}": value for name, value in data.items()}
        return [
            one
            for one in self.root.iter(SVG + tag)
            if all(one.get(name) is not None and value in (True, one.get(name)) for name, value in wanted.items())
        ]

    def texts(self, within=None):
        """Every line of text that is seen."""
        return [shown(one) for one in (self.root if within is None else within).iter(f"{SVG}text")]


def shown(text):
    """What an element of text shows; what its title says is seen under the pointer alone."""
    return "".join(filter(None, [text.text, *(child.tail for child in text)]))


@pytest.fixture(scope="session")
def drawn():
    """A picture of the gallery by its name."""
    made = {}

    def get(name):
        if name not in made:
            made[name] = Drawn(picture(name))
        return made[name]

    return get


@pytest.fixture(params=GALLERY)
def each(request, drawn):
    return drawn(request.param)
