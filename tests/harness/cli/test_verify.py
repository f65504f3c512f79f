"""``lmconform verify``: the corpus is as it was captured, or the edited line is named."""

import json

from fixturegen.corpus import captured_releases


def test_the_corpus_of_this_tree_is_untouched(command):
    ended = command("verify")
    assert ended.code == 0
    assert ended.err == ""
    assert len(ended.out.splitlines()) == len(captured_releases())


def test_a_copy_is_as_good(command, corpus_copy):
    ended = command("verify", "--corpus", str(corpus_copy))
    assert ended.code == 0
    assert ended.out.startswith("0.5.6: ")


def test_an_empty_folder_is_bad_input(command, tmp_path):
    ended = command("verify", "--corpus", str(tmp_path))
    assert ended.code == 2
    assert "no captured release in" in ended.err
    assert "lmconform capture" in ended.err


def test_an_edited_vector_is_named_with_its_line(command, corpus_copy):
    path = corpus_copy / "0.5.6" / "parse_key.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    changed = json.loads(lines[3])
    changed["args"]["text"] += "x"
    lines[3] = json.dumps(changed) + "\n"
    path.write_text("".join(lines))
    ended = command("verify", "--corpus", str(corpus_copy))
    assert ended.code == 2
    assert f"{path}:4: {changed['id']} was edited after capture" in ended.err


def test_a_removed_line_is_noticed(command, corpus_copy):
    path = corpus_copy / "0.5.6" / "transcripts.jsonl"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[1:]))
    ended = command("verify", "--corpus", str(corpus_copy))
    assert ended.code == 2
    assert str(path) in ended.err


def test_a_manifest_that_is_no_json_is_named(command, corpus_copy):
    (corpus_copy / "0.5.6" / "manifest.json").write_text("{")
    ended = command("verify", "--corpus", str(corpus_copy))
    assert ended.code == 2
    assert "manifest.json" in ended.err
    assert "Traceback" not in ended.err


def test_a_folder_that_is_no_release_is_named(command, corpus_copy):
    (corpus_copy / "0.5.6").rename(corpus_copy / "newest")
    ended = command("verify", "--corpus", str(corpus_copy))
    assert ended.code == 2
    assert "newest" in ended.err


def test_one_damaged_release_does_not_hide_the_others(command, corpus_copy):
    (corpus_copy / "0.3.1").mkdir()
    (corpus_copy / "0.3.1" / "manifest.json").write_text((corpus_copy / "0.5.6" / "manifest.json").read_text())
    ended = command("verify", "--corpus", str(corpus_copy))
    assert ended.code == 2
    assert ended.out.startswith("0.5.6: ")
    assert ended.err.startswith("0.3.1: ")
