"""``lmconform site`` as it is called."""

import hashlib
import os
import re
import subprocess
import sys

from harness.cli.main import main
from reports.site.folder import MARK, is_complete
from tests.small_site import content, site

DIGESTS = """
import hashlib
from tests.small_site import site
for path, data in site().items():
    print(hashlib.sha256(data).hexdigest(), path)
"""


def test_another_process_makes_the_same_bytes():
    done = subprocess.run(
        [sys.executable, "-c", DIGESTS], capture_output=True, text=True, check=False, env={**os.environ, "PYTHONHASHSEED": "77"}
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == [f"{hashlib.sha256(data).hexdigest()} {path}" for path, data in site().items()]


def test_what_was_written_is_told_and_is_there(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("harness.cli.site.gather", lambda *_: content())
    monkeypatch.setattr("harness.cli.site.build", lambda made: site() if made is content() else {})
    folder = tmp_path / "site"
    assert main(["site", str(folder)]) == 0
    told = capsys.readouterr()
    form = r"(.+)/index\.html: (\d+) pages, ([\d.]+) MiB, (\d+) files\n"
    place, pages, size, files = re.fullmatch(form, told.out).groups()
    written = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    del written[MARK]
    assert written == site()
    assert (place, told.err) == (str(folder), "")
    assert (int(pages), int(files)) == (len(list(folder.rglob("*.html"))), len(written))
    assert float(size) == round(sum(map(len, written.values())) / 1024 / 1024, 1)
    assert is_complete(folder)


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
