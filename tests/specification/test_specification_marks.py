"""A program writes between marks, and nowhere else."""

import pytest

from docs.generator.spec.marks import MarkError, blocks_of, filled

BLOCKS = {"one": lambda: "| a |\n|---|\n| b |", "two": lambda: "text"}


def test_what_stands_between_marks_is_replaced():
    page = "before\n\n<!-- generated: one -->\n\nold\n\n<!-- end -->\n\nafter\n"
    wanted = "before\n\n<!-- generated: one -->\n\n| a |\n|---|\n| b |\n\n<!-- end -->\n\nafter\n"
    assert filled("page.md", page, BLOCKS) == wanted
    assert filled("page.md", wanted, BLOCKS) == wanted


def test_a_page_without_marks_stays_as_it_is():
    assert filled("page.md", "a\n\nb\n", BLOCKS) == "a\n\nb\n"


@pytest.mark.parametrize(
    ("page", "message"),
    [
        ("<!-- generated: none -->\n<!-- end -->", "page.md:1: nothing writes a block 'none'"),
        ("<!-- generated: one -->\n", "page.md: one has no end"),
        ("a\n<!-- end -->", "page.md:2: an end without a begin"),
        ("<!-- generated: one -->\n<!-- generated: two -->\n<!-- end -->", "page.md:2: two begins before one has ended"),
    ],
)
def test_marks_that_are_not_in_order_are_told_with_their_line(page, message):
    with pytest.raises(MarkError, match=message.replace(".", r"\.")):
        filled("page.md", page, BLOCKS)


def test_the_blocks_of_a_page_are_found_with_their_line():
    (block,) = blocks_of("a\n<!-- generated: one -->\n\ntext\n\n<!-- end -->\n")
    assert (block.name, block.line, block.text) == ("one", 2, "text")
