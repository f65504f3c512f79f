"""What people and programs read of a bench."""

import json
import re
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest
from jsonschema import Draft202012Validator
from rich.console import Console

from reports.bench import plot
from reports.bench.document import read_bench, to_bytes, to_json
from reports.bench.limits import shortfalls
from reports.bench.numbers import duration, rate
from reports.bench.page import html, section
from reports.bench.text import foot, head, table
from reports.results import ResultsError
from reports.run.page import html as run_page
from reports.schema import schema_file
from tests.reports.run.made import made_run

SCHEMA = schema_file("bench", 1)


def test_the_schema_is_one_and_a_bench_fits_it(make_bench):
    Draft202012Validator.check_schema(SCHEMA)
    Draft202012Validator(SCHEMA).validate(to_json(make_bench()))


@pytest.mark.parametrize(
    ("place", "value"), [("ratio", None), ("client", None), ("state", "slow"), ("size", 0), ("unit", "MB/s"), ("more", 1)]
)
def test_the_schema_refuses_what_is_no_measure(make_bench, place, value):
    document = to_json(make_bench())
    document["measures"][0][place] = value
    assert not Draft202012Validator(SCHEMA).is_valid(document)


def test_what_was_written_is_read_again(make_bench, tmp_path):
    file = tmp_path / "bench.json"
    file.write_bytes(to_bytes(make_bench()))
    assert read_bench(file) == make_bench()


@pytest.mark.parametrize(
    ("content", "said"), [("{", "is no JSON"), ("{}", "is no bench.json of version 1: "), (None, "cannot be read")]
)
def test_a_file_that_is_no_bench_is_refused(tmp_path, content, said):
    file = tmp_path / "other.json"
    if content is not None:
        file.write_text(content)
    with pytest.raises(ResultsError, match=f"other.json: {said}"):
        read_bench(file)


def shown(bench):
    console = Console(width=130, file=None, highlight=False)
    with console.capture() as captured:
        console.print(table(bench))
    return captured.get().splitlines()


def test_the_table_has_a_line_for_each_measure_with_figures(make_bench):
    lines = shown(make_bench())
    assert [line.split()[0] for line in lines[1:]] == ["put-4KiB", "put-8MiB", "get-4KiB", "get-8MiB", "exist"]
    assert lines[4].split() == [
        "get-8MiB",
        "0.10",
        "GB/s",
        "2.00",
        "GB/s",
        "0.05",
        "83.9",
        "ms",
        "168",
        "ms",
        "419",
        "ms",
        "4.19",
        "s",
        "83.9",
        "ms",
        "40",
        "MiB",
    ]
    assert "included" in lines[5]


def test_what_has_no_figures_stands_below_with_the_reason_and_nothing_in_it_acts(make_bench):
    said = "\n".join(foot(make_bench()))
    assert "chunk-keys-builtin: unsupported: it is not declared" in said
    assert "chunk-keys-sha256_cbor: failed: no <answer>\\x1b" in said
    assert "exist: the adapter does not say how long the client took" in said
    assert "a call that does nothing takes 200 us through adapter and pipe" in said
    assert "memory of the client's processes: 20 MiB before, 40 MiB at most" in said
    assert "busy" not in said
    assert head(make_bench()).startswith("mine 1.2 (Rust), lmcache 0.5.6, against the mock")


def test_a_busy_machine_and_a_server_of_the_user_are_told_of(make_bench):
    conditions = replace(make_bench().conditions, load=7.5, live=True)
    said = "\n".join(foot(make_bench(conditions=conditions)))
    assert "the machine was busy (load 7.5 on 2 processors)" in said
    assert "what was stored stays on the server, under keys whose model begins with lmconform/0a1b2c3d/" in said


def test_a_ratio_below_the_bound_falls_short(make_bench):
    assert [one.name for one in shortfalls(make_bench(), 0.5)] == ["get-8MiB"]
    assert list(shortfalls(make_bench(), 0.01)) == []


def test_against_a_baseline_what_counts_is_what_is_left_of_its_ratio(make_bench):
    bench = make_bench()
    faster = make_bench(measures=[replace(one, ratio=max(one.ratio, 1.0)) if one.ratio else one for one in bench.measures])
    assert [one.name for one in shortfalls(bench, 0.85, faster)] == ["get-4KiB", "get-8MiB", "exist"]
    assert list(shortfalls(faster, 0.85, bench)) == []
    gone = make_bench(measures=[replace(bench.measures[0], state="failed", ratio=None, client=None, why="it died")])
    (lost,) = shortfalls(gone, 0.1, bench)
    assert lost.words == "it is failed now; the baseline has a ratio to the floor of 0.90"


def test_the_page_needs_nothing_else_and_escapes_what_the_client_said(make_bench):
    page = html(make_bench(subject=replace(make_bench().subject, name="<b>mine</b>")))
    assert "<script" not in page
    assert not re.search(r"(src|href)=\"(?!#)", page)
    assert "&lt;b&gt;mine&lt;/b&gt;" in page
    assert "<b>" not in page
    assert "\x1b" not in page


def test_every_plot_is_legal_told_in_words_and_inside_its_frame(make_bench):
    page = html(make_bench())
    figures = re.findall(r"<figure>.*?</figure>", page, re.DOTALL)
    assert len(figures) == 5
    for figure in figures:
        root = ET.fromstring(figure)
        (picture,) = root.iter("svg")
        assert picture.get("role") == "img"
        assert "floor" in picture.get("aria-label")
        for mark in picture.iter("circle"):
            assert 0 <= float(mark.get("cx")) <= plot.WIDTH
            assert 0 <= float(mark.get("cy")) <= plot.HEIGHT


def test_what_is_slower_stands_higher_and_what_moves_less_lower(make_bench):
    by_name = {panel.name: panel for panel in plot.panels(make_bench())}
    rates = by_name["get-rate"].marks
    client, floor = (max((mark.x, mark.y) for mark in rates if mark.who == who) for who in ("client", "floor"))
    assert client[1] > floor[1], "0.1 GB/s is drawn above 2 GB/s"
    times = [mark for mark in by_name["get-time"].marks if mark.who == "client"][-4:]
    assert [mark.kind for mark in times] == ["p50", "p90", "p99", "max"]
    assert [mark.y for mark in times] == sorted((mark.y for mark in times), reverse=True)


def test_labels_of_the_grid_are_few_and_short(make_bench):
    for panel in plot.panels(make_bench()):
        assert 2 <= len(panel.up) <= 8
        assert all(len(tick.label) <= 9 for tick in panel.up)


def test_the_page_of_a_run_shows_the_plots_if_there_are_some(make_bench):
    results = made_run(3, 0)
    page = run_page(results, None, make_bench())
    assert '<h2 id="speed">Speed</h2>' in page
    assert '<a href="#speed">' in page
    assert page.count("<figure>") == 5
    assert ".plots" in page
    assert 'id="speed"' not in run_page(results)


def test_a_bench_without_figures_is_a_page_as_well(make_bench):
    bare = make_bench(measures=make_bench().measures[-2:], empty_call=None, idle_bytes=None)
    assert "Nothing could be measured." in html(bare)
    assert "Nothing could be measured." in section(bare)
    assert json.loads(to_bytes(bare))["peak_bytes"] is None


def test_figures_read_as_people_write_them():
    assert [duration(value) for value in (0.4, 85, 1234, 9_900_000)] == ["0.40 us", "85.0 us", "1.23 ms", "9.90 s"]
    assert [rate(0.0123, "GB/s"), rate(12345.6, "calls/s")] == ["0.012 GB/s", "12,300 calls/s"]
