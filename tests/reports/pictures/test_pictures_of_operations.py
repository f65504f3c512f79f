"""Numbers, payloads, records and registrations are those of the captures, for every release."""

from itertools import pairwise

import pytest

from fixturegen.corpus import captured_releases, load_corpus
from reports.pictures.numbering import captured_numbering
from reports.pictures.numbers import blocks, generations
from reports.pictures.sequences import RENAMED_RECORDS
from wire.mp.operations import RENAMED
from wire.release import Release

RELEASES = [str(release) for release in sorted(captured_releases(protocol="mp"))]


def answer(release, operation):
    (vector,) = load_corpus(Release.parse(release), protocol="mp").vectors[operation]
    return vector.ok


def table(release):
    """Name to number, as captured."""
    return {one["name"]: one["wire"] for one in answer(release, "mp_operations")["operations"]}


def cells(drawn):
    """Operation, release, number of every cell of the map."""
    return [
        (row.get("data-operation"), rect.get("data-release"), rect.get("data-number"))
        for row in drawn("mp-operation-numbers").all("g", operation=True)
        for rect in row.iter("{http://www.w3.org/2000/svg}rect")
        if rect.get("data-number")
    ]


@pytest.mark.parametrize("release", RELEASES)
def test_the_map_has_every_number_of_a_release_and_no_other(drawn, release):
    shown = sorted(number for _, where, number in cells(drawn) if where == release)
    retired = answer(release, "mp_operations").get("retired", [])
    assert shown == sorted(map(str, [*table(release).values(), *retired]))


@pytest.mark.parametrize("release", RELEASES)
def test_numbers_stand_in_the_row_of_their_operation(drawn, release):
    names = {str(number): name for name, number in table(release).items()}
    for row, where, number in cells(drawn):
        if where == release and number in names:
            assert row.removesuffix(", the first") in {names[number], RENAMED.get(names[number])}


def test_releases_stand_above_the_map_once_each(drawn):
    columns = [one.get("data-release") for one in drawn("mp-operation-numbers").all("text", release=True)]
    assert columns == RELEASES


def test_cells_stand_in_the_column_of_their_release(drawn):
    made = drawn("mp-operation-numbers")
    columns = {one.get("data-release"): float(one.get("x")) for one in made.all("text", release=True)}
    for rect in made.all("rect", number=True):
        left = float(rect.get("x"))
        assert left < columns[rect.get("data-release")] < left + float(rect.get("width"))


def test_an_operation_with_a_name_that_another_takes_over_has_a_row_of_its_own():
    rows = {row.name: row for row in captured_numbering().rows}
    first, second = rows["CB_RETRIEVE_PRE_COMPUTED, the first"], rows["CB_RETRIEVE_PRE_COMPUTED"]
    assert (first.cells["0.5.3"].number, second.cells["0.5.3"].number) == (29, 35)
    assert second.names == ("CB_RETRIEVE_PRE_COMPUTED_V3", "CB_RETRIEVE_PRE_COMPUTED")
    assert "0.5.5" not in first.cells


def test_a_request_for_the_chunk_size_that_clears_the_cache_elsewhere_is_marked_as_destroying():
    rows = {row.name: row for row in captured_numbering().rows}
    collision = rows["GET_CHUNK_SIZE"].cells["0.4.7"].collision
    assert (str(collision.harm), collision.meets) == ("destroys", "CLEAR")
    assert table(collision.server)["CLEAR"] == table("0.4.7")["GET_CHUNK_SIZE"]


def test_every_mark_of_a_collision_names_another_meaning_of_the_same_number():
    for row in captured_numbering().rows:
        for cell in row.cells.values():
            if cell.collision:
                assert table(cell.collision.server)[cell.collision.meets] == cell.number
                assert cell.collision.meets not in {cell.name, row.name}


def test_a_number_that_is_retired_is_struck_out_and_means_nothing(drawn):
    retired = [(row.name, release) for row in captured_numbering().rows for release, cell in row.cells.items() if cell.retired]
    assert retired == [("QUERY_PREFETCH_LOOKUP_HITS", "0.5.6")]
    struck = [one for one in drawn("mp-operation-numbers").all("text") if one.get("text-decoration")]
    assert [one.text for one in struck] == ["11"]


def test_numbers_that_changed_are_hatched_and_others_are_not():
    found = captured_numbering()
    rows = {row.name: row for row in found.rows}
    assert [release for release in found.releases if found.moved(rows["STORE"], release)] == ["0.5.3"]
    assert found.added(rows["PING"], "0.4.2")
    assert not found.added(rows["NOOP"], "0.3.9.post1")


def test_borders_are_where_the_captured_numbers_change():
    changed = [new for old, new in pairwise(RELEASES) if table(old) != table(new)]
    assert set(captured_numbering().borders) <= set(changed)
    assert [group[0] for group in generations(captured_numbering())][1:] == captured_numbering().borders


def test_a_block_names_what_its_number_means_in_each_of_its_releases(drawn):
    meanings = {}
    for rect in drawn("mp-number-meanings").all("rect", number=True):
        first, last = RELEASES.index(rect.get("data-first")), RELEASES.index(rect.get("data-last"))
        for release in RELEASES[first : last + 1]:
            meanings[release, int(rect.get("data-number"))] = rect.get("data-operation").removesuffix(", the first")
    for release in RELEASES:
        for name, number in table(release).items():
            if isinstance(number, int):
                assert meanings.pop((release, number)) in {name, RENAMED.get(name)}
    assert list(meanings) == [("0.5.6", 11)]


def test_what_clears_the_cache_has_the_worst_letter():
    found = [block for block in blocks(captured_numbering()) if block.name == "CLEAR"]
    assert {str(block.harm) for block in found} == {"destroys"}
    assert {block.number for block in found} == {table(release)["CLEAR"] for release in RELEASES if "CLEAR" in table(release)}


def newest(type_):
    for old, new in RENAMED_RECORDS.items():
        type_ = type_.replace(old, new)
    return type_


def items(drawn, name, group, kind):
    """Release and name to the types and names of what is drawn for it."""
    found = {}
    for one in drawn(name).all("g", **{group: True}):
        rects = [rect for rect in one.iter("{http://www.w3.org/2000/svg}rect") if rect.get(f"data-{kind}")]
        for release in one.get("data-releases").split():
            assert (release, one.get(f"data-{group}")) not in found
            found[release, one.get(f"data-{group}")] = [
                (rect.get(f"data-{kind}"), rect.get("data-type"), rect.get("data-fate")) for rect in rects
            ]
    return found


def test_payloads_and_results_are_those_of_the_captures(drawn):
    payloads, results = (items(drawn, "mp-messages", "operation", kind) for kind in ("payload", "result"))
    rows = {(release, cell.name): row.name for row in captured_numbering().rows for release, cell in row.cells.items()}
    seen = 0
    for release in RELEASES:
        for one in answer(release, "mp_operations")["operations"]:
            at = (release, rows[release, one["name"]])
            assert ", ".join(type_ for _, type_, _ in payloads[at]) == newest(", ".join(one["payloads"]))
            kept = [type_ for _, type_, fate in results[at] if fate != "removed"]
            assert kept == ([] if one["response"] is None else [newest(one["response"])])
            seen += 1
    assert seen == len(payloads)


def test_fields_of_records_are_those_of_the_captures(drawn):
    found = items(drawn, "mp-records", "record", "field")
    for release in RELEASES:
        for name, members in answer(release, "mp_records")["records"].items():
            shown = found.pop((release, RENAMED_RECORDS.get(name, name)))
            assert [(field, type_) for field, type_, _ in shown] == [(one["field"], one["type"]) for one in members]
    assert found == {}


def test_changes_of_the_key_record_are_told(drawn):
    found = items(drawn, "mp-records", "record", "field")
    assert [field for field, _, fate in found["0.5.5", "IPCCacheServerKey"] if fate == "added"] == [
        "request_configs",
        "num_kv_readers",
    ]
    assert [field for field, _, fate in found["0.3.13", "IPCCacheServerKey"] if fate == "resized"] == ["worker_id"]
    assert [field for field, _, fate in items(drawn, "mp-records", "record", "removed")["0.4.2", "IPCCacheServerKey"]] == [
        "chunk_hash"
    ]


def test_registrations_are_drawn_for_the_releases_that_have_the_class(drawn):
    lanes = {}
    for rect in drawn("mp-registration").all("rect", lane=True):
        lanes.setdefault(rect.get("data-lane"), []).extend(rect.get("data-releases").split())
    for release in RELEASES:
        vectors = load_corpus(Release.parse(release), protocol="mp").vectors["mp_encode_registration"]
        assert {lane for lane, releases in lanes.items() if release in releases} == {
            one.args["wrapper"] for one in vectors if one.ok
        }
    assert all(len(set(releases)) == len(releases) for releases in lanes.values())


def test_the_first_bytes_of_registrations_were_captured(drawn):
    for one in drawn("mp-registration").all("g", blob=True):
        vectors = load_corpus(Release.parse(one.get("data-release")), protocol="mp").vectors["mp_encode_registration"]
        (hexadecimal,) = [vector.ok["bytes"]["hex"] for vector in vectors if vector.id == one.get("data-blob")]
        shown = "".join(word for word in drawn("mp-registration").texts(one) if len(word) == 2)
        assert hexadecimal.startswith(shown)
        assert len(shown) == 24
