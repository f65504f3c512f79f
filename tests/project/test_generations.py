"""The releases that stand for others in slow tests, and whether the tests that name releases by hand reach all generations."""

import pytest
from generations import CAPTURED, GENERATIONS, REPRESENTATIVES

from wire.lm.profile import HEADER_LAYOUTS, HIGHEST_FORMATS, SHORT_SHAPES, STRICT_ENUMS


def test_every_captured_release_is_of_one_generation():
    assert [release for generation in GENERATIONS for release in generation] == CAPTURED


def test_a_generation_is_represented_by_its_newest_release():
    assert [max(generation) for generation in GENERATIONS] == REPRESENTATIVES
    assert REPRESENTATIVES[-1] == CAPTURED[-1]


def test_there_are_fewer_generations_than_releases():
    assert 1 < len(GENERATIONS) < len(CAPTURED) / 2


@pytest.mark.parametrize("table", [HEADER_LAYOUTS, HIGHEST_FORMATS, STRICT_ENUMS], ids=lambda table: table.name)
def test_releases_of_one_generation_have_the_same_frames(table):
    assert [generation for generation in GENERATIONS if len({table[release] for release in generation}) > 1] == []


def test_what_servers_echo_does_not_tell_whether_clients_pad_shapes():
    """So tests that are about shapes name their releases themselves."""
    mixed = [generation for generation in GENERATIONS if len({SHORT_SHAPES[release] for release in generation}) > 1]
    assert [(str(first), str(last)) for first, *_, last in mixed] == [("0.3.14", "0.4.4")]
