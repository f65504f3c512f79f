"""What a run executes: patterns, releases, targets, and what happens when they make no sense."""

import pytest

from harness.case import TARGETS, case, cells, parameters, spec_of
from harness.runner import collect_cases
from harness.usage import UsageError, parse_address, parse_effort, parse_releases, parse_runtime, parse_targets, read_seed
from wire.release import Release

PLAIN = "keys.parse.parse[0.5.6-fixtures-lm.key.parse.plain]"
NEWEST = [Release.parse("0.5.6")]


def ids(*only, lmcache="0.5.6", target="fixtures,mock"):
    return [listed.id for listed in collect_cases(lmcache=lmcache, target=target, only=only)]


def test_an_id_selects_itself():
    assert ids(PLAIN) == [PLAIN]


def test_a_shell_pattern_selects_what_it_matches():
    found = ids("keys.parse.*")
    assert PLAIN in found
    assert all(name.startswith("keys.parse.") for name in found)


def test_brackets_in_a_pattern_are_brackets():
    found = ids("lm.*[0.5.6-mock-KV_2?D]")
    assert found == ["lm.roundtrip.formats[0.5.6-mock-KV_2TD]"]


def test_a_case_without_brackets_selects_all_its_executions_and_no_other_case():
    found = ids("keys.parse.parse", lmcache="0.3.1,0.5.6")
    assert {name.partition("[")[0] for name in found} == {"keys.parse.parse"}
    assert {name.partition("[")[2].partition("-")[0] for name in found} == {"0.3.1", "0.5.6"}


def test_several_patterns_select_what_any_of_them_matches():
    assert set(ids(PLAIN, "keys.tokens.*")) == {PLAIN, *ids("keys.tokens.*")}


def test_a_pattern_that_matches_nothing_is_an_error_although_another_one_matches():
    with pytest.raises(UsageError, match=r"--only 'lm\.gte\.\*' matches no case of this selection"):
        ids(PLAIN, "lm.gte.*")


def test_a_pattern_that_matches_nothing_under_the_chosen_target_is_an_error():
    with pytest.raises(UsageError, match="matches no case"):
        ids(PLAIN, target="mock")


def test_the_order_is_that_of_the_cases_whatever_the_order_of_patterns():
    assert ids("keys.tokens.*", "keys.format.*") == ids("keys.format.*", "keys.tokens.*")


def test_releases_are_taken_in_the_order_given_and_once():
    assert [str(found) for found in parse_releases(" 0.5.6, 0.3.1,0.5.6 ,")] == ["0.5.6", "0.3.1"]


def test_a_misspelt_case_and_a_misspelt_topic_are_guessed(command):
    ended = command("list", "--lmcache", "0.5.6", "--only", "lm.request.encod", "--only", "lm.roundtrp.*")
    assert ended.code == 2
    assert "'lm.request.encod' (did you mean lm.request.encode?), 'lm.roundtrp.*' (did you mean lm.roundtrip.*?)" in ended.err


def test_all_releases_are_those_of_the_corpus():
    assert parse_releases("all") == sorted(parse_releases("all"))


def test_a_release_that_is_written_shorter_is_the_captured_one():
    assert [str(release) for release in parse_releases("0.5,0.5.0")] == ["0.5.0"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no release was named"),
        (" , ", "no release was named"),
        ("banana", "'banana' is not a version of lmcache"),
        ("0.1.0", "older than 0.3.1"),
        ("99.0", r"is not in the corpus \(.* run 'lmconform capture 99.0'"),
        ("0.5.66", r"lmcache 0.5.66 is not in the corpus, did you mean 0.5.6\? \(captured: "),
        ("0.4", r"lmcache 0.4 is not in the corpus, did you mean 0.4.[0-9]+\? \("),
    ],
)
def test_releases_that_make_no_sense_are_refused(text, message):
    with pytest.raises(UsageError, match=message):
        parse_releases(text)


def test_targets_are_taken_in_their_own_order():
    assert parse_targets("alone,live, fixtures,mock,mock") == list(TARGETS)


@pytest.mark.parametrize(("text", "message"), [("", "no target was named"), ("mock,real", "unknown target real; targets are")])
def test_targets_that_make_no_sense_are_refused(text, message):
    with pytest.raises(UsageError, match=message):
        parse_targets(text)


def test_a_runtime_that_is_none_is_refused():
    with pytest.raises(UsageError, match="runtimes are venv, docker"):
        parse_runtime("podman")


@pytest.mark.parametrize(
    ("examples", "deadline"), [(0, 1.0), (-1, 1.0), (1, 0.0), (1, -2.0), (1, float("inf")), (1, float("nan"))]
)
def test_an_effort_that_is_none_is_refused(examples, deadline):
    with pytest.raises(UsageError):
        parse_effort(examples, deadline)


@pytest.mark.parametrize("text", ["", "-1", "1.5", "0x10", "Random", "\u0661"])
def test_a_seed_that_is_none_is_refused(text):
    with pytest.raises(UsageError, match="--seed"):
        read_seed(text)


def test_a_seed_is_a_number_or_one_that_nobody_chose():
    assert read_seed("20") == 20
    assert len({read_seed("random") for _ in range(20)}) > 10
    assert all(0 < read_seed("random") < 2**31 for _ in range(20))


@pytest.mark.parametrize(
    "text", ["", "localhost", "localhost:", ":1", "localhost:0", "localhost:65536", "localhost:-1", "a:b", "1:2x"]
)
def test_an_address_that_is_none_is_refused(text):
    with pytest.raises(UsageError, match="write HOST:PORT"):
        parse_address(text, NEWEST, ["live"])


def test_an_address_may_be_ipv6():
    assert parse_address("[::1]:65432", NEWEST, ["live"]) == ("::1", 65432)


def test_a_live_server_needs_the_live_target():
    with pytest.raises(UsageError, match="add --target live"):
        parse_address("localhost:1", NEWEST, ["mock"])


def test_a_live_server_runs_one_release():
    with pytest.raises(UsageError, match="runs one release"):
        parse_address("localhost:1", [*NEWEST, Release.parse("0.3.1")], ["live"])


def test_a_case_without_requirement_is_refused():
    with pytest.raises(ValueError, match="cites at least one"):
        case()


def test_a_case_without_docstring_is_refused():
    with pytest.raises(ValueError, match="no docstring"):

        @case("LM-GET-001")
        def test_mute():
            pass


def test_a_case_runs_over_releases_targets_and_variants():
    @case("LM-GET-001", targets=("mock", "live"), releases="0.3.7 and later", variants=parameters("a", "b"))
    def test_something():
        """A client does something."""

    releases = [Release.parse(text) for text in ("0.3.1", "0.3.7", "0.5.6")]
    found = [cell.id for cell in cells(spec_of(test_something), releases, ["fixtures", "mock"])]
    assert found == ["0.3.7-mock-a", "0.3.7-mock-b", "0.5.6-mock-a", "0.5.6-mock-b"]


def test_a_slow_case_runs_in_the_newest_selected_release_of_each_kind_of_frames():
    @case("LM-GET-001", targets=("mock",), once_for="frames")
    def test_something():
        """Slow."""

    def chosen(*releases):
        return [
            str(cell.release) for cell in cells(spec_of(test_something), [Release.parse(name) for name in releases], ["mock"])
        ]

    assert chosen("0.3.1", "0.3.2", "0.3.3", "0.3.5", "0.3.6", "0.5.6") == ["0.3.2", "0.3.5", "0.5.6"]
    assert chosen("0.5.6", "0.3.1", "0.4.1") == ["0.5.6", "0.3.1"]
    assert chosen("0.4.1") == ["0.4.1"]
    assert chosen() == []
