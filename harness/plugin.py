"""The pytest plugin: options, the release x target matrix, the fixtures of cases, and a record of every execution.

Loaded by pytest wherever this package is installed, so importing it must cost nothing until a case is collected.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any, Final

import pytest

from wire.numerals import read_decimal, read_integer

if TYPE_CHECKING:
    from fixturegen.corpus import Corpus
    from harness.case import CaseSpec, Cell
    from harness.examples import Examples
    from harness.judge import Judge
    from harness.matrix import Matrix
    from harness.subject import Subject
    from harness.targets import Server
    from harness.values import Keys
    from wire.lm.profile import LmProfile
    from wire.release import Release

MATRIX: Final = pytest.StashKey["Matrix"]()
ERROR: Final = pytest.StashKey[BaseException]()
SECONDS: Final = pytest.StashKey[float]()

EXAMPLES: Final = 40
SEED: Final = 0
DEADLINE: Final = 15.0
CLIENT_START: Final = 30.0
_DEFAULTS: Final[dict[str, Any]] = {
    "client": "reference",
    "lmcache": "all",
    "target": "fixtures,mock",
    "only": [],
    "live": None,
    "runtime": "venv",
    "results": None,
    "expectations": None,
    "shard": None,
    "examples": None,
    "seed": SEED,
    "properties": False,
    "deadline": DEADLINE,
    "client-start": CLIENT_START,
    "client-memory": None,
}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options of a run; ``lmconform run`` passes the same ones on."""
    group = parser.getgroup("lmconform", "LMCache conformance")

    def add(name: str, text: str, **more: Any) -> None:
        group.addoption(f"--{name}", default=_DEFAULTS[name], help=text, **more)

    add("client", "the client under test (default: reference)")
    add("lmcache", "releases of lmcache, separated by commas (default: all in the corpus)")
    add("target", "any of fixtures,mock,live (default: fixtures,mock)")
    add("only", "case ids to run, with * and ?; may be repeated", action="append")
    add("live", "a running server of the one release under test", metavar="HOST:PORT")
    add("runtime", "where live servers run: venv or docker (default: venv)")
    add("results", "write results.jsonl there", metavar="FILE")
    add("expectations", "a list of known failures, in TOML", metavar="FILE")
    add("shard", "only this part of the selection, such as 2/4", metavar="I/N")
    add("examples", f"hypothesis examples of each property (default: {EXAMPLES})", type=read_integer)
    add(
        "seed",
        f"what the examples are drawn from (default: {SEED}, the same examples in every run)",
        type=read_integer,
        metavar="NUMBER",
    )
    add("properties", "only the cases that draw examples", action="store_true")
    add("deadline", f"seconds after which a silent client hangs (default: {DEADLINE:g})", type=read_decimal, metavar="SECONDS")
    add(
        "client-start",
        f"seconds that a client may take to start (default: {CLIENT_START:g})",
        type=read_decimal,
        metavar="SECONDS",
    )
    add("client-memory", "bytes that a client may hold, such as 4GiB", metavar="BYTES")


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker that cases carry."""
    config.addinivalue_line("markers", "conformance: a case of the LMCache conformance matrix")


def pytest_sessionstart(session: pytest.Session) -> None:
    """With xdist the process that sees the whole run collects nothing: it opens the results file at the first record."""
    if session.config.getoption("results") is not None and session.config.pluginmanager.has_plugin("dsession"):
        if session.config.getoption("shard") is not None:
            raise pytest.UsageError(
                "--shard writes no --results under pytest-xdist, where the process that writes them does not see the selection; "
                "leave out -n, or use 'lmconform run --shard', which has --jobs"
            )
        from harness.matrix import collectors

        collectors.before_first = lambda: _begin(session.config)


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Refuse options that make no sense once, before cases are made of them."""
    if any(session.config.getoption(f"--{name}") != default for name, default in _DEFAULTS.items()):
        matrix_of(session.config)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give a case every release, target and variant that is selected."""
    if not hasattr(metafunc.function, "lmconform_case"):
        return
    from harness.case import cells, spec_of

    spec = spec_of(metafunc.function)
    assert spec is not None
    matrix = matrix_of(metafunc.config)
    chosen = list(cells(spec, matrix.releases, matrix.targets_of(spec)))
    metafunc.parametrize("cell", chosen, ids=[cell.id for cell in chosen])


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Drop cases without a cell under this selection, and those that ``--only`` leaves out."""
    if not any(item.get_closest_marker("conformance") for item in items):
        return
    matrix = matrix_of(config)
    kept: list[pytest.Item] = []
    dropped: list[pytest.Item] = []
    for item in items:
        selected = item.get_closest_marker("conformance") is None or matrix.selects(item)
        (kept if selected else dropped).append(item)
    cases = [item for item in items if item.get_closest_marker("conformance") is not None]
    items[:] = sorted(kept, key=_place)
    if dropped:
        config.hook.pytest_deselected(items=dropped)
    if matrix.unmatched and not hasattr(config, "workerinput"):
        patterns = ", ".join(repr(pattern) for pattern in matrix.unmatched)
        raise pytest.UsageError(
            f"--only {patterns} matches no case of this selection; 'lmconform list --ids' shows what there is"
        )
    if not hasattr(config, "workerinput"):
        faults = matrix.faults_of_the_list(cases, kept, whole=_whole(config, cases))
        if faults:
            raise pytest.UsageError("\n".join(faults))
    if matrix.shard is not None:
        from harness.selection import leave_to_other_shards

        others = leave_to_other_shards(matrix, items)
        if others:
            config.hook.pytest_deselected(items=others)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Open the results file once it is clear that cases will run."""
    config = session.config
    # Pytest comes here also after a selection was refused, and then no run begins. A shard may have no case at all.
    cases = [item for item in session.items if item.get_closest_marker("conformance") is not None]
    if (not cases and config.getoption("shard") is None) or hasattr(config, "workerinput"):
        return
    matrix = matrix_of(config)
    if matrix.unmatched or (matrix.shard is not None and matrix.selection is None):
        return
    if matrix.shard is None and matrix.results is not None:
        from harness.selection import select

        select(matrix, cases)
    _begin(config)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    """Turn what ended a case into its record, which travels with the teardown report (also from xdist workers)."""
    report: Any = yield
    if item.get_closest_marker("conformance") is None:
        return report
    from harness.failure import UnsupportedByClient

    if call.excinfo is not None and ERROR not in item.stash:
        item.stash[ERROR] = call.excinfo.value
    item.stash[SECONDS] = item.stash.get(SECONDS, 0.0) + call.duration
    if call.excinfo is not None and isinstance(call.excinfo.value, UnsupportedByClient):
        report.outcome = "skipped"
        report.longrepr = (str(item.path), 0, f"unsupported: {call.excinfo.value}")
    if (call.when == "setup" and call.excinfo is not None) or call.when == "call":
        _hold_against_the_list(item, report)
    if call.when == "teardown":
        record = matrix_of(item.config).record(item, item.stash.get(ERROR, None), item.stash[SECONDS])
        report.lmconform = record.to_json()
    return report


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Hand a record to whoever collects them; runs where the whole run is seen."""
    from_case = getattr(report, "lmconform", None)
    if from_case is not None:
        from harness.matrix import collectors

        collectors.show(from_case)
        collectors.add(from_case)


@pytest.hookimpl(optionalhook=True)
def pytest_handlecrashitem() -> None:
    """An xdist worker died, most likely of an in-process client: the case that it ran has no record."""
    from harness.matrix import collectors

    collectors.lose()


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """End clients, servers and the results file; a run that was cut short is marked so."""
    if MATRIX in session.config.stash:
        ended = exitstatus in {pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED} or (
            exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and session.config.stash[MATRIX].shard is not None
        )
        session.config.stash[MATRIX].end(complete=ended and not session.shouldstop and not session.shouldfail)


@pytest.fixture
def release(cell: Cell) -> Release:
    """The release of lmcache that is spoken."""
    return cell.release


@pytest.fixture
def profile(cell: Cell) -> LmProfile:
    """What the release means on the ``lm://`` wire."""
    from wire.lm.profile import lm_profile

    return lm_profile(cell.release)


@pytest.fixture
def corpus(cell: Cell) -> Corpus:
    """The captures of the release."""
    from fixturegen.corpus import load_corpus

    return load_corpus(cell.release)


@pytest.fixture
def vector(cell: Cell) -> Any:
    """The value of the variant: a vector, a transcript or a parameter."""
    assert cell.variant is not None
    return cell.variant.value


@pytest.fixture
def judge(request: pytest.FixtureRequest, cell: Cell) -> Judge:
    """Compares and explains."""
    return matrix_of(request.config).judge(cell, _spec(request))


@pytest.fixture
def keys(cell: Cell) -> Keys:
    """Makes keys that no other test uses."""
    from harness.values import Keys

    return Keys(cell.release)


@pytest.fixture
def client(request: pytest.FixtureRequest, cell: Cell, judge: Judge) -> Iterator[Subject]:
    """The client under test, which declares what the case needs; connections that the case opened are closed afterwards."""
    from harness.subject import Subject, require

    matrix = matrix_of(request.config)
    session = matrix.session()
    require(session, cell, _spec(request))
    session.require(_spec(request).needs)
    session.mark()
    subject = Subject(session, cell, judge, matrix.budget)
    yield subject
    subject.release_connections()


@pytest.fixture
def another_client(request: pytest.FixtureRequest, cell: Cell, judge: Judge) -> Iterator[Subject]:
    """A second instance of the client under test: a program runs once more, a class of Python is made once more."""
    yield from _companion(request, cell, judge, own_process=False)


@pytest.fixture
def fresh_client(request: pytest.FixtureRequest, cell: Cell, judge: Judge) -> Iterator[Subject]:
    """A second instance of the client under test, in a process of its own, which the cases of a worker share."""
    yield from _companion(request, cell, judge, own_process=True)


@pytest.fixture
def server(request: pytest.FixtureRequest, cell: Cell) -> Iterator[Server]:
    """The server of the target: a mock with an empty store, or the live server of the release."""
    from harness.targets import mock_server

    if cell.target == "live":
        yield matrix_of(request.config).live.get(cell.release)
    else:
        with mock_server(cell.release) as mock:
            yield mock


@pytest.fixture
def examples(request: pytest.FixtureRequest, cell: Cell) -> Examples:
    """How properties are tried: as many examples as were asked for, of the seed of the run."""
    return matrix_of(request.config).examples_of(request.function.__name__, cell)


def _whole(config: pytest.Config, cases: list[pytest.Item]) -> bool:
    """Whether every case there is was collected: no path, keyword or marker left one out."""
    from harness.bare_pytest import CASES

    chosen = any(config.getoption(name, None) for name in ("keyword", "markexpr", "deselect", "lf"))
    return not chosen and {item.path for item in cases} >= set(CASES.rglob("test_*.py"))


def _hold_against_the_list(item: pytest.Item, report: Any) -> None:
    """Let pytest see a known failure as an expected one, and a pass that is not expected as a failure."""
    matrix = matrix_of(item.config)
    if matrix.book is None:
        return
    from reports.verdict import Verdict

    record = matrix.book.judged(matrix.record(item, item.stash.get(ERROR, None), item.stash[SECONDS]))
    if record.verdict is Verdict.KNOWN_FAILURE:
        report.outcome = "skipped"
        report.wasxfail = record.reason
    elif record.verdict is Verdict.UNEXPECTED_PASS:
        report.outcome = "failed"
        report.longrepr = record.reason


def _begin(config: pytest.Config) -> None:
    from harness.client import ClientFailure

    try:
        matrix_of(config).begin()
    except (ClientFailure, OSError) as error:
        raise pytest.UsageError(str(error)) from None


def _companion(request: pytest.FixtureRequest, cell: Cell, judge: Judge, *, own_process: bool) -> Iterator[Subject]:
    from harness.subject import Subject, require

    matrix = matrix_of(request.config)
    require(matrix.session(), cell, _spec(request))
    session = matrix.companion(own_process=own_process)
    session.mark()
    subject = Subject(session, cell, judge, matrix.budget)
    yield subject
    subject.release_connections()


def _spec(request: pytest.FixtureRequest) -> CaseSpec:
    from harness.case import spec_of

    found = spec_of(request.function)
    assert found is not None
    return found


def _place(item: pytest.Item) -> int:
    if item.get_closest_marker("conformance") is None:
        return 0
    from harness.matrix import rank

    return rank(item)


def matrix_of(config: pytest.Config) -> Matrix:
    """The state of the run."""
    if MATRIX not in config.stash:
        from harness.matrix import Matrix

        config.stash[MATRIX] = Matrix.from_config(config)
    return config.stash[MATRIX]
