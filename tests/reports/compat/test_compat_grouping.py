"""Rows and columns that are the same stand together, and every reason stands once."""

import pytest

from reports.compat.grouping import blocks, client_groups, reasons, server_groups, spans
from reports.compat.outcome import Outcome


def test_clients_with_the_same_row_are_one_group(result):
    assert [(group.label, group.releases) for group in client_groups(result)] == [("a", ("1.0", "1.1")), ("b", ("2.0",))]


def test_servers_with_the_same_column_are_one_group(result):
    assert [(group.label, group.releases) for group in server_groups(result)] == [
        ("1", ("1.0", "1.1")), ("2", ("2.0",)), ("3", ("3.0",)),
    ]  # fmt: skip


def test_another_reason_is_another_group(make):
    cells = {("1", "s"): [make.finding(reason="one")], ("2", "s"): [make.finding(reason="other")]}
    assert len(client_groups(make(cells))) == 2


def test_the_worst_reason_is_the_first(result):
    assert [(reason.number, reason.grade.letter) for reason in reasons(result)] == [(1, "R"), (2, "M"), (3, "w")]


def test_a_reason_knows_all_its_cells_and_shows_one_that_was_played(result):
    reason = reasons(result)[0]
    assert reason.cells == {("1.0", "2.0"), ("1.1", "2.0")}
    assert (reason.example.client, reason.example.state) == ("1.1", "run")


def test_a_reason_strikes_what_it_strikes_anywhere(make):
    cells = {("1", "s"): [make.finding(struck=("a",))], ("2", "s"): [make.finding(struck=("b",))]}
    assert reasons(make(cells))[0].struck == ("a", "b")


def test_blocks_cover_every_pair_of_groups_once(result):
    found = [
        (client, server) for block in blocks(result, reasons(result)) for client in block.clients for server in block.servers
    ]
    assert sorted(found) == [(client, server) for client in "ab" for server in "123"]


def test_a_block_has_the_reasons_of_both_answers(result):
    block = next(block for block in blocks(result, reasons(result)) if (block.clients, block.servers) == (("a",), ("2",)))
    assert block.numbers == {"talk": (1,), "share": (2,)}


def test_more_than_26_groups_have_labels_of_their_own(make):
    cells = {(str(number), "s"): [make.finding(Outcome.REFUSED, str(number))] for number in range(60)}
    labels = [group.label for group in client_groups(make(cells))]
    assert labels[25:28] == ["z", "aa", "ab"]
    assert len(set(labels)) == 60


@pytest.mark.parametrize(
    ("labels", "expected"),
    [("", ""), ("a", "a"), ("ab", "a b"), ("abc", "a-c"), ("acd", "a c d"), ("abcef", "a-c e f"), ("f", "f")],
)
def test_labels_are_written_as_spans(labels, expected):
    assert spans(labels, list("abcdef")) == expected
