from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reports.parts import Merged, Selection, Shard, ids_digest
from reports.record import RunHeader
from reports.results import ResultsError, ResultsWriter, read_results, results_of
from reports.verdict import ExitCode, Verdict


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "out" / "results.jsonl"


@pytest.fixture
def written(path: Path, header: RunHeader, make_case: Any) -> Path:
    with ResultsWriter(path, header) as writer:
        writer.add(make_case("lm.get.a"))
        writer.add(make_case("lm.get.b", Verdict.UNSUPPORTED, reason="no get"))
    return path


def edit(path: Path, number: int, text: bytes) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    lines[number - 1] = text
    path.write_bytes(b"".join(lines))


def test_what_is_written_is_read(written: Path, header: RunHeader, make_case: Any) -> None:
    results = read_results(written)
    assert results.header == header
    assert results.cases == (make_case("lm.get.a"), make_case("lm.get.b", Verdict.UNSUPPORTED, reason="no get"))
    assert results.incomplete is None
    assert results.exit_code is ExitCode.CONFORMANT
    assert results.footer is not None
    assert results.footer.exit_code is ExitCode.CONFORMANT
    assert results.counts[Verdict.PASS] == results.footer.counts[Verdict.PASS] == 1


def test_every_record_is_in_the_file_at_once(path: Path, header: RunHeader, make_case: Any) -> None:
    writer = ResultsWriter(path, header)
    assert len(path.read_bytes().splitlines()) == 1
    writer.add(make_case())
    assert len(path.read_bytes().splitlines()) == 2
    writer.close()


def test_a_killed_run_is_incomplete(path: Path, header: RunHeader, make_case: Any) -> None:
    writer = ResultsWriter(path, header)
    writer.add(make_case())
    results = read_results(path)
    assert results.incomplete == "there is no footer: the run was killed or is still going, after 1 case"
    assert results.exit_code is ExitCode.UNDECIDED
    assert results.seconds == 0.25
    writer.close()


def test_an_exception_closes_the_run_as_incomplete(path: Path, header: RunHeader, make_case: Any) -> None:
    def interrupted() -> None:
        with ResultsWriter(path, header) as writer:
            writer.add(make_case())
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    results = read_results(path)
    assert results.incomplete == "the run was stopped before its end, after 1 case"
    assert results.footer is not None
    assert results.footer.exit_code is results.exit_code is ExitCode.UNDECIDED


def test_a_last_line_cut_off_is_incomplete_not_corrupt(written: Path) -> None:
    data = written.read_bytes()
    for size in range(data.rindex(b'{"record":"footer"') + 1, len(data)):
        written.write_bytes(data[:size])
        results = read_results(written)
        assert "cut off" in (results.incomplete or "")
        assert results.exit_code is ExitCode.UNDECIDED
        assert len(results.cases) == 2


def test_lost_lines_make_a_run_incomplete(written: Path) -> None:
    edit(written, 2, b"")
    assert "the footer counts 2 cases, the file holds 1 case" in (read_results(written).incomplete or "")


def test_a_changed_verdict_makes_a_run_incomplete(written: Path) -> None:
    edit(written, 3, written.read_bytes().splitlines()[2].replace(b'"unsupported"', b'"pass"') + b"\n")
    assert "lines were lost or changed" in (read_results(written).incomplete or "")


def test_a_footer_cannot_talk_a_failure_away(path: Path, header: RunHeader, make_case: Any) -> None:
    with ResultsWriter(path, header) as writer:
        writer.add(make_case(verdict=Verdict.FAIL, summary="wrong"))
    text = path.read_text().replace('"exit_code":1', '"exit_code":0')
    path.write_text(text)
    assert read_results(path).exit_code is ExitCode.NOT_CONFORMANT


@pytest.mark.parametrize(
    ("number", "line", "fault"),
    [
        (2, b"{oops\n", "line 2: not JSON"),
        (2, b"\xff\xfe\x00\n", "line 2: not JSON"),
        (2, b'{"record": "case", "seconds": NaN}\n', "line 2: not JSON (NaN is no JSON)"),
        (2, b"\n", "line 2: not JSON"),
        (2, b"[" * 100_000 + b"\n", "line 2: "),
        (2, b"[]\n", "line 2: a line must be a JSON object"),
        (2, b'{"record": "case"}\n', "line 2: 'id' is a required property"),
        (2, b'{"record": "other"}\n', 'line 2: member "record" must be one of header, case, footer, not "other"'),
        (1, b"", "line 1: a case or footer before the header"),
    ],
)
def test_a_corrupt_line_is_named_with_its_fault_and_a_remedy(written: Path, number: int, line: bytes, fault: str) -> None:
    edit(written, number, line)
    with pytest.raises(ResultsError) as caught:
        read_results(written)
    message = str(caught.value)
    assert message.startswith(f"{written}, {fault}")
    assert "run again" in message
    assert message.isprintable()


@pytest.mark.parametrize("seconds", [10**400, 1e308, -1])
def test_a_duration_that_no_report_could_show_is_refused(written: Path, seconds: float) -> None:
    case = json.loads(written.read_text().splitlines()[1])
    edit(written, 2, json.dumps({**case, "seconds": seconds}).encode() + b"\n")
    with pytest.raises(ResultsError, match=r"line 2: member seconds: .*(than the maximum of|than the minimum of)"):
        read_results(written)


def test_joined_runs_are_refused(written: Path) -> None:
    written.write_bytes(written.read_bytes() * 2)
    with pytest.raises(ResultsError, match=r"line 5: a record after the footer; two runs were joined"):
        read_results(written)


def test_a_second_header_is_refused(written: Path) -> None:
    lines = written.read_bytes().splitlines(keepends=True)
    written.write_bytes(lines[0] + b"".join(lines))
    with pytest.raises(ResultsError, match="line 2: a second header"):
        read_results(written)


def test_a_case_recorded_twice_is_refused(written: Path) -> None:
    edit(written, 3, written.read_bytes().splitlines(keepends=True)[1])
    with pytest.raises(ResultsError, match=r"line 3: case 'lm\.get\.a\[0\.5\.6-mock\]' stands on line 2 already"):
        read_results(written)


@pytest.mark.parametrize(("version", "remedy"), [(2, "update lmcache-conformance"), (0, "run again with this lmconform")])
def test_another_schema_version_says_what_to_do(written: Path, version: int, remedy: str) -> None:
    line = json.loads(written.read_text().splitlines()[0])
    edit(written, 1, json.dumps({**line, "schema_version": version, "seed": "of another form"}).encode() + b"\n")
    with pytest.raises(ResultsError, match=remedy):
        read_results(written)


@pytest.mark.parametrize("data", [b"", b"no newline"])
def test_a_file_without_header_is_no_results_file(path: Path, data: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(data)
    with pytest.raises(ResultsError, match="no results file; run `lmconform run`"):
        read_results(path)


def test_a_missing_file_says_what_to_do(path: Path) -> None:
    with pytest.raises(ResultsError, match="no such file; run `lmconform run` first"):
        read_results(path)


def test_a_directory_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match="cannot be read"):
        read_results(tmp_path)


def test_a_new_run_replaces_the_old_file_from_its_first_line(written: Path, header: RunHeader) -> None:
    writer = ResultsWriter(written, header)
    assert read_results(written).incomplete is not None
    writer.close()
    assert list(written.parent.iterdir()) == [written]


def test_the_file_has_ordinary_permissions(written: Path) -> None:
    umask = os.umask(0)
    os.umask(umask)
    assert written.stat().st_mode & 0o777 == 0o666 & ~umask


def test_the_writer_refuses_what_no_reader_would_take(path: Path, header: RunHeader, make_case: Any) -> None:
    with ResultsWriter(path, header) as writer:
        writer.add(make_case())
        with pytest.raises(ValueError, match="recorded already"):
            writer.add(make_case())
        with pytest.raises(ValueError, match="member seconds"):
            writer.add(make_case("lm.get.other", seconds=-1.0))
        footer = writer.close()
        assert writer.close() is footer
        with pytest.raises(ValueError, match="closed"):
            writer.add(make_case("lm.get.late"))
    assert len(read_results(path).cases) == 1


def test_a_refused_header_leaves_no_file(path: Path, header: RunHeader) -> None:
    with pytest.raises(ValueError, match="member started"):
        ResultsWriter(path, RunHeader(**{**vars(header), "started": "today"}))
    assert list(path.parent.iterdir()) == []


def test_text_that_no_encoding_can_carry_survives(path: Path, header: RunHeader, make_case: Any) -> None:
    record = make_case(verdict=Verdict.UNSUPPORTED, reason="\udc80 \x00 \u2028 </script>")
    with ResultsWriter(path, header) as writer:
        writer.add(record)
    assert path.read_bytes().isascii()
    assert read_results(path).cases == (record,)


def test_results_in_memory_without_footer_are_incomplete(header: RunHeader, make_case: Any) -> None:
    assert results_of(header, [make_case()], None).exit_code is ExitCode.UNDECIDED


def test_the_footer_of_a_shard_and_its_reader_agree_on_the_exit_code(path: Path, header: RunHeader) -> None:
    ResultsWriter(path, replace(header, shard=Shard(4, 4))).close()
    results = read_results(path)
    assert results.footer is not None
    assert results.footer.exit_code is results.exit_code is ExitCode.CONFORMANT


def test_a_merged_file_with_a_fault_is_incomplete_whatever_its_footer_says(path: Path, header: RunHeader, make_case: Any) -> None:
    with ResultsWriter(path, replace(header, merged=Merged(2, (), ("shard 1/2 is missing",)))) as writer:
        writer.add(make_case())
        footer = writer.close(complete=True, seconds=12.5)
    assert footer.seconds == 12.5
    results = read_results(path)
    assert results.incomplete == "shard 1/2 is missing; 1 case in all"
    assert results.exit_code is ExitCode.UNDECIDED


def test_a_run_with_fewer_cases_than_it_selected_is_incomplete(path: Path, header: RunHeader, make_case: Any) -> None:
    selection = Selection(2, ids_digest(["a", "b"]), None, 15.0, 30.0, "venv")
    with ResultsWriter(path, replace(header, selection=selection)) as writer:
        writer.add(make_case("lm.get.a"))
        assert writer.close(complete=True).exit_code is ExitCode.UNDECIDED
    path.write_bytes(path.read_bytes().replace(b'"complete":false', b'"complete":true'))
    results = read_results(path)
    assert results.exit_code is ExitCode.UNDECIDED
    assert results.incomplete == "the run selected 2 cases, the file holds 1 case: lines were lost"
