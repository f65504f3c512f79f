"""Damage to a corpus is found, and the message says where."""

import json
import re
import shutil

import pytest

from fixturegen.corpus import captured_releases, corpus_root, load_corpus, write_corpus
from fixturegen.errors import CorpusError
from fixturegen.manifest import Manifest
from fixturegen.vector import content_hash
from wire.release import Release


def flip(path, offset, bit=0):
    data = bytearray(path.read_bytes())
    data[offset] ^= 1 << bit
    path.write_bytes(data)


def flip_after(path, text, line=None):
    """Flip a bit of the first byte behind a text, in a line if one is given."""
    data = path.read_bytes()
    start = sum(len(part) for part in data.splitlines(keepends=True)[: (line or 1) - 1])
    flip(path, data.index(text, start) + len(text))


def edit_line(path, number, change):
    lines = path.read_text().splitlines(keepends=True)
    lines[number - 1] = change(lines[number - 1])
    path.write_text("".join(lines))


def edit_manifest(folder, change):
    path = folder / "manifest.json"
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document, indent=2) + "\n")


def refusal(load, release="0.5.6"):
    with pytest.raises(CorpusError) as caught:
        load(release)
    return str(caught.value)


@pytest.mark.parametrize("name", ["format_key.jsonl", "parse_key.jsonl", "transcripts.jsonl", "manifest.json"])
def test_any_one_flipped_bit_is_found_and_its_file_named(small_corpus, load, name):
    path = small_corpus / name
    good = path.read_bytes()
    for offset in range(len(good)):
        flip(path, offset, bit=offset % 8)
        assert str(path) in refusal(load), f"bit {offset % 8} of byte {offset}"
        path.write_bytes(good)
    load()


def test_any_flipped_bit_of_a_manifest_breaks_it(small_corpus):
    good = (small_corpus / "manifest.json").read_text()
    for offset, character in enumerate(good):
        for bit in range(7):
            damaged = f"{good[:offset]}{chr(ord(character) ^ 1 << bit)}{good[offset + 1 :]}"
            with pytest.raises(CorpusError, match="here: "):
                Manifest.from_text(damaged, "here")


@pytest.mark.parametrize("member", ['"id": "', '"op": "', '"text": "', '"type": "', '"source": "', '"hash": "'])
def test_a_flipped_bit_in_a_line_is_found_by_file_and_line(small_corpus, load, member):
    path = small_corpus / "parse_key.jsonl"
    flip_after(path, member.encode())
    assert f"{path}:1: " in refusal(load)


def test_the_line_is_the_damaged_one_and_the_vector_is_named(small_corpus, load):
    path = small_corpus / "parse_key.jsonl"
    flip_after(path, b'"volatile": "', line=2)
    assert f"{path}:2: lm.key.parse.odd was edited after capture (its hash does not match)" in refusal(load)


def test_a_flipped_bit_in_a_transcript_is_found_by_file_and_line(small_corpus, load):
    path = small_corpus / "transcripts.jsonl"
    flip_after(path, b'"got": {"bytes": "')
    assert f"{path}:1: lm.server.health was edited" in refusal(load)


def test_a_byte_that_is_no_utf8_is_found(small_corpus, load):
    path = small_corpus / "format_key.jsonl"
    flip(path, 3, bit=7)
    assert f"{path}: cannot be read" in refusal(load)


def test_a_line_that_is_no_json_is_found_by_file_and_line(small_corpus, load):
    path = small_corpus / "parse_key.jsonl"
    edit_line(path, 2, lambda line: line[:40] + "\n")
    assert f"{path}:2: not a corpus line" in refusal(load)


@pytest.mark.parametrize("text", ["[]", "5", "null", '"text"', "{}"])
def test_a_line_that_is_no_vector_is_found_by_file_and_line(small_corpus, load, text):
    path = small_corpus / "parse_key.jsonl"
    edit_line(path, 1, lambda _: text + "\n")
    assert f"{path}:1: not a corpus line" in refusal(load)


@pytest.mark.parametrize("member", ["op", "args", "source"])
def test_a_vector_without_a_member_is_found_although_its_hash_is_right(small_corpus, load, member):
    path = small_corpus / "parse_key.jsonl"

    def without(line):
        value = json.loads(line)
        del value["hash"], value[member]
        return json.dumps({**value, "hash": content_hash(value)}) + "\n"

    edit_line(path, 1, without)
    assert f"{path}:1: not a corpus line" in refusal(load)


def test_a_transcript_without_steps_is_found_although_its_hash_is_right(small_corpus, load):
    path = small_corpus / "transcripts.jsonl"
    value = {"id": "lm.server.health", "title": "HEALTH succeeds."}
    edit_line(path, 1, lambda _: json.dumps({**value, "hash": content_hash(value)}) + "\n")
    assert f"{path}:1: not a corpus line" in refusal(load)


def test_reordered_lines_are_found(small_corpus, load):
    path = small_corpus / "parse_key.jsonl"
    path.write_text("".join(reversed(path.read_text().splitlines(keepends=True))))
    assert f"{path}: 2 entries that differ from the manifest's 2 (lines were added, removed or reformatted)" in refusal(load)


def test_a_removed_line_is_found(small_corpus, load):
    path = small_corpus / "parse_key.jsonl"
    edit_line(path, 2, lambda _: "")
    assert f"{path}: 1 entries that differ from the manifest's 2" in refusal(load)


def test_an_added_line_is_found_although_its_hash_is_right(small_corpus, load):
    path = small_corpus / "parse_key.jsonl"
    value = {"id": "lm.key.parse.new", "op": "parse_key", "args": {}, "ok": {}, "source": "me"}
    edit_line(path, 2, lambda line: line + json.dumps({**value, "hash": content_hash(value)}) + "\n")
    assert f"{path}: 3 entries that differ from the manifest's 2" in refusal(load)


def test_a_line_given_twice_is_found_by_file_and_line(small_corpus, load):
    path = small_corpus / "parse_key.jsonl"
    edit_line(path, 2, lambda line: line * 2)
    assert f"{path}:3: a second entry with id 'lm.key.parse.odd'" in refusal(load)


def test_a_line_moved_to_another_file_is_found(small_corpus, load):
    (first, second) = (small_corpus / "parse_key.jsonl").read_text().splitlines(keepends=True)
    (small_corpus / "parse_key.jsonl").write_text(first)
    with (small_corpus / "format_key.jsonl").open("a") as file:
        file.write(second)
    assert f"{small_corpus / 'format_key.jsonl'}: 2 entries" in refusal(load)


def test_a_reformatted_line_is_found(small_corpus, load):
    path = small_corpus / "format_key.jsonl"
    edit_line(path, 1, lambda line: json.dumps(json.loads(line), separators=(",", ":")) + "\n")
    assert f"{path}: 1 entries that differ" in refusal(load)


def test_a_blank_line_is_found_by_file_and_line(small_corpus, load):
    path = small_corpus / "format_key.jsonl"
    edit_line(path, 1, lambda line: line + "\n")
    assert f"{path}:2: not a corpus line" in refusal(load)


def test_an_edited_line_with_a_new_hash_is_found(small_corpus, load):
    path = small_corpus / "format_key.jsonl"

    def edited(line):
        value = json.loads(line.replace("m@1@0", "m@2@0"))
        del value["hash"]
        return json.dumps({**value, "hash": content_hash(value)}) + "\n"

    edit_line(path, 1, edited)
    assert f"{path}: 1 entries that differ" in refusal(load)


@pytest.mark.parametrize("name", ["notes.txt", "parse_key.jsonl.orig", ".hidden"])
def test_an_extra_file_is_found_by_name(small_corpus, load, name):
    (small_corpus / name).touch()
    assert f"{small_corpus}: {name} is not in the manifest" in refusal(load)


def test_an_extra_folder_is_found_by_name(small_corpus, load):
    (small_corpus / "more").mkdir()
    assert f"{small_corpus}: more is not in the manifest" in refusal(load)


def test_a_missing_file_is_found_by_name(small_corpus, load):
    (small_corpus / "transcripts.jsonl").unlink()
    assert f"{small_corpus / 'transcripts.jsonl'}: cannot be read" in refusal(load)


def test_a_missing_manifest_is_a_release_that_is_not_captured(small_corpus, load):
    (small_corpus / "manifest.json").unlink()
    assert "lmcache 0.5.6 is not in the corpus (captured: none); run 'lmconform capture 0.5.6'" in refusal(load)


def test_a_release_that_is_not_captured_is_told_from_those_that_are(small_corpus, load):
    assert "lmcache 0.4.1 is not in the corpus (captured: 0.5.6); run 'lmconform capture 0.4.1'" in refusal(load, "0.4.1")


def test_a_release_that_is_spelt_shorter_than_its_folder_is_that_release():
    assert load_corpus(Release.parse("0.5")).release == Release.parse("0.5.0")
    assert load_corpus(Release.parse("0.5"), protocol="mp").manifest.release == "0.5.0"


def test_a_renamed_release_folder_is_found(small_corpus, load):
    small_corpus.rename(small_corpus.with_name("0.5.5"))
    path = small_corpus.with_name("0.5.5") / "manifest.json"
    assert f"{path}: holds lmcache 0.5.6, its folder says 0.5.5" in refusal(load, "0.5.5")


def test_a_release_folder_whose_name_is_no_release_is_found(small_corpus, tmp_path):
    shutil.copytree(small_corpus, tmp_path / "0.5.6 (copy)")
    with pytest.raises(CorpusError, match=re.escape(str(tmp_path / "0.5.6 (copy)"))):
        captured_releases(tmp_path)


@pytest.mark.parametrize("member", ["release", "byte_order", "stubs", "wheel", "files", "volatile", "unavailable"])
def test_an_edited_manifest_is_found(small_corpus, load, member):
    edit_manifest(small_corpus, lambda document: document.update({member: {} if isinstance(document[member], dict) else "big"}))
    assert str(small_corpus / "manifest.json") in refusal(load)


def test_an_edited_environment_is_found_by_its_own_seal(small_corpus, load):
    edit_manifest(small_corpus, lambda document: document["environment"].update(python="3.12.0"))
    assert f"{small_corpus / 'manifest.json'}: edited after capture (its seal does not match)" in refusal(load)


def test_a_file_hash_that_was_edited_with_its_file_is_found(small_corpus, load):
    edit_manifest(small_corpus, lambda document: document["files"]["parse_key.jsonl"].update(entries=1))
    assert "manifest.json: edited after capture" in refusal(load)


@pytest.mark.parametrize(
    "member",
    [
        "format",
        "release",
        "wheel",
        "stubs",
        "byte_order",
        "files",
        "volatile",
        "unavailable",
        "environment",
        "seal",
        "environment_seal",
    ],
)
def test_a_manifest_without_a_member_is_found(small_corpus, load, member):
    edit_manifest(small_corpus, lambda document: document.pop(member))
    assert f"{small_corpus / 'manifest.json'}: not a manifest (KeyError: '{member}')" in refusal(load)


def test_a_manifest_of_another_format_is_found(small_corpus, load):
    edit_manifest(small_corpus, lambda document: document.update(format=1))
    assert f"{small_corpus / 'manifest.json'}: format 1, this version reads 2; capture again" in refusal(load)


@pytest.mark.parametrize("text", ["", "[]", "null", "{", '{"format": 2, "wheel": []}'])
def test_a_manifest_that_is_none_is_found(small_corpus, load, text):
    (small_corpus / "manifest.json").write_text(text)
    assert f"{small_corpus / 'manifest.json'}: not a manifest" in refusal(load)


@pytest.mark.parametrize("release", [str(release) for release in captured_releases()])
def test_a_flipped_bit_in_a_captured_line_is_found_by_file_and_line(tmp_path, load, release):
    folder = shutil.copytree(corpus_root() / release, tmp_path / release)
    path = folder / "encode_request.jsonl"
    flip_after(path, b'"hex": "', line=20)
    assert f"{path}:20: lm.request.encode." in refusal(load, release)


def test_a_line_whose_hash_is_not_its_own_is_found_where_every_line_is_checked(manifest, corpus_lines, tmp_path):
    first, *others = corpus_lines["format_key.jsonl"]
    write_corpus(manifest, {**corpus_lines, "format_key.jsonl": [{**first, "hash": "0" * 16}, *others]}, tmp_path)
    release = Release.parse("0.5.6")
    assert load_corpus(release, tmp_path)
    with pytest.raises(CorpusError, match=r"format_key\.jsonl:1: lm\.key\.format\.plain was edited after capture"):
        load_corpus(release, tmp_path, every_line=True)
