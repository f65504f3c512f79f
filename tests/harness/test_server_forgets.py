"""A mock that begins afresh between two examples."""

from harness.conversation import Request, answers
from harness.targets import mock_server
from harness.values import Keys
from wire.release import Release

RELEASE = Release.parse("0.5.6")


def test_a_mock_that_forgets_has_neither_values_nor_exchanges_and_goes_on_counting():
    key = Keys(RELEASE)()
    with mock_server(RELEASE) as server:
        hit = answers(RELEASE, server, [Request("PUT", key, b"value", 64), Request("EXIST", key, b"", 64)])[1]
        server.journal.wait_for(lambda journal: not journal.open_connections)
        server.forget()
        assert server.journal.exchanges() == []
        assert server.journal.exchange_count == 3
        miss = answers(RELEASE, server, [Request("EXIST", key, b"", 64)])[0]
        assert hit != miss
