"""``lmconform site`` as it is called."""

import os
import subprocess
import sys

from harness.cli.main import main
from reports.site.build import build
from reports.site.folder import MARK
from tests.small_site import RELEASES, gathered


def test_another_process_writes_the_same_bytes_and_says_what_it_wrote(tmp_path):
    folder = tmp_path / "site"
    words = [sys.executable, "-m", "harness.cli.main", "site", str(folder), "--releases", ",".join(RELEASES)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONHASHSEED": "77"})
    assert (done.returncode, done.stderr) == (0, "")
    written = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    del written[MARK]
    assert written == build(gathered())
    assert done.stdout.startswith(f"{folder / 'index.html'}: {sum(path.endswith('.html') for path in written)} pages, ")
    assert f", {len(written)} files" in done.stdout


def test_a_folder_of_others_is_refused_before_any_work(tmp_path, capsys):
    (tmp_path / "thesis.txt").write_text("")
    assert main(["site", str(tmp_path)]) == 2
    assert "holds files and no lmconform-site.json" in capsys.readouterr().err


def test_one_release_is_not_enough(tmp_path, capsys):
    assert main(["site", str(tmp_path / "site"), "--releases", "0.5.6"]) == 2
    assert "select two or more" in capsys.readouterr().err


def test_a_file_that_holds_no_results_is_refused(tmp_path, capsys):
    (tmp_path / "results.jsonl").write_text("{}\n")
    words = ["site", str(tmp_path / "site"), "--releases", "0.5.5,0.5.6", "--results", str(tmp_path / "results.jsonl")]
    assert main(words) == 2
    assert "results.jsonl" in capsys.readouterr().err
    assert not (tmp_path / "site").exists()
