"""``lmconform diff`` from the command line: formats, files, exit codes and bad input."""

import json
from dataclasses import replace

import jsonschema
import pytest

from reports.diagnosis import Diagnosis
from reports.diff.document import diff_schema
from reports.record import CaseRecord, ClientInfo, RunHeader
from reports.results import ResultsWriter
from reports.verdict import Verdict

HEADER = RunHeader(
    "0.1.0", "2026-01-02T03:04:05Z", ClientInfo("stdio:./mine", "mine", "1", "Rust"), ("0.5.5", "0.5.6"), ("mock",),
    ("lmconform", "run"), 0, "CPython 3.11", "Linux", "4ac22d56",
)  # fmt: skip


def case(name, why=None, release="0.5.6", verdict=Verdict.FAIL):
    topic, _, rest = name.rpartition(".")
    told = {"verdict": Verdict.PASS} if why is None else {"verdict": verdict, "diagnosis": Diagnosis(why)}
    return CaseRecord(f"{name}[{release}-mock]", topic, rest, release, "mock", seconds=0.1, title="A client waits.", **told)


@pytest.fixture
def results(tmp_path):
    """Write results below a folder of the current one."""

    def write(folder, *cases, complete=True, **about):
        with ResultsWriter(tmp_path / folder / "results.jsonl", replace(HEADER, **about)) as writer:
            for one in cases:
                writer.add(one)
            writer.close(complete=complete)
        return tmp_path / folder / "results.jsonl"

    return write


@pytest.fixture
def worse(results):
    """A good run in ``main`` and one in ``branch`` in which a case is broken and another fails in another way."""
    results("main", case("lm.get.a"), case("lm.get.b", "one"))
    return results("branch", case("lm.get.a", "wrong"), case("lm.get.b", "two"))


def test_folders_and_files_can_be_named_and_something_worse_ends_with_1(command, worse):
    ended = command("diff", "main", "branch/results.jsonl")
    assert (ended.code, ended.err) == (1, "")
    assert "WORSE  1 broken, 1 changed; 0 cases as before." in ended.out
    assert command("diff", "branch", "main").code == 0


@pytest.mark.parametrize(
    ("words", "code"), [("never", 0), ("changed", 1), ("fixed,gone", 0), ("any", 1), ("broken,new-failures", 1)]
)
def test_what_fails_can_be_chosen(command, worse, words, code):
    assert command("diff", "main", "branch", "--fail-on", words).code == code


@pytest.mark.parametrize("form", ["text", "markdown", "html", "json"])
def test_every_format_goes_to_standard_output_or_to_a_file(command, worse, tmp_path, form):
    printed = command("diff", "main", "branch", "--format", form)
    ended = command("diff", "main", "branch", "--format", form, "--out", "found")
    assert (printed.code, ended.code, ended.out) == (1, 1, "")
    assert ended.err == "found: WORSE, 1 broken, 1 changed; 0 cases as before.\n"
    written = (tmp_path / "found").read_text()
    assert "lm.get.a[0.5.6-mock]" in written
    assert form == "text" or printed.out == written


def test_json_keeps_its_schema_and_tells_the_exit_code(command, worse):
    document = json.loads(command("diff", "main", "branch", "--format", "json").out)
    jsonschema.validate(document, diff_schema())
    assert (document["exit_code"], document["verdict"], document["fail_on"]) == (1, "worse", ["broken", "new-failures"])


def test_a_run_that_did_not_end_ends_with_3(command, results, worse):
    results("cut", case("lm.get.a"), complete=False)
    for words in (("main", "cut"), ("cut", "main")):
        ended = command("diff", *words, "--fail-on", "never")
        assert ended.code == 3
        assert "UNDECIDED" in ended.out


def test_one_release_is_compared_with_another(command, results):
    results("both", case("lm.get.a", release="0.5.5"), case("lm.get.a", "wrong"))
    ended = command("diff", "both", "both", "--releases", "0.5.5:0.5.6")
    assert ended.code == 1
    assert "0.5.5 -> 0.5.6" in ended.out


def test_two_runs_without_a_common_release_are_told_how_to_be_compared(command, results):
    results("old", case("lm.get.a", release="0.5.5"), releases=("0.5.5",))
    results("new", case("lm.get.a"), releases=("0.5.6",))
    ended = command("diff", "old", "new")
    assert (ended.code, ended.out) == (2, "")
    assert "no case is in both; to compare one release with the other, add --releases 0.5.5:0.5.6" in ended.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("main", "nowhere"), "lmconform: nowhere: no such file"),
        (("main", "."), "no results.jsonl in this folder, but branch/results.jsonl is below it"),
        (("main", "empty"), "no results.jsonl in this folder; name the folder of a run"),
        (("main", "branch", "--format", "pdf"), "--format pdf: there is no such format; formats are text, markdown, html, json"),
        (("main", "branch", "--fail-on", "worse"), "--fail-on 'worse': write never or any, or some of broken, new-failures"),
        (("main", "branch", "--releases", "0.5.6"), "--releases 0.5.6: write the release of OLD and that of NEW"),
        (("main", "branch", "--releases", "0.5.6:0.1"), "branch/results.jsonl has no lmcache 0.1; its releases are 0.5.5, 0.5.6"),
        (("main", "branch", "--out", "branch/results.jsonl"), "holds the results that were asked for; name another file"),
        (("main", "branch", "--out", "no/where", "--format", "html"), "--out no/where: there is no folder no"),
        (("main", "branch", "--out", "empty", "--format", "html"), "--out empty: is a folder; name a file"),
    ],
)
def test_bad_input_is_one_line_and_ends_with_2(command, worse, tmp_path, words, said):
    (tmp_path / "empty").mkdir()
    before = worse.read_bytes()
    ended = command("diff", *words)
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err
    assert ended.err.count("\n") == 1
    assert worse.read_bytes() == before


DAMAGED = [
    (lambda _: [], "no header line, so this is no results file"),
    (lambda lines: [lines[0], b"{nonsense", *lines[1:]], "branch/results.jsonl, line 2: not JSON"),
    (lambda lines: [lines[0], b"[" * 100_000], "branch/results.jsonl, line 2: nested too deeply"),
    (lambda lines: [lines[0].replace(b'"schema_version":1', b'"schema_version":9'), *lines[1:]], "line 1: results of version 9"),
    (lambda lines: [lines[0], lines[1], *lines[1:]], "line 3: case 'lm.get.a[0.5.6-mock]' stands on line 2 already"),
    (lambda _: [b"\x00\xff" * 50], "line 1: not JSON"),
]


@pytest.mark.parametrize(("damage", "said"), DAMAGED, ids=["empty", "nonsense", "deep", "newer", "twice", "binary"])
@pytest.mark.parametrize("name", ["diff", "report"])
def test_a_damaged_file_is_told_with_its_line(command, worse, damage, said, name):
    lines = worse.read_bytes().splitlines()
    worse.write_bytes(b"".join(line + b"\n" for line in damage(lines)))
    ended = command(name, *(["main"] if name == "diff" else []), "branch")
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err
    assert len(ended.err) < 500
