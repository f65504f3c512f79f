"""The pytest plugin: options, the release x target matrix, the fixtures of cases, and a record of every execution.

Loaded by pytest wherever this package is installed, so importing it must cost nothing until a case is collected.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from wire.numerals import read_decimal, read_integer

if TYPE_CHECKING:
    from harness.fixtures import LmMock, LmVector, LmVectors
    from harness.matrix import Matrix
    from wire.lm.profile import LmProfile
    from wire.release import Release

MATRIX: Final = pytest.StashKey["Matrix"]()
ERROR: Final = pytest.StashKey[BaseException]()
SECONDS: Final = pytest.StashKey[float]()
NOTHING: Final = pytest.StashKey[bool]()
"""Noted where a run ended in which nothing failed and nothing was shown."""

LONG: Final = "lm-"
"""What every option of ours may be spelled with, so that it is ours whatever other plugins a project has."""
THEIRS: Final = "lmconform_theirs"
"""Where the options are noted that were given and went to somebody else; xdist hands it on to its workers."""
CASES: Final = Path(__file__).resolve().parent.parent / "cases"
"""Beside this package, in the source tree and where it is installed; named by path because imports point down only."""
_OUR_PARAMETERS: Final = frozenset({"lm_release", "lm_profile", "lm_mock", "lm_vectors", "lm_vector"})

EXAMPLES: Final = 40
SEED: Final = 0
DEADLINE: Final = 15.0
CLIENT_START: Final = 30.0
_DEFAULTS: Final[dict[str, Any]] = {
    "client": "reference",
    "lmcache": "all",
    "target": "fixtures,mock",
    "only": [],
    "protocol": "declared",
    "side": "client",
    "kind": None,
    "params": None,
    "backend": None,
    "url": None,
    "require": "should",
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
    "client-limits": None,
}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options of a run, under names that no other plugin has; ``lmconform run`` passes the short ones on."""
    group = parser.getgroup("lmconform", "LMCache conformance")

    def add(name: str, text: str, **more: Any) -> None:
        group.addoption(f"--{LONG}{name}", dest=_place_of(name), default=_DEFAULTS[name], help=text, **more)

    _declare(add)
    parser.addini("lm_release", "releases of lmcache that the fixtures lm_* speak (default: the newest captured)", type="args")


def _declare(add: Callable[..., None]) -> None:
    """Tell ``add`` each option: its name without dashes, what it is for, and what else argparse takes."""
    add("client", "the client under test, or what else --side says (default: reference)")
    add("side", "what is judged: client, server, plugin or connector (default: client)")
    add("kind", "the interface of a plugin: native_plugin or plugin")
    add("params", "the parameters of a plugin or connector", metavar="JSON")
    add("backend", "what runs the storage behind a plugin or connector", metavar="MODULE:CLASS")
    add("url", "the URL that a connector is chosen by")
    add("require", "the lowest level whose failures count: must or should (default: should)")
    add("lmcache", "releases of lmcache, separated by commas (default: all in the corpus)")
    add("target", "any of fixtures,mock,live (default: fixtures,mock)")
    add("only", "case ids to run, with * and ?; may be repeated", action="append")
    add(
        "protocol",
        "the wires that cases are about: lm, mp (the multiprocess server), both, or declared for those of which the client "
        "declares an operation (default: declared)",
    )
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
    add("client-limits", "what else a client that is a process may use", metavar="cpu=SECONDS,files=NUMBER,file-size=BYTES")


def _place_of(name: str) -> str:
    """Where the value of an option is kept: a name that no other plugin uses for its own option of the same spelling."""
    return f"lmconform_{name.replace('-', '_')}"


def option(config: pytest.Config, name: str) -> Any:
    """The value of an option of ours, however it was spelled."""
    return config.getoption(_place_of(name))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(
    early_config: pytest.Config, parser: pytest.Parser, args: list[str]
) -> Generator[None, object, object]:
    """Add the short names (``--client`` for ``--lm-client``), once the project at hand has taken those that it wants itself."""
    result = yield
    group = parser.getgroup("lmconform")
    taken = _taken_names(parser)

    def add(name: str, _: str, **more: Any) -> None:
        if name not in taken:
            text = f"the same as --{LONG}{name}"
            group.addoption(f"--{name}", dest=_place_of(name), default=_DEFAULTS[name], help=text, **more)

    _declare(add)
    theirs = [f"--{name}" for name in taken if any(word.partition("=")[0] == f"--{name}" for word in args)]
    if theirs:
        setattr(early_config.option, THEIRS, theirs)
    return result


def _taken_names(parser: pytest.Parser) -> list[str]:
    """The short names that another plugin or a conftest has an option for."""

    def unknown(*names: str) -> bool:
        words = [f"--{name}" for name in names]
        try:
            return set(words) <= set(parser.parse_known_and_unknown_args(words)[1])
        except pytest.UsageError:
            return False

    return [] if unknown(*_DEFAULTS) else [name for name in _DEFAULTS if not unknown(name)]


def require_ours(config: pytest.Config) -> None:
    """Refuse to judge with options that went to somebody else.

    Raises:
        pytest.UsageError: a short name was used on the command line that another plugin of the project has taken.
    """
    theirs = getattr(config.option, THEIRS, [])
    if theirs:
        instead = ", ".join(f"--{LONG}{name.removeprefix('--')}" for name in theirs)
        raise pytest.UsageError(
            f"{', '.join(theirs)} went to another plugin or a conftest.py of this project, which has an option of that name; "
            f"for the cases write {instead}"
        )


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker that cases carry."""
    config.addinivalue_line("markers", "conformance: a case of the LMCache conformance matrix")
    config.addinivalue_line("markers", "lm_release(*releases): the releases of lmcache that the fixtures lm_* of a test speak")
    config.addinivalue_line(
        "markers", "lm_vectors(operation, refused=False): run a test once for each captured vector, in its fixture lm_vector"
    )


def pytest_sessionstart(session: pytest.Session) -> None:
    """With xdist the process that sees the whole run collects nothing: it opens the results file at the first record."""
    if option(session.config, "results") is not None and session.config.pluginmanager.has_plugin("dsession"):
        if option(session.config, "shard") is not None:
            raise pytest.UsageError(
                "--shard writes no --results under pytest-xdist, where the process that writes them does not see the selection; "
                "leave out -n, or use 'lmconform run --shard', which has --jobs"
            )
        from harness.collectors import collectors

        collectors.before_first = lambda: _begin(session.config)


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Refuse options that make no sense once, before cases are made of them."""
    if _cases_are_named(session.config):
        require_ours(session.config)
    if any(option(session.config, name) != default for name, default in _DEFAULTS.items()):
        matrix_of(session.config)


@pytest.hookimpl(tryfirst=True)
def pytest_collectstart(collector: pytest.Collector) -> None:
    """Give the modules of cases their fixtures, nearer to them than anything of the same name in a project or another plugin."""
    if isinstance(collector, pytest.Module) and collector.path.is_relative_to(CASES):
        from harness import case_fixtures

        for name in case_fixtures.NAMES:
            setattr(collector.obj, name, getattr(case_fixtures, name))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give a case every release, target and variant that is selected."""
    if not hasattr(metafunc.function, "lmconform_case"):
        if not _OUR_PARAMETERS.isdisjoint(metafunc.fixturenames):
            from harness.fixtures import parametrize

            parametrize(metafunc)
        return
    from harness.case import cells, spec_of

    spec = spec_of(metafunc.function)
    assert spec is not None
    matrix = matrix_of(metafunc.config)
    chosen = list(cells(spec, _releases(metafunc, matrix), matrix.targets_of(spec)))
    metafunc.parametrize("cell", chosen, ids=[cell.id for cell in chosen])


def _releases(metafunc: pytest.Metafunc, matrix: Matrix) -> Sequence[Release]:
    """The releases in which a case is executed, whatever range it names itself."""
    from harness.case import case_name, spec_of, topic_of

    spec = spec_of(metafunc.function)
    assert spec is not None
    return matrix.releases_of(topic_of(metafunc.definition.path), case_name(metafunc.function.__name__), spec)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Drop cases without a cell under this selection, and those that ``--only`` leaves out."""
    cases = [item for item in items if item.get_closest_marker("conformance") is not None]
    if not cases:
        return
    matrix = matrix_of(config)
    marked = set(cases)
    dropped = [item for item in cases if not matrix.selects(item)]
    left_out = set(dropped)
    kept = [item for item in items if item not in left_out]
    items[:] = sorted(kept, key=lambda item: _place(item, is_case=item in marked))
    if dropped:
        config.hook.pytest_deselected(items=dropped)
    if matrix.unmatched and not hasattr(config, "workerinput"):
        from harness.sides import where_listed

        raise pytest.UsageError(
            f"--only {matrix.told_unmatched()} matches no case of this selection; "
            f"{where_listed(matrix.side)}{matrix.left_out_note}"
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
    if (not cases and option(config, "shard") is None) or hasattr(config, "workerinput"):
        return
    matrix = matrix_of(config)
    if matrix.unmatched or (matrix.shard is not None and matrix.selection is None):
        return
    if matrix.shard is None and matrix.results is not None:
        from harness.selection import select

        select(matrix, cases)
    _begin(config)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Begin to note what crosses the wire of a case."""
    if item.get_closest_marker("conformance") is not None:
        from harness.tape import TAPES

        TAPES.begin()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    """Turn what ended a case into its record, which travels with the teardown report (also from xdist workers)."""
    report: Any = yield
    if item.get_closest_marker("conformance") is None:
        return report
    from harness.failure import UnsupportedByClient

    if call.excinfo is not None and ERROR not in item.stash:
        item.stash[ERROR] = call.excinfo.value
        matrix_of(item.config).look_at_the_tapes(item)
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
        from harness.collectors import collectors

        collectors.show(from_case)
        collectors.add(from_case)


@pytest.hookimpl(optionalhook=True)
def pytest_handlecrashitem() -> None:
    """An xdist worker died, most likely of an in-process client: the case that it ran has no record."""
    from harness.collectors import collectors

    collectors.lose()


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """End clients, servers and the results file; a run that was cut short is marked so, and one that shows nothing has failed."""
    if exitstatus == pytest.ExitCode.OK and _shows_nothing(session.config):
        session.config.stash[NOTHING] = True
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
    if MATRIX in session.config.stash:
        ended = exitstatus in {pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED} or (
            exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and session.config.stash[MATRIX].shard is not None
        )
        session.config.stash[MATRIX].end(complete=ended and not session.shouldstop and not session.shouldfail)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Say why a run has failed in which no case did."""
    if NOTHING in config.stash:
        terminalreporter.write_line(
            "lmconform: no case judged the client, because it declares nothing that they need: the run shows nothing and fails"
        )


def _shows_nothing(config: pytest.Config) -> bool:
    """Whether cases that judge the client ran, and each was skipped; a shard alone may well show nothing."""
    told = sys.modules.get("harness.collectors")
    if told is None or hasattr(config, "workerinput") or option(config, "shard") is not None:
        return False
    return told.collectors.asked and not told.collectors.shown


@pytest.fixture
def lm_release(request: pytest.FixtureRequest) -> str:
    """The release of lmcache that the other fixtures ``lm_*`` speak: of the marker, the ini file, or the newest captured."""
    from harness.fixtures import releases_of

    return releases_of(request.config, request.node)[0]


@pytest.fixture
def lm_profile(lm_release: str) -> LmProfile:
    """What the release means on the ``lm://`` wire."""
    from wire.lm.profile import lm_profile
    from wire.release import Release

    return lm_profile(Release.parse(lm_release))


@pytest.fixture
def lm_mock(lm_release: str) -> Iterator[LmMock]:
    """A mock server of the release on a free port of loopback, with an empty store; it ends with the test."""
    from harness.fixtures import LmMock

    with LmMock(lm_release) as mock:
        yield mock


@pytest.fixture
def lm_vectors(lm_release: str) -> LmVectors:
    """The captured vectors of the release, by operation."""
    from harness.fixtures import LmVectors

    return LmVectors(lm_release)


@pytest.fixture
def lm_vector(request: pytest.FixtureRequest) -> LmVector:
    """One captured vector; the test carries ``@pytest.mark.lm_vectors(operation)`` and runs once for each."""
    pytest.fail(
        f"{request.node.nodeid} uses lm_vector and does not say of which operation; "
        'put @pytest.mark.lm_vectors("encode_request") above it, and choose releases by @pytest.mark.lm_release',
        pytrace=False,
    )


def _cases_are_named(config: pytest.Config) -> bool:
    """Whether the command line asks for cases, as far as can be seen before collecting."""
    words = [word.partition("::")[0] for word in config.args]
    return any(word.partition(".")[0] == CASES.name or Path(word).is_relative_to(CASES) for word in words)


def _whole(config: pytest.Config, cases: list[pytest.Item]) -> bool:
    """Whether every case there is was collected: no path, keyword or marker left one out."""
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
    from harness import quiet_exit
    from harness.client import ClientFailure

    matrix = matrix_of(config)
    if matrix.client_may_end_this_process:
        capture = config.pluginmanager.getplugin("capturemanager")
        config.add_cleanup(quiet_exit.prevent(capture.suspend_global_capture if capture is not None else lambda: None))
    try:
        matrix.begin()
    except (ClientFailure, OSError) as error:
        raise pytest.UsageError(str(error)) from None


def _place(item: pytest.Item, *, is_case: bool) -> tuple[int, str]:
    if not is_case:
        return 0, ""
    from harness.executions import rank

    return rank(item)


def matrix_of(config: pytest.Config) -> Matrix:
    """The state of the run."""
    if MATRIX not in config.stash:
        from harness.matrix import Matrix

        require_ours(config)
        config.stash[MATRIX] = Matrix.from_config(config)
    return config.stash[MATRIX]
