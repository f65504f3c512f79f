"""A corpus is written, read back, and says where its values come from."""

import json

import pytest

from fixturegen.corpus import Corpus, captured_releases, corpus_root, load_corpus, write_corpus
from fixturegen.errors import CorpusError
from fixturegen.manifest import Manifest
from fixturegen.vector import Step, Vector, canonical, content_hash, patterned, raw
from wire.release import Release

CAPTURED = captured_releases()


@pytest.mark.parametrize("release", CAPTURED, ids=str)
def test_every_captured_corpus_loads(release):
    corpus = load_corpus(release)
    assert corpus.release == release
    assert sum(map(len, corpus.vectors.values())) > 450
    assert len(corpus.transcripts) > 100


@pytest.mark.parametrize("release", CAPTURED, ids=str)
def test_the_manifest_counts_the_entries_of_every_file(release):
    corpus = load_corpus(release)
    counts = {f"{op}.jsonl": len(vectors) for op, vectors in corpus.vectors.items()}
    counts["transcripts.jsonl"] = len(corpus.transcripts)
    assert {name: entry.entries for name, entry in corpus.manifest.files.items()} == counts


@pytest.mark.parametrize("release", CAPTURED, ids=str)
def test_the_manifest_lists_exactly_the_volatile_vectors(release):
    corpus = load_corpus(release)
    found = {v.id: v.volatile for vectors in corpus.vectors.values() for v in vectors if v.volatile is not None}
    assert corpus.manifest.volatile == found


@pytest.mark.parametrize("release", CAPTURED, ids=str)
def test_a_manifest_is_written_as_it_was_read(release):
    path = corpus_root() / str(release) / "manifest.json"
    assert Manifest.from_text(path.read_text(), str(path)).to_text() == path.read_text()


@pytest.mark.parametrize("release", CAPTURED, ids=str)
def test_a_corpus_is_written_as_it_was_read(release, tmp_path):
    corpus = load_corpus(release)
    lines = {f"{op}.jsonl": [vector.to_json() for vector in vectors] for op, vectors in corpus.vectors.items()}
    lines["transcripts.jsonl"] = [transcript.to_json() for transcript in corpus.transcripts]
    copy = write_corpus(corpus.manifest, lines, tmp_path)
    assert files_of(copy) == files_of(corpus.directory)


def files_of(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_what_was_written_is_read_back(small_corpus, load, manifest):
    corpus = load()
    assert corpus.directory == small_corpus
    assert {op: [vector.id for vector in vectors] for op, vectors in corpus.vectors.items()} == {
        "format_key": ["lm.key.format.plain"],
        "parse_key": ["lm.key.parse.blank", "lm.key.parse.odd"],
    }
    assert [transcript.id for transcript in corpus.transcripts] == ["lm.server.health"]
    assert corpus.manifest.unavailable == manifest.unavailable


def test_vectors_and_transcripts_are_written_as_they_were_read(small_corpus, load, corpus_lines):
    corpus = load()
    assert [vector.to_json() for vector in corpus.vectors["parse_key"]] == corpus_lines["parse_key.jsonl"]
    assert [transcript.to_json() for transcript in corpus.transcripts] == corpus_lines["transcripts.jsonl"]


def test_writing_again_replaces_what_was_there_and_leaves_nothing_stale(small_corpus, load, manifest, corpus_lines, tmp_path):
    load()
    (small_corpus / "stale.jsonl").touch()
    del corpus_lines["format_key.jsonl"]
    write_corpus(manifest, corpus_lines, tmp_path)
    assert {path.name for path in small_corpus.iterdir()} == {"manifest.json", "parse_key.jsonl", "transcripts.jsonl"}
    assert "format_key" not in load_corpus(Release.parse("0.5.6"), tmp_path).vectors


def test_writing_twice_gives_the_same_bytes(small_corpus, manifest, corpus_lines, tmp_path):
    before = files_of(small_corpus)
    write_corpus(manifest, corpus_lines, tmp_path)
    assert files_of(small_corpus) == before


def test_corpus_files_are_ascii_lines(small_corpus):
    for path in small_corpus.iterdir():
        assert path.read_bytes().isascii()
        assert path.read_bytes().endswith(b"\n")


def test_releases_are_listed_oldest_first(tmp_path):
    for name in ("0.3.10", "0.3.9", "0.5.6"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "manifest.json").touch()
    (tmp_path / "no-manifest").mkdir()
    assert [str(release) for release in captured_releases(tmp_path)] == ["0.3.9", "0.3.10", "0.5.6"]


def test_a_folder_that_is_not_there_holds_no_releases(tmp_path):
    assert captured_releases(tmp_path / "nothing") == []


def test_provenance_names_release_vector_wheel_and_upstream(small_corpus, load):
    corpus = load()
    assert corpus.provenance(corpus.vector("lm.key.parse.blank")) == (
        "corpus 0.5.6, lm.key.parse.blank (wheel sha256 14530ff72b96, upstream lmcache.a.C)"
    )


def test_provenance_of_a_transcript_names_the_server(small_corpus, load):
    corpus = load()
    assert corpus.provenance(corpus.transcripts[0]) == (
        "corpus 0.5.6, lm.server.health (wheel sha256 14530ff72b96, upstream lmcache.v1.server)"
    )


def test_a_vector_that_is_not_there_is_named_with_its_release(small_corpus, load):
    with pytest.raises(CorpusError, match=r"the corpus of lmcache 0\.5\.6 has no vector 'lm\.key\.none'"):
        load().vector("lm.key.none")


def test_an_answer_is_no_refusal_and_a_refusal_no_answer(small_corpus, load):
    answer, refusal = load().vector("lm.key.format.plain"), load().vector("lm.key.parse.blank")
    assert answer.answer == {"text": "m@1@0@ab@half"}
    assert refusal.ok is None
    assert refusal.refusal == "lmcache raises ValueError: no"
    with pytest.raises(LookupError, match=r"lm\.key\.format\.plain holds an answer, not a refusal"):
        _ = answer.refusal
    with pytest.raises(LookupError, match=r"lm\.key\.parse\.blank holds a refusal, not an answer"):
        _ = refusal.answer


def test_a_refusal_without_a_message_is_its_type():
    vector = Vector("x", "op", {}, {"error": {"type": "AssertionError", "message": ""}}, "s")
    assert vector.refusal == "lmcache raises AssertionError"


def test_a_content_hash_does_not_depend_on_the_order_of_members():
    assert canonical({"b": [1, "é"], "a": None}) == b'{"a":null,"b":[1,"\\u00e9"]}'
    assert content_hash({"a": 1, "b": 2}) == content_hash({"b": 2, "a": 1})
    assert content_hash({"a": 1}) != content_hash({"a": 2})


def test_a_pattern_is_the_same_every_time_and_another_for_another_seed():
    assert patterned(3, 100) == patterned(3, 1000)[:100]
    assert patterned(3, 100) != patterned(4, 100)
    assert len(patterned(3, 0)) == 0


def test_a_send_step_gives_its_bytes_or_its_pattern():
    assert Step("send", "a", {"bytes": "00ff"}).payload() == b"\x00\xff"
    assert Step("send", "a", {"pattern": {"seed": 3, "length": 40}}).payload() == patterned(3, 40)
    assert raw({"hex": "00ff"}) == b"\x00\xff"


@pytest.mark.parametrize("release", CAPTURED, ids=str)
def test_captured_wheels_are_those_of_their_release(release):
    manifest = load_corpus(release).manifest
    assert manifest.wheel.startswith(f"lmcache-{release}-cp311-")
    assert len(bytes.fromhex(manifest.wheel_sha256)) == 32
    assert manifest.byte_order == "little"


def test_a_corpus_says_nothing_that_its_lines_do_not(small_corpus, load):
    corpus: Corpus = load()
    text = json.dumps([vector.to_json() for vectors in corpus.vectors.values() for vector in vectors], ensure_ascii=True)
    assert all(json.loads(line)["id"] in text for line in (small_corpus / "parse_key.jsonl").read_text().splitlines())
