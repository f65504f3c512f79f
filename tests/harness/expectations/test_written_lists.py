"""Lists of known failures that are written from a run: exact, readable again, and the same every time."""

import os
import string
from dataclasses import replace
from datetime import date, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.case import TARGETS
from harness.expectations.book import Book
from harness.expectations.cover import Extent, covers
from harness.expectations.entry import EXPECTABLE, Entry
from harness.expectations.file import PLATFORMS, read_expectations
from harness.expectations.write import require_free, text_of, write_expectations
from harness.usage import UsageError
from reports.record import ClientInfo, RunHeader
from reports.results import Results
from wire.release import KNOWN_RELEASES, Release, ReleaseRange

TODAY = date(2026, 12, 31)
RELEASES = ("0.3.1", "0.3.2", "0.4.4", "0.5.5", "0.5.6")
CAPTURED = tuple(map(Release.parse, RELEASES))


@pytest.fixture(autouse=True)
def _five_releases(monkeypatch):
    monkeypatch.setattr("harness.expectations.write.captured_releases", lambda: list(CAPTURED))


@pytest.fixture
def results():
    """Results of a run over five releases; give records, and what the header should say."""

    def make(*cases, issues=None, releases=RELEASES, name="mine"):
        client = ClientInfo("stdio:./mine", name, "1", "C", issues=issues)
        header = RunHeader(
            tool_version="0.1.0", started="2026-12-31T10:00:00Z", client=client,
            releases=releases, targets=("fixtures", "mock"), command_line=(), seed=0, python="3", platform="Linux", corpus="0",
        )  # fmt: skip
        return Results(header, cases)

    return make


@pytest.fixture
def write(tmp_path, results):
    """Write a list from records, and read it back."""

    def written(*cases, path=None, old=None, force=False, **header):
        path = path or tmp_path / "known.toml"
        write_expectations(results(*cases, **header), path, today=TODAY, old=old, force=force)
        return read_expectations(path)

    return written


@pytest.fixture
def short(record):
    """The executions of one case on five releases and two targets; the ids that fail are given."""

    def executions(*failing, name="lm.get.short", variants=(None,)):
        return [
            record("fail" if (release, target, variant) in failing else "pass", None, name=name, release=release,
                   target=target, variant=variant)
            for release in RELEASES for target in ("fixtures", "mock") for variant in variants
        ]  # fmt: skip

    return executions


def everywhere(target, releases=RELEASES, variant=None):
    return [(release, target, variant) for release in releases]


def only_entry(listed):
    (entry,) = listed.entries
    return entry


def test_a_case_that_always_fails_is_one_entry_without_conditions(write, short):
    entry = only_entry(write(*short(*everywhere("mock"), *everywhere("fixtures"))))
    assert (entry.cases, entry.releases, entry.targets) == (("lm.get.short",), (), ())
    assert (entry.outcome, entry.error, entry.issue) == ("fail", "wrong length: 1", None)
    assert entry.expires == TODAY + timedelta(days=90)
    assert entry.reason.startswith("TODO")


def test_a_target_on_which_a_case_passes_becomes_a_condition(write, short):
    entry = only_entry(write(*short(*everywhere("mock"))))
    assert (entry.cases, entry.releases, entry.targets) == (("lm.get.short",), (), ("mock",))


def test_releases_on_which_a_case_passes_become_a_condition(write, short):
    entry = only_entry(write(*short(*everywhere("mock", RELEASES[2:]), *everywhere("fixtures", RELEASES[2:]))))
    assert [str(among) for among in entry.releases] == ["0.4.4 and later"]


def test_releases_with_gaps_are_several_ranges(write, short):
    failing = ("0.3.1", "0.3.2", "0.5.5")
    entry = only_entry(write(*short(*everywhere("mock", failing), *everywhere("fixtures", failing))))
    assert [str(among) for among in entry.releases] == ["0.3.1 to 0.3.2", "0.5.5"]


def test_a_run_of_one_release_claims_nothing_of_others(write, record):
    entry = only_entry(write(record(release="0.5.6"), releases=("0.5.6",)))
    assert [str(among) for among in entry.releases] == ["0.5.6"]


def test_variants_that_fail_are_named(write, short):
    entry = only_entry(write(*short(*everywhere("mock", variant="a"), variants=("a", "b"))))
    assert entry.cases == ("lm.get.short[*-mock-a]",)


def test_a_variant_whose_name_another_one_ends_with_does_not_take_that_in(write, short):
    entry = only_entry(write(*short(*everywhere("mock", ["0.5.6"], "a"), variants=("a", "mock-a"))))
    assert entry.cases == ("lm.get.short[0.5.6-mock-a]",)


def test_errors_get_entries_of_their_own(write, record):
    listed = write(record(summary="wrong length"), record(summary="wrong type", release="0.5.5"))
    assert {(entry.error, *map(str, entry.releases)) for entry in listed.entries} == {
        ("wrong length", "0.5.6 and later"),
        ("wrong type", "0.5.5"),
    }


def test_many_errors_that_differ_in_numbers_share_an_entry(write, record):
    cases = [record(summary=f"{number} bytes differ", variant=f"v{number}") for number in range(5)]
    assert only_entry(write(*cases)).error == "* bytes differ"


def test_a_hang_is_listed_as_a_hang(write, record):
    entry = only_entry(write(record("hang", "get: no answer within 15 s")))
    assert ([verdict.value for verdict in entry.verdicts], entry.error) == (["hang"], "get: no answer within *")


def test_what_is_not_the_clients_fault_is_not_listed(write, record):
    verdicts = ("mock-drift", "harness-error", "environment-error", "pass", "unsupported")
    assert write(*(record(verdict, release=release) for verdict, release in zip(verdicts, RELEASES, strict=True))).entries == ()


def test_the_issues_of_the_client_are_linked(write, record):
    assert only_entry(write(record(), issues="https://example.org/issues")).issue == "https://example.org/issues"


def test_an_issue_address_that_is_none_is_left_out(write, record):
    assert only_entry(write(record(), issues="ask on the list")).issue is None


def test_a_failure_without_words_is_not_listed_but_told(results, record, tmp_path):
    written = write_expectations(results(record(summary="\ud800")), tmp_path / "known.toml", today=TODAY)
    assert (written.entries, written.unlisted) == (0, ("lm.get.short[0.5.6-mock]",))


def test_the_name_of_a_client_cannot_leave_its_comment(write, record):
    assert only_entry(write(record(), name='mine\n[[expectation]]\ncases = "*"')).cases == ("lm.get.short",)


def test_the_same_run_gives_the_same_file(results, short, tmp_path):
    run = results(*short(*everywhere("mock"), *everywhere("fixtures", RELEASES[:2])))
    texts = []
    for name in ("one.toml", "two.toml"):
        write_expectations(run, tmp_path / name, today=TODAY)
        texts.append((tmp_path / name).read_bytes())
    assert texts[0] == texts[1]


def test_a_list_that_exists_is_not_overwritten(write, record, tmp_path):
    (tmp_path / "known.toml").write_text("# mine")
    with pytest.raises(UsageError, match="is not overwritten; give --force"):
        write(record())
    assert (tmp_path / "known.toml").read_text() == "# mine"
    assert [path.name for path in tmp_path.iterdir()] == ["known.toml"]


def test_a_list_that_exists_is_refused_before_the_run(tmp_path):
    (tmp_path / "known.toml").touch()
    with pytest.raises(UsageError, match="exists and is not overwritten; name another file, or give --force"):
        require_free(tmp_path / "known.toml", force=False)


def test_with_force_it_is_replaced_also_through_a_link(write, record, tmp_path):
    (tmp_path / "real.toml").write_text("# mine")
    (tmp_path / "known.toml").symlink_to("real.toml")
    assert only_entry(write(record(), force=True)).cases == ("lm.get.short",)
    assert (tmp_path / "known.toml").is_symlink()


def test_a_folder_that_cannot_be_written_is_refused_before_the_run(tmp_path):
    with pytest.raises(UsageError, match="cannot write"):
        require_free(tmp_path / "nowhere" / "known.toml", force=True)


def test_others_may_read_a_written_list(write, record, tmp_path):
    before = os.umask(0o022)
    try:
        write(record())
    finally:
        os.umask(before)
    assert (tmp_path / "known.toml").stat().st_mode & 0o777 == 0o644


EXECUTIONS = [
    (release, target, variant) for release in RELEASES for target in ("fixtures", "mock") for variant in ("a", "b", "a-b")
]


@settings(deadline=None)
@given(
    st.sets(st.sampled_from(EXECUTIONS), min_size=1),
    st.sets(st.sampled_from(EXECUTIONS)),
    st.sets(st.sampled_from(RELEASES), min_size=1),
)
def test_covers_mean_every_chosen_execution_once_and_no_other(record_of, chosen, others, run):
    executed = [record_of(*cell) for cell in EXECUTIONS if cell in chosen | others and cell[0] in run]
    picked = [case for case in executed if (case.release, case.target, case.variant) in chosen]
    extent = Extent(CAPTURED, frozenset(map(Release.parse, run)))
    found = list(covers("lm.get.short", picked, executed, extent)) if picked else []
    for case in executed:
        assert sum(cover.means(case) for cover in found) == (case in picked)


@pytest.fixture(scope="module")
def record_of():
    from reports.record import CaseRecord
    from reports.verdict import Verdict

    def make(release, target, variant):
        return CaseRecord(
            id=f"lm.get.short[{release}-{target}-{variant}]", topic="lm.get", case="short", release=release, target=target,
            variant=variant, verdict=Verdict.FAIL, seconds=0, title="",
        )  # fmt: skip

    return make


def test_the_cover_of_a_partial_run_claims_no_release_that_was_not_run(record_of):
    extent = Extent(CAPTURED, frozenset(map(Release.parse, ("0.3.1", "0.4.4"))))
    executed = [record_of(release, "mock", "a") for release in ("0.3.1", "0.4.4")]
    (cover,) = covers("lm.get.short", executed, executed, extent)
    assert [str(among) for among in cover.releases] == ["0.3.1", "0.4.4"]


texts = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=40).map(str.strip).filter(bool)
patterns = st.text(string.ascii_lowercase + ".-*?[]'\"\\é", min_size=1, max_size=30)
ranges = st.tuples(st.sampled_from(KNOWN_RELEASES), st.none() | st.sampled_from(KNOWN_RELEASES)).map(
    lambda pair: ReleaseRange(*(word and Release.parse(word) for word in (sorted(pair, key=Release.parse) if pair[1] else pair)))
)


def several(values, least=0):
    return st.lists(values, min_size=least, max_size=3, unique_by=str).map(tuple)


entries = st.builds(
    Entry,
    number=st.just(1),
    cases=several(patterns, least=1),
    outcome=st.sampled_from(["fail", "flaky"]),
    reason=texts,
    expires=st.dates(),
    errors=st.lists(texts.filter(lambda text: text.replace("*", "").strip()), min_size=1, max_size=2, unique=True).map(tuple),
    verdicts=several(st.sampled_from(EXPECTABLE), least=1),
    issue=st.none() | st.just("https://example.org/issues/7?a=\"b'"),
    releases=several(ranges),
    targets=several(st.sampled_from(TARGETS)),
    platforms=several(st.sampled_from(PLATFORMS)),
)


@settings(deadline=None)
@given(st.lists(entries, max_size=4))
def test_what_is_written_reads_back(tmp_path_factory, written):
    path = tmp_path_factory.mktemp("list") / "known.toml"
    numbered = tuple(replace(entry, number=number) for number, entry in enumerate(written, start=1))
    path.write_bytes(text_of(numbered, "# a list\n\n").encode())
    assert read_expectations(path).entries == numbered


@pytest.fixture
def renewed(write, tmp_path):
    """Bring a list up to date with how cases end now."""

    def renew(old, *cases):
        book = Book(old, today=TODAY, machine=frozenset())
        return write(*map(book.judged, cases), path=tmp_path / "new.toml", old=old)

    return renew


@pytest.fixture
def filled(write):
    """A list from a run, with a reason."""

    def fill(*cases, **more):
        listed = write(*cases)
        return replace(listed, entries=tuple(replace(entry, reason="it rounds down", **more) for entry in listed.entries))

    return fill


def test_an_entry_that_holds_is_kept(filled, renewed, short):
    cases = short(*everywhere("mock"))
    old = filled(*cases, expires=date(2027, 6, 1))
    assert renewed(old, *cases).entries == old.entries


def test_an_entry_whose_cases_pass_is_dropped(filled, renewed, short):
    assert renewed(filled(*short(*everywhere("mock"))), *short()).entries == ()


def test_an_entry_some_of_whose_cases_pass_is_narrowed_and_keeps_its_reason(filled, renewed, short):
    entry = only_entry(renewed(filled(*short(*everywhere("mock"))), *short(*everywhere("mock", RELEASES[:2]))))
    assert (entry.reason, [str(among) for among in entry.releases]) == ("it rounds down", ["0.3.1 to 0.3.2"])


def test_a_new_failure_gets_an_entry_beside_the_old_one(filled, renewed, short, record):
    old = filled(*short(*everywhere("mock")))
    first, second = renewed(old, *short(*everywhere("mock")), record(name="lm.put.large")).entries
    assert (first, second.cases) == (only_entry(old), ("lm.put.large",))


def test_another_error_gets_an_entry_that_must_be_looked_at(filled, renewed, record):
    entry = only_entry(renewed(filled(record()), record(summary="wrong type")))
    assert (entry.error, entry.reason) == ("wrong type", "TODO: look again; the entry before said: it rounds down")


def test_an_expired_entry_is_renewed_only_with_a_reason_that_must_be_looked_at(filled, renewed, record):
    entry = only_entry(renewed(filled(record(), expires=TODAY - timedelta(days=1)), record()))
    assert entry.reason.startswith("TODO: look again")
    assert entry.expires == TODAY + timedelta(days=90)


def test_a_case_that_was_not_run_is_listed_by_its_verdict_so_that_a_run_which_comes_to_it_agrees(write, record):
    ended = [
        record("hang", "get: no answer within 3 s", release="0.5.5"),
        record("hang", "not run: `get` of the client hung 6 times in a row before", release="0.5.6", not_run=True),
    ]
    book = Book(write(*ended), today=TODAY)
    assert [book.judged(case).verdict for case in ended] == ["known-failure"] * 2
    reached = record("hang", "put: no answer within 3 s", release="0.5.6")
    assert book.judged(reached).verdict == "known-failure"


def test_a_wrong_answer_that_was_not_seen_is_not_listed(results, record, tmp_path):
    case = record("fail", "not run: the client broke the contract 20 times", not_run=True)
    written = write_expectations(results(case), tmp_path / "known.toml", today=TODAY)
    assert written.unlisted == (case.id,)


@pytest.mark.parametrize("force", [False, True])
def test_a_list_replaces_nothing_but_a_file(tmp_path, force):
    pipe, loop = tmp_path / "pipe", tmp_path / "loop"
    os.mkfifo(pipe)
    loop.symlink_to(loop)
    for path, words in ((pipe, "no file"), (loop, "loop of links"), (tmp_path, "a folder")):
        with pytest.raises(UsageError, match=words):
            require_free(path, force=force)
    assert pipe.is_fifo()
    assert loop.is_symlink()


def test_what_came_between_is_not_replaced_either(results, record, tmp_path):
    path = tmp_path / "known.toml"
    os.mkfifo(path)
    with pytest.raises(UsageError, match="no file"):
        write_expectations(results(record()), path, today=TODAY, force=True)
    assert path.is_fifo()
