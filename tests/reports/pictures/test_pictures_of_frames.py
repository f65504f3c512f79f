"""Frames are drawn to scale, from the tables of the wire, and agree with the bytes that were captured."""

import pytest

from fixturegen.corpus import load_corpus
from reports.drift.observe.observed import observe
from reports.pictures.frames import Fate, Field, Layout, history
from reports.pictures.headers import draw
from reports.pictures.ruler import Ruler
from reports.pictures.strip import Mark, differences, frame_strip, layout_of
from tests.reports.pictures.conftest import Drawn
from wire.lm.metadata import metadata_size
from wire.lm.profile import KEY_FIELD_SIZE, lm_profile
from wire.release import KNOWN_RELEASES, Release

BYTE = 18
BREAK = 30


def generations(drawn, kind):
    return drawn.all("g", frame=kind)


def boxes(generation):
    return [one for one in generation.iter("{http://www.w3.org/2000/svg}rect") if one.get("data-box")]


def fields_of(kind, release):
    """Name, offset and size of each field, counted here from the names alone."""
    profile = lm_profile(Release.parse(release))
    names = {"request": profile.header.request, "reply": profile.header.reply}[kind]
    found = [(name, 4 * index, 4) for index, name in enumerate(names)]
    return [*found, ("key", 4 * len(names), KEY_FIELD_SIZE)] if kind == "request" else found


@pytest.mark.parametrize("kind", ["request", "reply", "metadata"])
def test_every_release_stands_in_one_generation_of_a_frame(drawn, kind):
    named = " ".join(one.get("data-releases") for one in generations(drawn("lm-headers"), kind)).split()
    assert named == list(KNOWN_RELEASES)


@pytest.mark.parametrize("kind", ["request", "reply"])
def test_boxes_stand_at_the_offsets_of_the_table_and_are_as_wide_as_its_fields(drawn, kind):
    for generation in generations(drawn("lm-headers"), kind):
        origin = float(generation.get("data-origin"))
        assert float(generation.get("data-byte")) == BYTE
        for release in generation.get("data-releases").split():
            left = fields_of(kind, release)
            whole = [one for one in boxes(generation) if one.get("data-box") != "key"]
            assert [(one.get("data-box"), int(one.get("data-offset")), int(one.get("data-size"))) for one in whole] == [
                field for field in left if field[0] != "key"
            ]
            for box, (_, offset, size) in zip(whole, left, strict=False):
                assert (float(box.get("x")), float(box.get("width"))) == (origin + offset * BYTE, size * BYTE)


def test_a_long_key_is_cut_once_and_its_two_ends_are_to_scale(drawn):
    for generation in generations(drawn("lm-headers"), "request"):
        release = generation.get("data-releases").split()[0]
        _, offset, size = fields_of("request", release)[-1]
        head, tail = [one for one in boxes(generation) if one.get("data-box") == "key"]
        assert int(head.get("data-offset")) == offset
        assert int(tail.get("data-offset")) + int(tail.get("data-size")) == offset + size
        assert float(head.get("width")) == int(head.get("data-size")) * BYTE
        assert float(tail.get("width")) == int(tail.get("data-size")) * BYTE
        assert float(tail.get("x")) > float(head.get("x")) + float(head.get("width")) + BREAK - 1


def test_a_frame_with_a_cut_key_is_drawn_whole_as_well(drawn):
    found = drawn("lm-headers").all("g", whole="request")
    assert " ".join(one.get("data-releases") for one in found).split() == list(KNOWN_RELEASES)
    for generation in found:
        byte = float(generation.get("data-byte"))
        for rect, (name, offset, size) in zip(
            [one for one in generation if one.get("data-whole")],
            fields_of("request", generation.get("data-releases").split()[0]),
            strict=True,
        ):
            assert rect.get("data-whole") == name
            assert float(rect.get("x")) == pytest.approx(168 + offset * byte, abs=1)
            assert float(rect.get("width")) == pytest.approx(size * byte, abs=1)


def test_remote_metadata_is_as_long_as_the_codec_writes_it(drawn):
    for generation in generations(drawn("lm-headers"), "metadata"):
        found = boxes(generation)
        groups = 2 if lm_profile(Release.parse(generation.get("data-releases").split()[0])).metadata_groups else 1
        assert sum(int(one.get("data-size")) for one in found) == metadata_size(groups)
        assert [one.get("stroke-dasharray") is not None for one in found] == [False] * 7 + [True] * 5 * (groups - 1)


@pytest.mark.parametrize("release", ["0.3.1", "0.3.3", "0.5.6"])
def test_boxes_are_where_the_captured_bytes_put_the_fields(drawn, release):
    observed = observe(load_corpus(Release.parse(release)))
    for kind, frames in (("request", observed.request), ("reply", observed.reply)):
        (generation,) = [one for one in generations(drawn("lm-headers"), kind) if release in one.get("data-releases").split()]
        at = {one.get("data-box"): int(one.get("data-offset")) for one in reversed(boxes(generation))}
        assert at == {place.name: place.offset for place in frames.layout.fields}


def test_bytes_below_the_boxes_were_captured(drawn):
    for kind, operation in (("request", "encode_request"), ("reply", "encode_reply"), ("metadata", "encode_metadata")):
        for generation in generations(drawn("lm-headers"), kind):
            (shown,) = [one.get("data-bytes") for one in generation if one.get("data-bytes")]
            vectors = load_corpus(Release.parse(generation.get("data-releases").split()[-1])).vectors[operation]
            assert shown in [vector.ok["bytes"]["hex"] for vector in vectors if vector.ok]


def layout(*fields):
    offset, made = 0, []
    for name, size in fields:
        made.append(Field(name, "int", offset, size))
        offset += size
    return Layout(tuple(made))


def test_fields_that_moved_came_went_and_grew_are_told_apart():
    old, new = layout(("a", 4), ("b", 4), ("c", 2), ("d", 4)), layout(("a", 4), ("new", 4), ("b", 4), ("d", 8))
    first, second = history("reply", "Reply", [(("1",), old), (("2", "3"), new)]).generations
    assert {field.fate for field in first.layout.fields} == {Fate.SAME}
    assert [(field.name, field.fate, field.was) for field in second.layout.fields] == [
        ("a", Fate.SAME, None),
        ("new", Fate.ADDED, None),
        ("b", Fate.MOVED, 4),
        ("d", Fate.RESIZED, 10),
    ]
    assert [(field.name, field.offset) for field in second.removed] == [("c", 8)]


def test_each_fate_has_a_letter_and_a_hatch_besides_its_colour():
    old, new = layout(("a", 4), ("b", 4), ("c", 4), ("d", 4)), layout(("new", 4), ("b", 4), ("a", 4), ("d", 8))
    made = Drawn(draw([history("reply", "Reply", [(("0.3.1",), old), (("0.3.2",), new)])], [(None, None)]))
    fills = {one.get("fill") for one in made.all("rect")}
    assert {f"url(#lm-headers-{hatch})" for hatch in ("moved", "added", "removed", "resized")} <= fills
    words = made.texts()
    assert {"M 0→8", "A at 0", "R c", "S at 12"} <= set(words)
    assert [word for word in words if word in {"M", "A", "R", "S"}] == ["M", "A", "R", "S"]


def test_releases_with_the_same_layout_are_one_generation():
    same = layout(("a", 4))
    assert [one.releases for one in history("reply", "Reply", [(("1",), same), (("2",), same)]).generations] == [("1", "2")]


def test_a_ruler_leaves_out_what_is_between_its_cut_and_where_it_goes_on():
    ruler = Ruler(100, cut=10, resume=50, byte=2)
    assert [ruler.x(offset) for offset in (0, 10, 50, 52)] == [100, 120, 150, 154]
    assert ruler.pieces(8, 44) == [(8, 2), (50, 2)]
    assert [ruler.shows(offset) for offset in (9, 10, 49, 50)] == [True, False, False, True]


def test_a_strip_marks_the_bytes_that_differ_and_shows_what_was_expected():
    reply = layout_of("reply", Release.parse("0.5.6"))
    got = bytes(range(36))
    expected = got[:8] + b"\xff\xfe" + got[10:]
    strip = Drawn(frame_strip(reply, got=got, expected=expected))
    assert [one.get("data-mark") for one in strip.all("rect", mark=True)] == ["8", "9"]
    assert [word for word in strip.texts() if word in {"08", "09", "ff", "fe"}] == ["08", "09", "ff", "fe"]
    assert [row[-1] for row in strip.picture.table.rows if row[0] == "format"] == ["8, 9"]


def test_a_strip_marks_bytes_that_are_missing_and_bytes_behind_the_frame():
    reply = layout_of("reply", Release.parse("0.5.6"))
    short = Drawn(frame_strip(reply, got=bytes(32), expected=bytes(36)))
    assert [one.get("data-mark") for one in short.all("rect", mark=True)] == ["32", "33", "34", "35"]
    assert short.texts().count("--") == 4
    long = Drawn(frame_strip(reply, got=bytes(40), expected=bytes(36)))
    (behind,) = long.all("rect", box="behind the frame")
    assert (behind.get("data-offset"), behind.get("data-size")) == ("36", "4")


@pytest.mark.parametrize("per_row", [16, 36])
def test_boxes_of_a_strip_are_to_scale_whatever_its_rows(per_row):
    request = layout_of("request", Release.parse("0.5.6"))
    strip = Drawn(frame_strip(request, [Mark(180, 2, "here")], per_row=per_row))
    for box in strip.all("rect", box=True):
        offset, size = int(box.get("data-offset")), int(box.get("data-size"))
        assert (float(box.get("x")), float(box.get("width"))) == (74 + offset % per_row * 20, size * 20)
    assert "bytes 180 to 181: here" in strip.texts()
    assert any("with nothing marked" in word for word in strip.texts())


def test_differences_of_frames_are_stretches():
    assert differences(b"abcdef", b"aXXdeY") == [Mark(1, 2), Mark(5, 1)]
    assert differences(b"abc", b"abcde") == [Mark(3, 2)]
    assert differences(b"abc", b"abc") == []
