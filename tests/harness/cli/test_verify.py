"""``lmconform verify``: the corpus is as it was captured, or the edited line is named."""

import json
import shutil

from fixturegen.corpus import captured_releases
from fixturegen.index import write_index
from wire.release import Release


def test_the_corpus_of_this_tree_is_untouched(command):
    ended = command("verify")
    assert ended.code == 0
    assert ended.err == ""
    assert len(ended.out.splitlines()) == len(captured_releases()) + len(captured_releases(protocol="mp"))


def test_conversations_with_the_multiprocess_server_are_counted(command, corpus_copy):
    lines = (corpus_copy / "0.5.6" / "mp" / "transcripts.jsonl").read_text().splitlines()
    ended = command("verify", "--corpus", str(corpus_copy))
    (found,) = [line for line in ended.out.splitlines() if line.startswith("0.5.6 mp:")]
    assert len(lines) > 0
    assert f" {len(lines)} transcripts" in found


def test_an_edited_vector_of_the_multiprocess_protocol_is_named_with_its_line(command, corpus_copy):
    path = corpus_copy / "0.5.6" / "mp" / "mp_encode_reply.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    lines[0] = lines[0].replace("REGISTER", "UNREGISTER")
    path.write_text("".join(lines))
    ended = command("verify", "--corpus", str(corpus_copy))
    assert ended.code == 2
    assert f"0.5.6 mp: {path}:1:" in ended.err
    assert "0.5.6: " in ended.out


def test_a_multiprocess_protocol_whose_manifest_is_gone_is_named(command, corpus_copy):
    (corpus_copy / "0.5.6" / "mp" / "manifest.json").unlink()
    ended = command("verify", "--corpus", str(corpus_copy))
    assert ended.code == 2
    assert f"{corpus_copy / '0.5.6' / 'mp'}: has no manifest.json" in ended.err


def test_a_corpus_of_the_multiprocess_protocol_alone_is_a_corpus(command, corpus_copy):
    for path in (corpus_copy / "0.5.6").iterdir():
        if path.is_file():
            path.unlink()
    ended = command("verify", "--corpus", str(corpus_copy))
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("0.5.6 mp: ")


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


def test_a_release_whose_manifest_is_gone_is_named(command, corpus_copy):
    shutil.copytree(corpus_copy / "0.5.6", corpus_copy / "0.5.7")
    (corpus_copy / "0.5.7" / "manifest.json").unlink()
    ended = command("verify", "--corpus", str(corpus_copy))
    assert ended.code == 2
    assert f"{corpus_copy / '0.5.7'}: has no manifest.json" in ended.err
    assert ended.out.startswith("0.5.6: ")


def test_a_second_spelling_of_a_release_is_named(command, corpus_copy):
    shutil.copytree(corpus_copy / "0.5.6", corpus_copy / "v0.5.6")
    ended = command("verify", "--corpus", str(corpus_copy))
    assert ended.code == 2
    assert "v0.5.6: a folder with a manifest is named after its release; this one would be 0.5.6" in ended.err


def test_line_ends_that_were_rewritten_are_an_edit(command, corpus_copy):
    path = corpus_copy / "0.5.6" / "parse_key.jsonl"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    ended = command("verify", "--corpus", str(corpus_copy))
    assert ended.code == 2
    assert str(path) in ended.err


def test_a_list_of_releases_that_was_edited_is_named(command, corpus_copy):
    write_index([Release.parse("0.5.5"), Release.parse("0.5.6")], corpus_copy)
    assert command("verify", "--corpus", str(corpus_copy)).code == 0
    path = corpus_copy / "index.json"
    path.write_text(path.read_text().replace("0.5.5", "0.5.4"))
    ended = command("verify", "--corpus", str(corpus_copy))
    assert ended.code == 2
    assert f"{path}: edited after it was written" in ended.err
    assert ended.out.startswith("0.5.6: ")
