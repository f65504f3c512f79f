"""The whole matrix: what is derived is what would have been played, and a lost server costs only its own cells."""

import contextlib

import pytest

from fixturegen.errors import EnvironmentUnavailable
from harness.compat.run import CompatOptions, default_jobs, run_compat
from harness.targets import mock_server
from wire.release import Release


def releases(*texts):
    return [Release.parse(text) for text in texts]


CHOSEN = releases("0.3.11", "0.3.12", "0.4.4", "0.5.5", "0.5.6")


def options(clients=CHOSEN, servers=CHOSEN, **changes):
    return CompatOptions(clients, servers, target="mock", **changes)


@contextlib.contextmanager
def mock(release):
    with mock_server(release) as server:
        yield server.host, server.port


def opener(*, broken=(), dying=()):
    """Mocks, some of which do not start or stop as soon as they run."""

    @contextlib.contextmanager
    def start(release):
        if str(release) in broken:
            raise EnvironmentUnavailable(f"no wheel of {release}")
        with mock_server(release) as server:
            if str(release) in dying:
                server.stop()
            yield server.host, server.port

    return start


def states(result):
    return {at: cell.state for at, cell in result.cells.items()}


@pytest.fixture(scope="module")
def whole():
    return run_compat(options(derive=False))


@pytest.fixture(scope="module")
def derived():
    return run_compat(options())


def test_every_pair_has_a_cell(derived):
    names = [str(release) for release in CHOSEN]
    assert set(derived.cells) == {(client, server) for client in names for server in names}


def test_without_derivation_everything_is_played(whole):
    assert set(states(whole).values()) == {"run"}


def test_the_newest_of_a_generation_is_played_and_the_others_name_it(derived):
    assert derived.cell("0.5.6", "0.3.12").state == "run"
    assert derived.cell("0.5.5", "0.3.11").derived_from == ("0.5.6", "0.3.12")
    assert derived.cell("0.5.6", "0.3.11").derived_from == ("0.5.6", "0.3.12")
    assert (derived.count("run"), derived.count("derived")) == (9, 16)


def test_what_is_derived_is_what_is_played(whole, derived):
    for at, cell in derived.cells.items():
        assert cell.signature == whole.cell(*at).signature, at
        assert [found.struck for found in cell.reasons] == [found.struck for found in whole.cell(*at).reasons], at


def test_clients_that_share_a_server_do_not_meet(whole):
    alone = run_compat(options(releases("0.5.6"), releases("0.5.6")))
    assert whole.cell("0.5.6", "0.5.6") == alone.cell("0.5.6", "0.5.6")


def test_a_server_that_does_not_start_costs_its_own_cells_and_is_replaced():
    result = run_compat(options(), opener=opener(broken=["0.5.6"]))
    assert {at[1] for at, state in states(result).items() if state == "not-run"} == {"0.5.6"}
    assert result.cell("0.4.4", "0.5.6").problem == "no wheel of 0.5.6"
    assert result.cell("0.5.6", "0.5.5").state == "run"


def test_a_generation_that_does_not_start_at_all_costs_its_own_cells():
    result = run_compat(options(), opener=opener(broken=["0.5.5", "0.5.6"]))
    assert {at[1] for at, state in states(result).items() if state == "not-run"} == {"0.5.5", "0.5.6"}


def test_a_server_that_stops_answering_is_no_verdict():
    result = run_compat(options(servers=releases("0.3.12", "0.4.4")), opener=opener(dying=["0.4.4"]))
    lost = [cell for cell in result.cells.values() if cell.state == "not-run"]
    assert {cell.server for cell in lost} == {"0.4.4"}
    assert all(cell.problem.startswith("the server answers nobody any more") for cell in lost)


def test_progress_counts_servers():
    words = []
    run_compat(options(releases("0.5.6"), releases("0.4.4", "0.5.6"), jobs=1), progress=words.append)
    assert [line.split(":")[0] for line in words] == ["1 of 2", "2 of 2"]


@pytest.mark.parametrize("target", ["live", "mock"])
def test_some_server_can_always_run(target):
    assert default_jobs(1, target) == 1
    assert default_jobs(33, target) >= 1
