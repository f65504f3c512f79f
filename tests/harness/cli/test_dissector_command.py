"""``lmconform dissector`` writes what programs read of the specification."""

from docs.generator.links import ROOT
from harness.cli.main import main


def test_the_files_are_those_of_the_specification(tmp_path, capsys):
    assert main(["dissector", str(tmp_path / "wire")]) == 0
    there = {path.name: path.read_bytes() for path in (ROOT / "docs" / "spec" / "machine").iterdir() if path.suffix != ".md"}
    assert {path.name: path.read_bytes() for path in (tmp_path / "wire").iterdir()} == there
    assert {"lmcache_lm.lua", "lmcache_lm_0_5_1.ksy"} <= there.keys()
    assert capsys.readouterr().out.count("\n") == len(there)


def test_a_folder_that_cannot_be_written_is_told_in_a_sentence(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert main(["dissector", str(tmp_path / "file" / "wire")]) == 2
    assert "name a folder that you may write to" in capsys.readouterr().err
