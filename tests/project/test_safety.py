"""What the product never does with what others wrote: give it to a shell, evaluate or unpickle it, follow it out of a folder."""

import ast
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from harness.client import AdapterFault, Budget, ClientCrash, ClientUnavailable
from harness.clients.contract import ContractViolation
from harness.clients.scratch import Scratch, leave, take
from harness.clients.spec import open_client
from harness.clients.stdio import StdioSession
from harness.servers.spec import parse_server
from wire.mp.inert_pickle import PickleRefused, walk

ROOT = Path(__file__).resolve().parents[2]
PRODUCT = ("wire", "mockserver", "fixturegen", "reports", "harness", "cases")
OTHERS = ("benchmarks", "fuzz", "docs/generator")
STARTERS = {"run", "Popen", "call", "check_call", "check_output"}
FORBIDDEN = {
    "os.system",
    "os.popen",
    "subprocess.getoutput",
    "subprocess.getstatusoutput",
    "pickle.load",
    "pickle.loads",
    "pickle.Unpickler",
    "marshal.load",
    "marshal.loads",
    "shelve.open",
    "tempfile.mktemp",
    "yaml.load",
    "yaml.unsafe_load",
    "numpy.load",
    "np.load",
    "torch.load",
    "eval",
    "exec",
    "builtins.eval",
    "builtins.exec",
}
LOADED_ON_PURPOSE = {("fixturegen/probes/adapter/chains.py", "exec")}
"""A script of the pinned environment, which runs functions of the vLLM that is installed there."""


def files(*folders):
    for folder in folders:
        for file in sorted((ROOT / folder).rglob("*.py")):
            yield file.relative_to(ROOT).as_posix(), ast.parse(file.read_text(encoding="utf-8"))


SOURCES = dict(files(*PRODUCT, *OTHERS))


def calls(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), node


def test_nothing_is_evaluated_unpickled_or_given_to_a_shell():
    found = [(name, called) for name, tree in SOURCES.items() for called, _ in calls(tree) if called in FORBIDDEN]
    assert [place for place in found if place not in LOADED_ON_PURPOSE] == []


def test_no_call_asks_for_a_shell():
    found = [
        name
        for name, tree in SOURCES.items()
        for _, call in calls(tree)
        for word in call.keywords
        if word.arg == "shell" and not (isinstance(word.value, ast.Constant) and word.value.value is False)
    ]
    assert found == []


def test_commands_are_lists_of_words_and_never_one_text():
    texts = [
        (name, call.lineno)
        for name, tree in SOURCES.items()
        for called, call in calls(tree)
        if called.startswith("subprocess.") and called.removeprefix("subprocess.") in STARTERS and call.args
        if isinstance(call.args[0], ast.JoinedStr) or isinstance(getattr(call.args[0], "value", None), str)
    ]
    assert texts == []


def test_nothing_is_written_under_a_name_that_others_can_guess():
    found = [
        (name, node.value)
        for name, tree in SOURCES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith(("/tmp/", "/var/tmp/"))
    ]
    assert found == []


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


WORDS = (
    "a;touch pwned",
    "$(touch pwned)",
    "`touch pwned`",
    "a && touch pwned",
    "a | touch pwned",
    "a > pwned",
    "~",
    "*",
    "a b'c",
    '"',
    "\\n",
    "é\t",
)


def quoted(word):
    return "'" + word.replace("'", "'\\''") + "'"


def test_a_client_gets_the_words_of_its_command_as_they_are(folder):
    echo = folder / "an adapter; with odd characters $(x).py"
    echo.write_text("#!/usr/bin/env python3\nimport json, sys\njson.dump(sys.argv[1:], open('words.json', 'w'))\n")
    echo.chmod(0o755)
    with pytest.raises(Exception, match="hello"):
        open_client(f"stdio:{quoted('./' + echo.name)} {' '.join(map(quoted, WORDS))}", budget=Budget(start=20))
    assert __import__("json").loads((folder / "words.json").read_text()) == list(WORDS)
    assert not (folder / "pwned").exists()


@pytest.mark.parametrize("text", ["touch pwned; sh", "$(touch pwned)", "`touch pwned`", "true&&touch pwned", "|touch pwned"])
def test_what_only_a_shell_would_understand_starts_nothing(folder, text):
    with pytest.raises((ClientUnavailable, ClientCrash)):
        open_client(f"stdio:{text}", budget=Budget(start=20))
    assert not (folder / "pwned").exists()


def test_a_server_gets_its_words_as_they_are_too(folder):
    found = parse_server(f"exec:{quoted(sys.executable)} x --port {{port}} {' '.join(map(quoted, WORDS))}", "lm")
    assert found.command[4:] == WORDS


@pytest.mark.parametrize(
    "name", ["", ".", "..", "../secret", "/etc/hostname", "a/../../secret", "a\\b", "a\0b", "folder/x", "./x"]
)
def test_a_file_name_that_leads_out_of_the_scratch_directory_is_refused(tmp_path, name):
    (tmp_path / "secret").write_bytes(b"x" * 5)
    inside = tmp_path / "scratch"
    (inside / "folder").mkdir(parents=True)
    with pytest.raises(ContractViolation, match="a name without a path"):
        take(inside, name, 5)
    assert (tmp_path / "secret").exists()


def test_a_link_in_place_of_a_file_is_not_followed_and_its_goal_stays(tmp_path):
    goal = tmp_path / "secret"
    goal.write_bytes(b"x" * 5)
    inside = tmp_path / "scratch"
    inside.mkdir()
    (inside / "link").symlink_to(goal)
    os.mkfifo(inside / "pipe")
    for name in ("link", "pipe"):
        with pytest.raises(ContractViolation, match="regular file"):
            take(inside, name, 5)
    assert goal.read_bytes() == b"x" * 5


def test_the_harness_writes_no_file_through_a_link_that_a_client_left(tmp_path):
    goal = tmp_path / "victim"
    scratch = Scratch(tmp_path)
    (scratch.path / "harness-1").symlink_to(goal)
    with pytest.raises(FileExistsError):
        leave(scratch.path, "harness-1", b"data")
    assert not goal.exists()
    scratch.remove()


def test_the_scratch_directory_is_private_and_has_a_name_that_nobody_can_guess(tmp_path):
    one, two = Scratch(tmp_path), Scratch(tmp_path)
    assert one.path.stat().st_mode & 0o777 == 0o700
    assert len({one.path.name, two.path.name}) == 2
    for scratch in (one, two):
        scratch.remove()


ANSWERS_WITH_A_PATH = """#!/usr/bin/env python3
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    if request["op"] == "hello":
        ok = {{"name": "x", "version": "1", "language": "Python", "operations": ["encode_request"], "releases": ["0.5.6"]}}
    elif request["op"] == "bye":
        ok = {{}}
    else:
        ok = {{"bytes": {{"file": {name!r}, "length": 5}}}}
    print(json.dumps({{"id": request["id"], "ok": ok}}), flush=True)
    if request["op"] == "bye":
        break
"""


@pytest.mark.parametrize("name", ["../secret", "/etc/hostname"])
def test_an_adapter_that_answers_with_a_path_is_at_fault(folder, name):
    adapter = folder / "adapter.py"
    adapter.write_text(ANSWERS_WITH_A_PATH.format(name=name))
    adapter.chmod(0o755)
    session = StdioSession([str(adapter)], budget=Budget(start=20), scratch_parent=folder)
    try:
        with pytest.raises(AdapterFault, match="without a path"):
            session.call_undeclared("encode_request", {"release": "0.5.6"}, deadline=20)
    finally:
        session.stop()


class Evil:
    def __reduce__(self):
        return os.system, ("touch pwned",)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickle_that_would_run_a_command_is_read_and_refused(folder, protocol):
    with pytest.raises(PickleRefused):
        walk(pickle.dumps(Evil(), protocol), frozenset())
    assert not (folder / "pwned").exists()


def test_a_recording_is_not_written_through_a_link(tmp_path):
    from harness.tap.recording import Header, Recorder, RecordingError

    goal = tmp_path / "victim"
    (tmp_path / "link.jsonl").symlink_to(goal)
    with pytest.raises(RecordingError, match="is there already"):
        Recorder(tmp_path / "link.jsonl", Header("lm", "127.0.0.1:1", "127.0.0.1:2"))
    assert not goal.exists()


def test_a_case_is_not_written_through_a_link(tmp_path):
    from harness.tap.case import write_case
    from harness.tap.recording import RecordingError

    (tmp_path / "test_x.py").symlink_to(tmp_path / "victim")
    with pytest.raises(RecordingError, match="is there already"):
        write_case(tmp_path / "recording.jsonl", tmp_path, "x")
    assert not (tmp_path / "victim").exists()


def test_the_whole_product_can_be_imported_where_pickle_cannot_load():
    code = (
        "import pickle, sys\n"
        "def refuse(*_, **__): raise SystemExit('unpickled')\n"
        "pickle.load = pickle.loads = refuse\n"
        "from harness.cli.main import main\n"
        "sys.exit(main(['keys', '--lmcache', '0.5.6', '--vllm', 'none', '1', '2']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "unpickled" not in done.stderr + done.stdout


def test_a_corpus_is_not_written_through_links(tmp_path):
    from fixturegen.corpus import corpus_root, load_corpus, write_corpus
    from wire.release import Release

    manifest = load_corpus(Release.parse("0.3.1")).manifest
    lines = [__import__("json").loads(line) for line in (corpus_root() / "0.3.1" / "defaults.jsonl").read_text().splitlines()]
    home = tmp_path / "0.3.1"
    home.mkdir()
    for name in ("defaults.jsonl", f".defaults.jsonl.{os.getpid()}", f".manifest.json.{os.getpid()}"):
        (home / name).symlink_to(tmp_path / "victim")
    write_corpus(manifest, {"defaults.jsonl": lines}, tmp_path)
    assert not (tmp_path / "victim").exists()
    assert not (home / "defaults.jsonl").is_symlink()


def test_results_are_not_written_through_a_link(tmp_path, results_header):
    from reports.results import ResultsWriter

    (tmp_path / "results.jsonl").symlink_to(tmp_path / "victim")
    ResultsWriter(tmp_path / "results.jsonl", results_header).close()
    assert not (tmp_path / "victim").exists()
    assert not (tmp_path / "results.jsonl").is_symlink()


@pytest.fixture
def results_header():
    from reports.results import read_results

    return read_results(ROOT / "fuzz/targets/seeds/results.jsonl").header


@pytest.mark.parametrize("name", ["..", "../secret", "folder", "link", "pipe", "missing", "/etc/hostname", ""])
def test_a_payload_of_a_connector_is_a_regular_file_in_its_folder(tmp_path, name):
    from harness.remote.host_process import read_payload

    inside = tmp_path / "host"
    (inside / "folder").mkdir(parents=True)
    (tmp_path / "secret").write_bytes(b"x")
    (inside / "link").symlink_to(tmp_path / "secret")
    os.mkfifo(inside / "pipe")
    (inside / "there").write_bytes(b"data")
    with pytest.raises((OSError, ValueError)):
        read_payload(inside, f"{inside}/{name}" if not name.startswith("/") else name)
    assert read_payload(inside, str(inside / "there")) == b"data"
    assert not (inside / "there").exists()
