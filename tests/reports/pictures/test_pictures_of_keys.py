"""Keys are spelled as they were captured, and every rule is drawn over the releases that it holds for."""

import pytest

from fixturegen.corpus import load_corpus
from reports.pictures.lanes import Lane, Segment
from reports.pictures.rules import chapters
from reports.pictures.timeline import draw
from tests.reports.pictures.conftest import Drawn
from wire.keys import KEY_GRAMMARS, CacheKey, format_key
from wire.release import KNOWN_RELEASES, Release


def spelled(drawn):
    return drawn("key-grammar").all("g", spelling=True)


def test_every_release_has_one_spelling_of_its_keys(drawn):
    named = " ".join(one.get("data-releases") for one in spelled(drawn) if one.get("data-spelling").startswith("lm.")).split()
    assert named == list(KNOWN_RELEASES)


def test_every_grammar_of_the_wire_is_spelled_once(drawn):
    firsts = [one.get("data-releases").split()[0] for one in spelled(drawn) if one.get("data-spelling").startswith("lm.")]
    assert firsts == [str(range_.first) for range_, _ in KEY_GRAMMARS.rows()]


def test_keys_are_shown_as_they_were_captured(drawn):
    for one in spelled(drawn):
        protocol, operation, member = (
            ("lm", "format_key", "text") if one.get("data-spelling").startswith("lm.") else ("mp", "mp_object_keys", "names")
        )
        releases = one.get("data-releases").split()
        for release in (releases[0], releases[-1]):
            vectors = load_corpus(Release.parse(release), protocol=protocol).vectors[operation]
            (found,) = [vector.ok[member] for vector in vectors if vector.id == one.get("data-spelling")]
            assert one.get("data-text") in ([found] if isinstance(found, str) else found)
        assert one.get("data-text") in drawn("key-grammar").texts(one)


def test_parts_of_a_key_are_its_text_between_separators(drawn):
    for one in spelled(drawn):
        parts = [rect for rect in one.iter("{http://www.w3.org/2000/svg}rect") if rect.get("data-part")]
        assert "@".join(rect.find("{http://www.w3.org/2000/svg}title").text for rect in parts) == one.get("data-text")


def test_parts_are_named_as_the_codec_takes_them(drawn):
    for one in spelled(drawn):
        if not one.get("data-spelling").startswith("lm."):
            continue
        release = Release.parse(one.get("data-releases").split()[-1])
        parts = [
            (rect.get("data-part"), rect.find("{http://www.w3.org/2000/svg}title").text)
            for rect in one.iter("{http://www.w3.org/2000/svg}rect")
            if rect.get("data-part")
        ]
        found = dict(parts)
        grammar = KEY_GRAMMARS[release]
        read = {"text": str, "hex": lambda text: int(text, 16)}.get(grammar.hash_style, int)
        key = CacheKey(
            model=found["model"],
            world_size=int(found["world"]),
            worker_id=int(found["worker"]),
            chunk_hash=read(found["hash"]),
            dtype=found.get("dtype"),
            fmt=found.get("fmt"),
            layer=int(found["layer"]),
            tags=tuple(tuple(text.split("%")) for kind, text in parts if kind == "tag"),
        )
        assert format_key(release, key) == one.get("data-text")


def test_lanes_have_every_release_once_or_not_at_all(drawn):
    pieces = {}
    for rect in drawn("wire-timeline").all("rect", lane=True):
        pieces.setdefault(rect.get("data-lane"), []).extend(rect.get("data-releases").split())
    assert pieces
    for lane, releases in pieces.items():
        assert releases == [one for one in KNOWN_RELEASES if one in releases], lane
        assert releases == list(KNOWN_RELEASES[KNOWN_RELEASES.index(releases[0]) :]), lane


def test_pieces_of_lanes_stand_below_the_names_of_their_releases(drawn):
    timeline = drawn("wire-timeline")
    columns = {one.get("data-release"): float(one.get("x")) for one in timeline.all("text", release=True)}
    assert list(columns) == list(KNOWN_RELEASES)
    for rect in timeline.all("rect", lane=True):
        left, right = float(rect.get("x")), float(rect.get("x")) + float(rect.get("width"))
        covered = [release for release, x in columns.items() if left < x < right]
        assert covered == rect.get("data-releases").split()


def test_rules_are_cut_where_their_tables_are():
    cuts = {
        lane.title: [segment.releases[0] for segment in lane.segments if segment.label][1:]
        for one in chapters()
        for lane in one.lanes
    }
    assert cuts["Memory formats"] == ["0.4.5", "0.5.1"]
    assert cuts["Hash of a chunk"] == ["0.3.3", "0.3.4", "0.4.1"]
    assert cuts["KV tensors cross as"] == ["0.5.6"]


@pytest.mark.parametrize("labels", [("a", "b", "c"), ("a long text that reaches far", "another long one", "c")])
def test_words_below_a_lane_keep_clear_of_each_other(labels):
    lane = Lane("Rule", tuple(Segment((release,), label) for release, label in zip(("1", "2", "3"), labels, strict=True)))
    made = Drawn(draw([type(chapters()[0])("Chapter", (lane,))], ("1", "2", "3")))
    places = [
        (float(one.get("x")), float(one.get("y")))
        for one in made.root.iter("{http://www.w3.org/2000/svg}text")
        if one.text in labels
    ]
    rows = [y for _, y in places]
    assert rows == sorted(rows, reverse=True)
    assert len(set(rows)) == (1 if len(labels[0]) == 1 else 3)
