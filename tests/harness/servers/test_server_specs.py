"""How a server under test is named on the command line."""

import pytest

from harness.client import ClientUnavailable
from harness.servers.spec import parse_server, require_one_release
from harness.usage import UsageError
from wire.release import Release


@pytest.mark.parametrize(
    ("text", "kind", "target"),
    [
        ("mock", "mock", "mock"),
        ("reference", "mock", "mock"),
        ("mutant:server-drops-cut-put", "mock", "mock"),
        ("lmcache", "real", "live"),
        ("127.0.0.1:65432", "address", "live"),
        ("[::1]:80", "address", "live"),
        ("exec:sh -c {port}", "command", "live"),
    ],
)
def test_a_server_has_a_kind_and_a_target(text, kind, target):
    spec = parse_server(text, "lm")
    assert (spec.kind, spec.target) == (kind, target)


def test_an_address_is_split():
    assert parse_server("[::1]:80", "mp").address == ("::1", 80)


def test_a_mutant_takes_the_place_of_the_mock_of_its_wire():
    assert parse_server("mutant:server-drops-cut-put", "lm").lm.__name__ == "DropsCutPut"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("localhost", "is no server; write mock, lmcache, HOST:PORT"),
        ("localhost:99999", "is no server"),
        ("exec:sh -c true", "must name {port}"),
        ("exec: ", "exec: needs a command"),
        ("exec:sh { {port}", "a brace that is meant as such is written twice"),
        ("exec:sh {port:?}", "a brace that is meant as such is written twice"),
        ("exec:sh {port!z}", "a brace that is meant as such is written twice"),
        ("exec:sh {prot} {port}", "names {prot}, which nothing stands for"),
    ],
)
def test_what_names_no_server_is_refused(text, said):
    with pytest.raises(UsageError, match=said.replace("{", r"\{")):
        parse_server(text, "lm")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("exec:no-such-program {port}", "no command 'no-such-program'"),
        ("mutant:no-such", "no mutant is called 'no-such'"),
        ("mutant:key-hash-decimal", "as a server: it is a client"),
    ],
)
def test_a_server_that_cannot_be_had_is_refused(text, said):
    with pytest.raises(ClientUnavailable, match=said):
        parse_server(text, "lm")


@pytest.mark.parametrize("protocol", ["both", "declared", "l2"])
def test_a_server_speaks_one_wire(protocol):
    with pytest.raises(UsageError, match="write --protocol lm or --protocol mp"):
        parse_server("mock", protocol)


SEVERAL = [Release.parse("0.4.3"), Release.parse("0.5.6")]


@pytest.mark.parametrize("text", ["127.0.0.1:65432", "exec:sh -c {port}"])
def test_a_server_that_is_not_told_the_release_is_judged_for_one(text):
    with pytest.raises(UsageError, match=r"name one, such as --lmcache 0\.5\.6"):
        require_one_release(parse_server(text, "lm"), SEVERAL)
    require_one_release(parse_server(text, "lm"), SEVERAL[1:])


@pytest.mark.parametrize("text", ["mock", "lmcache", "exec:sh -c {port} {release}"])
def test_a_server_that_knows_the_release_is_judged_for_several(text):
    require_one_release(parse_server(text, "lm"), SEVERAL)
