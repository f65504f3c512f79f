"""A run in shards: each says what it found, and merged they are the unsharded run."""

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from harness.runner import RunOptions, run_matrix
from harness.usage import UsageError
from reports.results import read_results

SOME = ("keys.tokens.*", "lm.request.get-on-the-wire", "lm.roundtrip.miss", "lm.reply.decode")
SENT = "lm.request.encode[0.5.6-fixtures-lm.request.sent.put-kv-*]"
FAILING = "python:broken_clients:WrongByte"
COUNT = 4


def timeless(results):
    return [replace(case, seconds=0.0) for case in results.cases]


@pytest.fixture
def shards(judged):
    """The folders of all shards of a run."""

    def run(client, *only, count=COUNT, **options):
        return [judged(client, *only, shard=f"{index}/{count}", **options) for index in range(1, count + 1)]

    return run


@pytest.fixture
def merged(command):
    """Merge folders: how the command ended, and the results."""

    def run(*runs, out="merged"):
        ended = command("merge", *(str(one.folder) for one in runs), "--out", out)
        return ended, read_results(Path(out) / "results.jsonl")

    return run


def test_merged_shards_equal_the_unsharded_run(judged, shards, merged):
    options = {"lmcache": "0.3.1,0.5.6"}
    whole = judged("reference", *SOME, **options)
    ended, results = merged(*shards("reference", *SOME, **options))
    assert ended.code == whole.code == 0
    assert "CONFORMANT" in ended.out
    assert timeless(results) == timeless(whole.results)
    assert results.counts == whole.results.counts
    assert results.footer.counts == whole.results.footer.counts
    assert results.header.selection == whole.results.header.selection
    assert results.header.shard is None
    assert [part.index for part in results.header.merged.parts] == [1, 2, 3, 4]


def test_merged_shards_of_a_failing_client_equal_the_unsharded_run_and_its_list_of_known_failures(judged, shards, command):
    only = (SENT, "keys.tokens.*")
    whole = judged(FAILING, *only, write_expectations=Path("whole.toml"))
    folders = [str(run.folder) for run in shards(FAILING, *only)]
    ended = command("merge", *folders, "--out", "merged", "--write-expectations", "merged.toml")
    assert ended.code == whole.code == 1
    assert timeless(read_results(Path("merged/results.jsonl"))) == timeless(whole.results)
    assert Path("merged.toml").read_text() == Path("whole.toml").read_text()


def test_merged_shards_with_a_list_of_known_failures_equal_the_unsharded_run(judged, shards, merged, tmp_path):
    only, known = (SENT, "keys.tokens.*"), tmp_path / "known.toml"
    entry = [
        "[[expectation]]",
        f'cases = ["{SENT}"]',
        'outcome = "fail"',
        'reason = "a bit"',
        "expires = 2999-01-01",
        'error = "*differ*"',
    ]
    known.write_text("\n".join(entry))
    whole = judged(FAILING, *only, expectations=known)
    ended, results = merged(*shards(FAILING, *only, expectations=known))
    assert ended.code == whole.code == 0
    assert "NO NEW FAILURE  " in ended.out
    assert timeless(results) == timeless(whole.results)
    assert results.header.expectations == whole.results.header.expectations
    assert {str(case.verdict) for case in results.cases} == {"pass", "known-failure"}


def test_shards_do_not_depend_on_jobs(judged):
    one, two = (judged("reference", "keys.format.*", "lm.request.*", "lm.reply.*", shard="2/2", jobs=jobs) for jobs in (1, 2))
    assert timeless(one.results) == timeless(two.results)
    assert one.results.header.selection == two.results.header.selection


def test_the_exit_code_of_a_shard_speaks_of_its_own_cases(shards):
    runs = shards(FAILING, "lm.request.encode[0.5.6-fixtures-lm.request.sent.get]", "keys.tokens.hashes[*.tokens.one]", count=2)
    assert sorted((run.code, len(run.cases)) for run in runs) == [(0, 1), (1, 1)]


def test_a_shard_is_not_called_conformant(command):
    ended = command("run", "--lmcache", "0.5.6", "--only", "keys.tokens.*", "--shard", "1/2")
    assert ended.code == 0
    assert "NO FAILURE IN THIS SHARD" in ended.out
    assert "shard    1 of 2 of a selection of 10 cases" in ended.out
    assert "CONFORMANT" not in ended.out


@pytest.mark.parametrize("client", ["reference", FAILING])
def test_an_empty_shard_is_fine_and_says_so(command, client):
    words = ("--lmcache", "0.5.6", "--only", "lm.request.encode[*.sent.get]", "--shard", "200/200", "--out", "empty")
    ended = command("run", "--client", client, *words)
    assert ended.code == 0, ended.err
    assert "shard 200/200 has no case: there are more shards than cases." in ended.out
    results = read_results(Path("empty/results.jsonl"))
    assert (results.cases, results.incomplete, results.exit_code, results.footer.exit_code) == ((), None, 0, 0)
    assert "run-is-complete" not in Path("empty/junit.xml").read_text()


def test_more_shards_than_cases_merge_to_the_whole_run(shards, merged):
    ended, results = merged(*shards("reference", "lm.request.encode[*.sent.get]", count=2))
    assert (ended.code, len(results.cases), results.incomplete) == (0, 1, None)


def test_a_client_that_shows_nothing_is_not_conformant_once_merged(shards, merged):
    runs = shards(
        "python:broken_clients:FormatsKeysOnly", "lm.request.encode[*.sent.get]", "lm.request.encode[*.sent.exist]", count=2
    )
    assert [run.code for run in runs] == [0, 0]
    ended, results = merged(*runs)
    assert ended.code == results.exit_code == results.footer.exit_code == 1
    assert "so nothing was shown." in ended.out


@pytest.mark.parametrize("text", ["0/4", "5/4", "x"])
def test_what_is_no_shard_is_refused_before_anything_runs(command, text):
    ended = command("run", "--lmcache", "0.5.6", "--shard", text)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"lmconform: --shard '{text}'") or ended.err.startswith(f"lmconform: --shard {text} ")
    assert not Path("lmconform-results").exists()


def test_a_selection_without_a_case_is_refused_in_every_shard(command):
    ended = command("run", "--lmcache", "0.5.6", "--only", "lm.gte.*", "--shard", "1/2")
    assert ended.code == 2
    assert "matches no case" in ended.err


def test_a_pattern_that_means_no_case_is_refused_in_every_shard(command, tmp_path):
    Path("known.toml").write_text(
        '[[expectation]]\ncases = ["lm.gte.*"]\noutcome = "fail"\nerror = "x"\nreason = "r"\nexpires = 2999-01-01\n'
    )
    for shard in ("1/2", "2/2"):
        ended = command("run", "--lmcache", "0.5.6", "--expectations", "known.toml", "--shard", shard)
        assert ended.code == 2
        assert "'lm.gte.*' matches no case" in ended.err


def test_a_list_is_not_written_from_a_shard(judged, tmp_path):
    with pytest.raises(UsageError, match="lmconform merge --write-expectations"):
        judged(FAILING, SENT, shard="1/2", write_expectations=tmp_path / "known.toml")


def test_under_xdist_shards_write_no_results(tmp_path):
    words = ["-n", "1", "--pyargs", "cases.keys", "--shard", "1/2", "--results", "results.jsonl"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *words], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 4
    assert "--shard writes no --results under pytest-xdist" in done.stdout + done.stderr


@dataclass(frozen=True)
class Spoilt:
    """The folder of a shard, whose file can be spoiled."""

    folder: Path


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Two shards of a run, and a third of three."""
    folder = tmp_path_factory.mktemp("shards")
    for shard in ("1/2", "2/2", "2/3"):
        options = RunOptions(lmcache="0.5.6", only=("keys.tokens.*",), folder=folder / shard.replace("/", "-of-"), shard=shard)
        assert run_matrix(options) == 0
    return folder


@pytest.fixture
def copies(made, tmp_path):
    shutil.copytree(made, tmp_path / "shards")
    return lambda *names: [Spoilt(tmp_path / "shards" / name) for name in names]


@pytest.fixture
def two(copies):
    """Two shards of a run."""
    return copies("1-of-2", "2-of-2")


def lines_of(run):
    return (run.folder / "results.jsonl").read_text().splitlines(keepends=True)


def rewrite(run, lines):
    (run.folder / "results.jsonl").write_text("".join(lines))


def edit_header(run, **changes):
    header, *rest = lines_of(run)
    members = json.loads(header)
    for name, value in changes.items():
        outer, _, inner = name.partition("__")
        if inner:
            members[outer][inner] = value
        else:
            members[outer] = value
    rewrite(run, [json.dumps(members) + "\n", *rest])


def test_missing_shards_are_named_and_leave_the_run_undecided(copies, merged):
    ended, results = merged(*copies("2-of-3"))
    assert ended.code == results.exit_code == results.footer.exit_code == 3
    assert "INCOMPLETE  shards 1/3 and 3/3 are missing; 3 cases in all. Nothing is claimed about the client." in ended.out
    assert not results.footer.complete
    assert "shards 1/3 and 3/3 are missing" in Path("merged/junit.xml").read_text()


def test_a_shard_that_was_killed_leaves_the_run_undecided(two, merged):
    rewrite(two[1], lines_of(two[1])[:-2])
    ended, results = merged(*two)
    assert ended.code == results.exit_code == 3
    assert "INCOMPLETE  shard 2/2 did not end: there is no footer" in ended.out


def test_a_line_that_was_lost_leaves_the_run_undecided(two, merged):
    header, _, *rest = lines_of(two[1])
    footer = json.loads(rest[-1])
    footer["counts"]["pass"] -= 1
    rewrite(two[1], [header, *rest[:-1], json.dumps(footer) + "\n"])
    ended, _ = merged(*two)
    assert ended.code == 3
    assert "all shards together hold 9 cases, but the run selected 10: lines were lost" in ended.out


def test_a_case_that_was_changed_leaves_the_run_undecided(two, merged):
    rewrite(two[1], [line.replace('"id":"keys.tokens', '"id":"keys.other', 1) for line in lines_of(two[1])])
    ended, _ = merged(*two)
    assert ended.code == 3
    assert "other cases than the run selected" in ended.out


def test_a_damaged_file_is_refused_with_its_line(two, command):
    rewrite(two[1], [line.replace('"verdict":"pass"', '"verdict":"psas"', 1) for line in lines_of(two[1])])
    ended = command("merge", str(two[0].folder), str(two[1].folder), "--out", "merged")
    assert ended.code == 2
    assert f"{two[1].folder / 'results.jsonl'}, line 2: member verdict" in ended.err
    assert not Path("merged/results.jsonl").exists()


def test_the_same_shard_twice_counts_once(two, command):
    ended = command("merge", str(two[0].folder), str(two[1].folder), str(two[0].folder), "--out", "merged")
    assert ended.code == 0
    copy = Path("copy.jsonl")
    copy.write_text("".join(lines_of(two[0])))
    ended = command("merge", str(two[0].folder), str(two[1].folder), str(copy), "--out", "merged")
    assert ended.code == 0
    assert f"copy.jsonl is the same as {two[0].folder / 'results.jsonl'} and was passed over" in ended.err


def test_two_different_files_of_one_shard_are_refused(two, command):
    copy = Path("copy.jsonl")
    copy.write_text("".join(lines_of(two[0])).replace('"verdict":"pass"', '"verdict":"crash"'))
    ended = command("merge", *(str(run.folder) for run in two), "copy.jsonl", "--out", "merged")
    assert ended.code == 2
    assert "shard 1/2, which" in ended.err
    assert "holds with other records; keep the one that counts" in ended.err


DIFFERENT = {
    "client.version": {"client__version": "2"},
    "client.spec": {"client__spec": "stdio:./other"},
    "releases": {"releases": ["0.5.5"]},
    "targets": {"targets": ["mock"]},
    "seed": {"seed": 7},
    "corpus": {"corpus": "0"},
    "tool_version": {"tool_version": "9"},
    "expectations": {"expectations": {"file": "known.toml", "sha256": "0" * 64, "entries": 1}},
    "selection.ids": {"selection__ids": "0" * 64},
    "selection.examples": {"selection__examples": 10},
    "selection.deadline": {"selection__deadline": 1.5},
    "selection.runtime": {"selection__runtime": "docker"},
}


@pytest.mark.parametrize("member", DIFFERENT)
def test_files_of_another_run_are_refused_with_what_differs(two, command, member):
    edit_header(two[1], **DIFFERENT[member])
    ended = command("merge", *(str(run.folder) for run in two), "--out", "merged")
    assert ended.code == 2
    assert f"belongs to another run than {two[0].folder / 'results.jsonl'}: the member {member} of its header is" in ended.err


@pytest.mark.parametrize(
    "changes", [{"started": "2026-01-01T00:00:00Z"}, {"python": "3.13.0"}, {"platform": "Plan 9"}, {"command_line": ["x"]}]
)
def test_machines_may_differ(two, command, changes):
    edit_header(two[1], **changes)
    assert command("merge", *(str(run.folder) for run in two), "--out", "merged").code == 0


def test_a_client_may_declare_its_operations_in_another_order_each_time(two, command):
    declared = read_results(two[1].folder / "results.jsonl").header.client.operations
    assert len(declared) > 1
    edit_header(two[1], client__operations=list(reversed(declared)))
    assert command("merge", *(str(run.folder) for run in two), "--out", "merged").code == 0


def test_a_run_that_was_cut_differently_is_refused(copies, command):
    ended = command("merge", *(str(run.folder) for run in copies("1-of-2", "2-of-3")), "--out", "merged")
    assert ended.code == 2
    assert "the runs were cut differently" in ended.err


def test_whole_and_merged_runs_are_no_shards(two, judged, merged, command):
    whole = judged("reference", "keys.tokens.*")
    ended = command("merge", str(whole.folder), "--out", "merged")
    assert (ended.code, "holds a whole run and no shard" in ended.err) == (2, True)
    merged(*two, out="once")
    ended = command("merge", "once", "--out", "twice")
    assert (ended.code, "was merged already" in ended.err) == (2, True)


def test_folders_are_searched_and_the_merged_file_itself_is_left_out(two, command):
    shutil.rmtree(two[0].folder.parent / "2-of-3")
    for _ in range(2):
        assert command("merge", "shards", "--out", "shards").code == 0
    assert len(read_results(Path("shards/results.jsonl")).cases) == 10


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("nothing-here",), "nothing-here: no such file"),
        (("empty",), "empty: no results.jsonl in this folder or below it"),
        (("out/results.jsonl",), "would be overwritten by the merged file"),
        (("empty", "--force"), "no results.jsonl"),
    ],
)
def test_what_cannot_be_merged_is_told(command, words, message):
    Path("empty").mkdir()
    ended = command("merge", *words, "--out", "out")
    assert ended.code == 2
    assert message in ended.err


def test_merge_writes_the_summary_too(two, command):
    assert command("merge", *(str(run.folder) for run in two), "--out", "merged", "--summary", "summary.md").code == 0
    assert Path("summary.md").read_text().startswith("## CONFORMANT\n")
    assert "<h1" in Path("merged/report.html").read_text()


def test_a_case_that_two_shards_hold_is_refused(two, command):
    stolen = json.loads(lines_of(two[0])[1])["id"]
    header, case, *rest = lines_of(two[1])
    rewrite(two[1], [header, json.dumps({**json.loads(case), "id": stolen}) + "\n", *rest])
    ended = command("merge", *(str(run.folder) for run in two), "--out", "merged")
    assert ended.code == 2
    assert f"case {stolen} stands in {two[0].folder / 'results.jsonl'} too" in ended.err
    assert not Path("merged/results.jsonl").exists()


def test_a_shard_that_does_not_exist_is_refused(two, command):
    edit_header(two[1], shard__index=7)
    ended = command("merge", *(str(run.folder) for run in two), "--out", "merged")
    assert ended.code == 2
    assert "shard 7/2, which does not exist" in ended.err


def test_merge_overwrites_no_shard(two, command):
    before = lines_of(two[0])
    ended = command("merge", str(two[0].folder.parent), "--out", str(two[0].folder))
    assert ended.code == 2
    assert "is shard 1/2 and would be overwritten" in ended.err
    assert lines_of(two[0]) == before


def test_a_summary_overwrites_no_shard(two, command):
    before = lines_of(two[0])
    words = ("--out", "merged", "--summary", str(two[0].folder / "results.jsonl"))
    ended = command("merge", *(str(run.folder) for run in two), *words)
    assert ended.code == 2
    assert "results are kept under that name" in ended.err
    assert lines_of(two[0]) == before


@pytest.mark.parametrize("name", ["results.jsonl", "junit.xml", "report.html"])
def test_a_summary_overwrites_no_result(command, name):
    ended = command("run", "--only", "keys.tokens.*", "--lmcache", "0.5.6", "--out", "out", "--summary", f"out/../out/{name}")
    assert ended.code == 2
    assert "results are kept under that name" in ended.err


def test_a_summary_that_cannot_be_written_is_refused_before_anything_runs(command):
    ended = command("run", "--only", "keys.tokens.*", "--lmcache", "0.5.6", "--out", "out", "--summary", "/proc/summary.md")
    assert ended.code == 2
    assert "cannot write the summary /proc/summary.md: " in ended.err
    assert not Path("out/results.jsonl").exists()
