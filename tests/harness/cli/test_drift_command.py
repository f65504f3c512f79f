"""``lmconform drift``: arguments, formats and exit codes."""

import json
import shutil
from dataclasses import replace

import pytest

from fixturegen.corpus import CORPUS_SETTING, corpus_root, load_corpus, write_corpus
from harness.cli.main import main
from wire.release import Release

LM = ("--protocol", "lm")


@pytest.fixture
def small_corpus(tmp_path):
    """The captures of three releases."""
    for release in ("0.4.5", "0.4.6", "0.4.7"):
        shutil.copytree(corpus_root() / release, tmp_path / "corpus" / release)
    return tmp_path / "corpus"


def test_breaking_drift_ends_with_1_and_says_what_to_do(capsys):
    assert main(["drift", "0.4.5", "0.4.6"]) == 1
    out = capsys.readouterr().out
    assert out.startswith("lmcache 0.4.5 -> 0.4.6")
    assert "the first 8 bytes as a big-endian integer" in out


def test_no_drift_ends_with_0(capsys):
    assert main(["drift", "0.5.5", "0.5.6", *LM]) == 0
    assert "Nothing changed on the wire" in capsys.readouterr().out


@pytest.mark.parametrize(("fail_on", "code"), [("breaking", 0), ("behavioural", 0), ("additive", 1), ("never", 0)])
def test_the_level_that_fails_can_be_chosen(capsys, fail_on, code):
    assert main(["drift", "0.4.4", "0.4.5", "--fail-on", fail_on, *LM]) == code


def test_never_fails_not_even_for_what_breaks(capsys):
    assert main(["drift", "0.4.5", "0.4.6", "--fail-on", "never"]) == 0


def test_a_release_that_no_table_knows_is_compared_with_the_one_before_it(capsys, tmp_path):
    """What ``capture latest`` leaves behind, with one default flipped."""
    newest = load_corpus(Release.parse("0.5.6"))
    lines = {f"{op}.jsonl": [vector.to_json() for vector in vectors] for op, vectors in newest.vectors.items()}
    flipped = [replace(v, outcome={"ok": {**v.ok, "save_unfull_chunk": True}}) for v in newest.vectors["defaults"]]
    lines["defaults.jsonl"] = [vector.to_json() for vector in flipped]
    lines["transcripts.jsonl"] = [transcript.to_json() for transcript in newest.transcripts]
    shutil.copytree(corpus_root() / "0.5.6", tmp_path / "0.5.6")
    write_corpus(replace(newest.manifest, release="7.0.0"), lines, tmp_path)

    assert main(["drift", "--corpus", str(tmp_path), "--fail-on", "behavioural", "--claims", "0.4.4 and later"]) == 1
    out = " ".join(capsys.readouterr().out.split())
    assert out.startswith("lmcache 0.5.6 -> 7.0.0")
    assert "Default of save_unfull_chunk: false -> true" in out
    assert "Your client claims 0.4.4 and later, and so 7.0.0 too; 7.0.0 behaves differently in 1 point" in out


def test_without_releases_the_newest_two_are_compared(capsys, small_corpus):
    assert main(["drift", "--corpus", str(small_corpus), *LM]) == 0
    assert capsys.readouterr().out.startswith("lmcache 0.4.6 -> 0.4.7")


def test_the_newest_captured_release_is_latest(capsys, small_corpus):
    assert main(["drift", "0.4.5", "latest", "--corpus", str(small_corpus)]) == 1
    assert capsys.readouterr().out.startswith("lmcache 0.4.5 -> 0.4.7")


def test_the_folder_of_the_corpus_can_be_a_setting(capsys, small_corpus, monkeypatch):
    monkeypatch.setenv(CORPUS_SETTING, str(small_corpus))
    assert main(["drift", "--all"]) == 1
    out = capsys.readouterr().out
    assert out.startswith("lmcache 0.4.5 to 0.4.7: 3 releases")
    assert "0.4.5 -> 0.4.6" in out


def test_json_goes_to_a_file(capsys, tmp_path):
    assert main(["drift", "0.5.5", "0.5.6", "--format", "json", "--out", str(tmp_path / "drift.json"), *LM]) == 0
    document = json.loads((tmp_path / "drift.json").read_text())
    assert (document["document"], document["old"], document["new"], document["worst"]) == ("drift", "0.5.5", "0.5.6", "none")
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("form", "start"), [("md", "# lmcache 0.5.5 -> 0.5.6: none"), ("html", "<!doctype html>"), ("json", "{")]
)
def test_other_formats_go_to_standard_output(capsys, form, start):
    assert main(["drift", "0.5.5", "0.5.6", "--format", form, *LM]) == 0
    assert capsys.readouterr().out.startswith(start)


def test_text_goes_to_a_file_without_colours(tmp_path, monkeypatch):
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    main(["drift", "0.4.5", "0.4.6", "--out", str(tmp_path / "drift.txt")])
    assert "\x1b" not in (tmp_path / "drift.txt").read_text()


def test_claims_decide_about_the_exit_code(capsys):
    assert main(["drift", "0.4.5", "0.4.6", "--claims", "0.4.6 to 0.5.5"]) == 0
    assert "Your client claims 0.4.6 to 0.5.5" in capsys.readouterr().out
    assert main(["drift", "0.5.5", "0.5.6", "--claims", "0.3.14 to 0.4.5"]) == 1


def test_a_client_is_asked_what_it_claims(capsys):
    assert main(["drift", "0.5.5", "0.5.6", "--client", "reference"]) == 0
    assert "Your client claims " in capsys.readouterr().out


@pytest.mark.parametrize("words", [(), ("--protocol", "all"), ("--protocol", "mp")])
def test_the_multiprocess_protocol_is_compared_as_well(capsys, words):
    assert main(["drift", "0.5.5", "0.5.6", *words]) == 1
    out = " ".join(capsys.readouterr().out.split())
    assert "CudaIPCWrapper crosses otherwise" in out


def test_numbers_that_collide_are_said_first(capsys):
    assert main(["drift", "0.4.7", "0.5.1"]) == 1
    out = " ".join(capsys.readouterr().out.split())
    assert "1 breaking breaking breaking NUMBERS COLLIDE: a client of 0.4.7 at a server of 0.5.1 destroys data" in out
    assert "0.4.7 GET_CHUNK_SIZE 17 CLEAR destroys data" in out


def test_the_lm_protocol_can_be_left_out(capsys):
    assert main(["drift", "0.4.5", "0.4.6", "--protocol", "mp", "--format", "json"]) == 1
    aspects = {change["aspect"] for change in json.loads(capsys.readouterr().out)["changes"]}
    assert aspects >= {"mp collisions", "mp operations", "mp reading"}
    assert all(aspect.startswith("mp ") for aspect in aspects)


def test_a_release_whose_multiprocess_protocol_is_not_captured_says_so(capsys, small_corpus):
    shutil.rmtree(small_corpus / "0.4.7" / "mp")
    assert main(["drift", "0.4.6", "0.4.7", "--corpus", str(small_corpus)]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "The multiprocess protocol of 0.4.7 is not captured" in out
    assert "lmconform capture 0.4.7 --protocol mp" in out


def test_a_release_may_be_spelt_shorter(capsys):
    assert main(["drift", "0.5", "0.5.0"]) == 0
    assert main(["drift", "0.5", "0.5.1"]) == main(["drift", "0.5.0", "0.5.1"])
    shorter, longer = capsys.readouterr().out.split("lmcache 0.5.0 -> 0.5.1")[1:]
    assert shorter.strip() == longer.strip()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["0.5.6"], "give two releases, such as 0.5.6 latest"),
        (["0.5.5", "0.9.9"], "lmcache 0.9.9 is not in the corpus"),
        (["0.5.5", "soon"], "'soon' is not a version of lmcache"),
        (["0.5.5", "0.5.6", "--all"], "--all compares every captured release"),
        (["--claims", ""], "'' is not a version of lmcache"),
        (["--claims", "yesterday"], "'yesterday' is not a version of lmcache"),
        (["--claims", "0.5.6", "--client", "reference"], "give --claims or --client, not both"),
        (["--client", "nonsense"], "is no client specification"),
        (["--format", "pdf"], "pdf"),
    ],
)
def test_wrong_words_end_with_2_and_one_paragraph(capsys, words, message):
    assert main(["drift", *words]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert "Traceback" not in error


def test_an_empty_corpus_is_said_to_be_empty(capsys, tmp_path):
    assert main(["drift", "--corpus", str(tmp_path)]) == 2
    assert "a drift needs two captured releases" in capsys.readouterr().err
    assert main(["drift", "--all", "--corpus", str(tmp_path)]) == 2
