"""The pinned environment as a venv: built once, cached, and clear about what is missing."""

import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from fixturegen import venv
from fixturegen.corpus import CORPUS_SETTING
from fixturegen.environment import PROBES, open_environment
from fixturegen.errors import CaptureError, EnvironmentUnavailable
from fixturegen.leash import MARK
from fixturegen.settings import SETTINGS, cache_directory, offline
from fixturegen.venv import (
    STUBS,
    STUBS_FOLDER,
    STUBS_VARIABLE,
    VenvEnvironment,
    base_requirements,
    fetch_wheel,
    parse_probe_answer,
)
from fixturegen.wheel import unpack_wheel, wheel_of
from wire.release import KNOWN_RELEASES, Release

ROOT = Path(__file__).resolve().parents[2]
RELEASE = Release.parse("0.5.6")
STUBBED = Release.parse("0.3.4")
WHEEL = "lmcache-0.5.6-cp311-cp311-manylinux_2_28_x86_64.whl"
STUBBED_WHEEL = "lmcache-0.3.4-cp311-cp311-manylinux_2_28_x86_64.whl"

JOB = {"vectors": []}

FAKE_PIP = """
import json, os, pathlib, signal, sys
with open(os.environ["FAKE_PIP_LOG"], "a") as log:
    print(json.dumps(sys.argv[1:]), file=log)
does = os.environ.get("FAKE_PIP_DOES", "")
if does == "hangs":
    signal.pause()
if does == "fails":
    print("WARNING: retrying\\nERROR: no matching distribution found", file=sys.stderr)
    raise SystemExit(1)
if does == "dies":
    print("Traceback\\n  No module named pip", file=sys.stderr)
    raise SystemExit(1)
if "-d" in sys.argv:
    (pathlib.Path(sys.argv[sys.argv.index("-d") + 1]) / os.environ["FAKE_PIP_WHEEL"]).write_bytes(b"a wheel")
"""


REAL_PYTHON = sys.executable
FAKE_INTERPRETER = """#!/bin/sh
case "$*" in
    "-m pip "*) exec {python} {pip} "$@" ;;
    "-c "*sys.version_info*) echo "${{FAKE_VERSION:-3.11}}" ;;
    "-m venv "*)
        [ -z "$FAKE_VENV_FAILS" ] || {{ echo "ensurepip is not available" >&2; exit 1; }}
        mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;;
    *) echo "unexpected: $*" >&2; exit 97 ;;
esac
"""


def script(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.fixture(autouse=True)
def interpreter(tmp_path, monkeypatch):
    """The interpreter of every test here: it calls itself CPython 3.11, its pip writes down its calls, its venvs hold itself.

    No test of this file can reach a real pip: neither through the setting, nor through the interpreter that runs pytest.
    """
    for name in SETTINGS:
        monkeypatch.delenv(name, raising=False)
    pip = tmp_path / "fake" / "pip.py"
    path = script(tmp_path / "fake" / "python", FAKE_INTERPRETER.format(python=shlex.quote(REAL_PYTHON), pip=pip))
    pip.write_text(FAKE_PIP)
    monkeypatch.setenv("FAKE_PIP_LOG", str(tmp_path / "fake" / "pip.log"))
    monkeypatch.setenv("FAKE_PIP_WHEEL", WHEEL)
    monkeypatch.setattr(sys, "executable", str(path))
    monkeypatch.setenv("LMCONFORM_PYTHON", str(path))
    return path


@pytest.fixture
def pip(tmp_path):
    """A reader of the calls of pip so far."""
    log = tmp_path / "fake" / "pip.log"
    return lambda: [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "cache"


def put_wheel(cache, name=WHEEL, files=("lmcache/__init__.py",)):
    """A wheel in the cache, as if it had been downloaded."""
    path = cache / "wheels" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for member in files:
            archive.writestr(member, f"# {member}")
    return path


def put_base(cache, text):
    """A base environment in the cache, as if it had been built, whose interpreter is a script."""
    base = VenvEnvironment(cache)._base()
    script(base / "bin" / "python", f"#!/bin/sh\n{text}\n")
    (base / ".ready").touch()
    return base


def put_python(cache, code):
    """A base environment whose interpreter runs some Python code instead."""
    file = cache / "code.py"
    cache.mkdir(exist_ok=True)
    file.write_text(code)
    return put_base(cache, f'exec {shlex.quote(REAL_PYTHON)} -B {file} "$@"')


def test_settings_have_names_of_ours_and_a_sentence_each():
    for name, text in SETTINGS.items():
        assert re.fullmatch(r"LMCONFORM_[A-Z_]+", name)
        assert len(text) > 20


def test_every_variable_that_the_environment_reads_is_a_setting():
    named = set()
    for path in (ROOT / "fixturegen").glob("*.py"):
        named |= set(re.findall(r"\"(LMCONFORM_[A-Z_]+)\"", path.read_text()))
    assert named - {CORPUS_SETTING, STUBS_VARIABLE, MARK} == set(SETTINGS)


@pytest.mark.parametrize(("value", "expected"), [(None, False), ("", False), ("0", False), ("1", True), ("yes", True)])
def test_offline_is_anything_but_nothing_and_zero(monkeypatch, value, expected):
    if value is not None:
        monkeypatch.setenv("LMCONFORM_OFFLINE", value)
    assert offline() is expected


def test_the_cache_is_where_the_setting_says(monkeypatch, tmp_path):
    monkeypatch.setenv("LMCONFORM_CACHE", str(tmp_path))
    assert cache_directory() == tmp_path


@pytest.mark.parametrize("value", [None, ""])
def test_without_the_setting_the_cache_is_the_users(monkeypatch, tmp_path, value):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    if value is not None:
        monkeypatch.setenv("LMCONFORM_CACHE", value)
    assert cache_directory().name == "lmcache-conformance"


def test_base_requirements_are_pinned():
    lines = [line for line in base_requirements().splitlines() if line and not line.startswith(("#", "-"))]
    assert any(line.startswith("torch==") for line in lines)
    assert all("==" in line for line in lines)


def test_the_torch_setting_replaces_torch_and_nothing_else(monkeypatch):
    before = base_requirements().splitlines()
    monkeypatch.setenv("LMCONFORM_TORCH", "torch==9.9")
    after = base_requirements().splitlines()
    assert [right for left, right in zip(before, after, strict=True) if left != right] == ["torch==9.9"]


def test_another_torch_is_another_base_environment(monkeypatch, cache):
    before = VenvEnvironment(cache)._base()
    monkeypatch.setenv("LMCONFORM_TORCH", "torch==9.9")
    assert VenvEnvironment(cache)._base() != before


@pytest.mark.parametrize("value", [None, ""])
def test_without_the_setting_the_interpreter_is_one_that_is_there(monkeypatch, value):
    monkeypatch.delenv("LMCONFORM_PYTHON")
    if value is not None:
        monkeypatch.setenv("LMCONFORM_PYTHON", value)
    assert Path(venv._interpreter()).is_file()


def test_offline_a_wheel_that_is_not_cached_is_unavailable(monkeypatch, cache, pip):
    monkeypatch.setenv("LMCONFORM_OFFLINE", "1")
    with pytest.raises(EnvironmentUnavailable, match=r"wheel of lmcache 0\.5\.6 is not cached and LMCONFORM_OFFLINE forbids"):
        VenvEnvironment(cache).wheel(RELEASE)
    assert pip() == []
    assert not cache.exists()


def test_offline_a_base_that_is_not_built_is_unavailable(monkeypatch, cache, pip):
    monkeypatch.setenv("LMCONFORM_OFFLINE", "1")
    put_wheel(cache)
    with pytest.raises(EnvironmentUnavailable, match="base environment is not built and LMCONFORM_OFFLINE forbids building it"):
        VenvEnvironment(cache).run_probe(RELEASE, JOB, timeout=10)
    with pytest.raises(EnvironmentUnavailable, match="LMCONFORM_OFFLINE"), VenvEnvironment(cache).server(RELEASE):
        pytest.fail("the block must not run")
    assert pip() == []


def test_offline_what_is_cached_is_used(monkeypatch, cache):
    monkeypatch.setenv("LMCONFORM_OFFLINE", "1")
    put_wheel(cache)
    put_python(cache, "print('{\"outcomes\": {}}')")
    assert VenvEnvironment(cache).wheel(RELEASE).name == WHEEL
    assert VenvEnvironment(cache).run_probe(RELEASE, JOB, timeout=30) == {"outcomes": {}}


def test_readiness_names_what_is_missing_first(cache):
    environment = VenvEnvironment(cache)
    assert "base environment" in environment.ready(RELEASE)
    put_base(cache, "exit 0")
    assert environment.ready(RELEASE) == "the wheel of lmcache 0.5.6 is not downloaded yet"
    put_wheel(cache)
    assert environment.ready(RELEASE) is None


def test_a_wheel_is_downloaded_once(cache, pip):
    first, second = fetch_wheel(RELEASE, cache), fetch_wheel(RELEASE, cache)
    assert first == second == cache / "wheels" / WHEEL
    assert len(pip()) == 1
    assert [path.name for path in first.parent.iterdir()] == [WHEEL]


def test_a_download_asks_for_the_wheel_of_cpython_3_11_alone(cache, pip):
    fetch_wheel(RELEASE, cache)
    (arguments,) = pip()
    assert "download" in arguments
    assert {"--no-deps", "--no-input", "lmcache==0.5.6"} <= set(arguments)
    assert arguments[arguments.index("--python-version") + 1] == "3.11"
    assert arguments[arguments.index("--only-binary") + 1] == ":all:"


def test_pip_arguments_of_the_setting_come_behind_the_command(monkeypatch, cache, pip):
    monkeypatch.setenv("LMCONFORM_PIP_ARGS", "--extra-index-url  https://example.invalid/cpu")
    fetch_wheel(RELEASE, cache)
    (arguments,) = pip()
    start = arguments.index("download")
    assert arguments[start + 1 : start + 3] == ["--extra-index-url", "https://example.invalid/cpu"]


def test_a_post_release_is_another_wheel(cache):
    put_wheel(cache, "lmcache-0.3.9.post1-cp311-cp311-any.whl")
    plain = put_wheel(cache, "lmcache-0.3.9-cp311-cp311-any.whl")
    assert fetch_wheel(Release.parse("0.3.9"), cache) == plain


@pytest.mark.parametrize(("does", "says"), [("fails", "ERROR: no matching distribution found"), ("dies", "No module named pip")])
def test_a_failed_download_is_unavailable_with_the_words_of_pip_and_leaves_nothing(monkeypatch, cache, pip, does, says):
    monkeypatch.setenv("FAKE_PIP_DOES", does)
    with pytest.raises(EnvironmentUnavailable) as caught:
        fetch_wheel(RELEASE, cache)
    message = str(caught.value)
    assert message.startswith("could not download lmcache 0.5.6: ")
    assert says in message
    assert "WARNING" not in message
    assert "LMCONFORM_TORCH" in message
    assert "LMCONFORM_PIP_ARGS" in message
    assert list((cache / "wheels").iterdir()) == []


def test_a_download_that_hangs_is_unavailable(monkeypatch, cache, pip):
    monkeypatch.setenv("FAKE_PIP_DOES", "hangs")
    monkeypatch.setattr(venv, "DOWNLOAD_TIMEOUT", 0.3)
    with pytest.raises(EnvironmentUnavailable, match=r"could not download lmcache 0\.5\.6: pip did not end within 0 s"):
        fetch_wheel(RELEASE, cache)


def test_a_wheel_is_known_by_name_and_sha256(tmp_path):
    path = tmp_path / WHEEL
    path.write_bytes(b"a wheel")
    found = wheel_of(path)
    assert (found.name, found.sha256) == (WHEEL, hashlib.sha256(b"a wheel").hexdigest())


@pytest.mark.parametrize("python", ["/no/such/python", "/bin/false"])
def test_an_interpreter_that_does_not_run_is_unavailable(monkeypatch, cache, python):
    monkeypatch.setenv("LMCONFORM_PYTHON", python)
    with pytest.raises(EnvironmentUnavailable, match=rf"{python} does not run .*; set LMCONFORM_PYTHON to a CPython 3\.11"):
        VenvEnvironment(cache)._python()


def test_an_interpreter_of_another_version_is_unavailable(monkeypatch, cache, interpreter):
    monkeypatch.setenv("FAKE_VERSION", "3.13")
    with pytest.raises(EnvironmentUnavailable, match=rf"needs CPython 3\.11, {interpreter} is 3\.13; set LMCONFORM_PYTHON"):
        VenvEnvironment(cache)._python()


def test_an_interpreter_that_makes_no_venv_is_unavailable_with_its_words(monkeypatch, cache, interpreter):
    monkeypatch.setenv("FAKE_VENV_FAILS", "1")
    with pytest.raises(EnvironmentUnavailable, match=f"(?s){interpreter} makes no venv.*ensurepip is not available"):
        VenvEnvironment(cache)._python()


def test_the_base_is_built_once_from_its_requirements(cache, pip, capfd):
    environment = VenvEnvironment(cache)
    python = environment._python()
    assert environment._python() == python
    (arguments,) = pip()
    assert "install" in arguments
    assert Path(arguments[arguments.index("-r") + 1]).read_text() == base_requirements()
    assert "building the pinned environment" in capfd.readouterr().err
    assert os.access(python, os.X_OK)


def test_a_base_whose_packages_do_not_install_is_unavailable_and_built_anew_next_time(monkeypatch, cache, pip):
    monkeypatch.setenv("FAKE_PIP_DOES", "fails")
    with pytest.raises(EnvironmentUnavailable, match="could not install the base environment: ERROR"):
        VenvEnvironment(cache)._python()
    monkeypatch.setenv("FAKE_PIP_DOES", "")
    VenvEnvironment(cache)._python()
    assert len(pip()) == 2


def test_prepare_builds_the_base_and_unpacks_the_wheel(cache):
    put_wheel(cache)
    environment = VenvEnvironment(cache)
    environment.prepare(RELEASE)
    assert environment.ready(RELEASE) is None
    assert (environment._unpacked(RELEASE) / "lmcache" / "__init__.py").is_file()


def test_a_wheel_is_unpacked_into_a_tree_of_its_own(cache, tmp_path):
    wheel = put_wheel(cache, files=("lmcache/__init__.py", "lmcache/v1/server.py"))
    unpack_wheel(wheel, tmp_path / "tree")
    assert (tmp_path / "tree" / "lmcache" / "v1" / "server.py").read_text() == "# lmcache/v1/server.py"


def test_unpacking_replaces_what_was_left_of_an_earlier_try(cache, tmp_path):
    tree = tmp_path / "tree"
    (tree / "lmcache").mkdir(parents=True)
    (tree / "lmcache" / "left.py").touch()
    unpack_wheel(put_wheel(cache), tree)
    assert not (tree / "lmcache" / "left.py").exists()


@pytest.mark.parametrize("text", KNOWN_RELEASES)
def test_only_0_3_4_to_0_3_6_need_stubs(text):
    assert STUBS[Release.parse(text)] == (("lmcache.c_ops",) if text in {"0.3.4", "0.3.5", "0.3.6"} else ())


def test_a_damaged_wheel_is_unavailable_by_name(cache, tmp_path):
    wheel = put_wheel(cache)
    wheel.write_bytes(wheel.read_bytes()[:-30])
    with pytest.raises(EnvironmentUnavailable, match=f"{re.escape(str(wheel))} is damaged.*remove it"):
        unpack_wheel(wheel, tmp_path / "tree")


def test_a_tree_is_unpacked_once_and_again_for_another_wheel(cache):
    environment = VenvEnvironment(cache)
    put_wheel(cache)
    first = environment._unpacked(RELEASE)
    (first / "lmcache" / "mark").touch()
    assert environment._unpacked(RELEASE) == first
    assert (first / "lmcache" / "mark").exists()
    put_wheel(cache, files=("lmcache/other.py",))
    assert environment._unpacked(RELEASE) != first


def test_a_tree_holds_the_files_of_the_wheel_alone_where_stubs_are_needed_too(cache):
    files = ("lmcache/__init__.py", "lmcache/c_ops.cpython-311-x86_64-linux-gnu.so")
    put_wheel(cache, STUBBED_WHEEL, files)
    tree = VenvEnvironment(cache)._unpacked(STUBBED)
    found = {path.relative_to(tree).as_posix(): path.read_text() for path in tree.rglob("*") if path.is_file()}
    assert found.pop(".ready") == ""
    assert found == {name: f"# {name}" for name in files}


def imports(tree, statement, **variables):
    """Run a statement in an interpreter that has the stubs and a tree on its path, as the pinned one has."""
    path = os.pathsep.join([str(STUBS_FOLDER), str(tree)])
    return subprocess.run(
        [REAL_PYTHON, "-B", "-c", statement],
        env={"PYTHONPATH": path, **variables},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


@pytest.fixture
def kernels(tmp_path):
    """A tree whose compiled kernels do not load."""
    (tmp_path / "lmcache").mkdir()
    (tmp_path / "lmcache" / "__init__.py").touch()
    (tmp_path / "lmcache" / "c_ops.py").write_text("raise ImportError('libcudart.so.12: cannot open shared object file')")
    return tmp_path


def test_a_stub_is_an_empty_module_in_place_of_the_one_in_the_tree(kernels):
    code = "import lmcache.c_ops as ops; print([name for name in vars(ops) if not name.startswith('__')])"
    assert "libcudart" in imports(kernels, code).stderr
    assert "libcudart" in imports(kernels, code, LMCONFORM_STUB_MODULES="").stderr
    assert imports(kernels, code, LMCONFORM_STUB_MODULES="lmcache.c_ops").stdout == "[]\n"


def test_several_stubs_are_separated_by_commas(kernels):
    done = imports(kernels, "import lmcache.c_ops as ops, nowhere.to_be_found", LMCONFORM_STUB_MODULES="lmcache.c_ops,nowhere")
    assert "'nowhere' is not a package" in done.stderr


def test_a_function_of_a_stub_is_missing_and_not_pretended(kernels):
    done = imports(kernels, "import lmcache.c_ops as ops; ops.transfer()", LMCONFORM_STUB_MODULES="lmcache.c_ops")
    assert "AttributeError: module 'lmcache.c_ops' has no attribute 'transfer'" in done.stderr


ECHO = """
import json, os, sys
print(json.dumps({"job": json.load(sys.stdin), "argv": sys.argv[1:], "variables": dict(os.environ)}))
"""


@pytest.fixture
def echo(cache):
    """What a probe sees: its job, arguments and variables."""
    put_wheel(cache)
    put_python(cache, ECHO)
    return lambda: VenvEnvironment(cache).run_probe(RELEASE, {"vectors": [{"id": "é", "args": {}}]}, timeout=30)


def test_a_probe_gets_its_job_on_standard_input(echo):
    seen = echo()
    assert seen["job"] == {"vectors": [{"id": "é", "args": {}}], "vllm": {}}
    assert seen["argv"] == [str(PROBES / "run.py")]


def test_a_probe_sees_the_unpacked_wheel_and_pinned_variables(echo, cache):
    variables = echo()["variables"]
    assert variables["PYTHONPATH"] == str(VenvEnvironment(cache)._unpacked(RELEASE))
    assert variables["PYTHONHASHSEED"] == "0"
    assert variables["LMCACHE_TRACK_USAGE"] == "false"


def test_a_probe_of_a_release_with_stubs_finds_them_first(echo, cache):
    put_wheel(cache, STUBBED_WHEEL)
    environment = VenvEnvironment(cache)
    variables = environment.run_probe(STUBBED, JOB, timeout=30)["variables"]
    assert variables["PYTHONPATH"].split(os.pathsep) == [str(STUBS_FOLDER), str(environment._unpacked(STUBBED))]
    assert variables[STUBS_VARIABLE] == "lmcache.c_ops"


def test_a_probe_of_another_release_has_no_stubs(echo):
    variables = echo()["variables"]
    assert STUBS_VARIABLE not in variables
    assert str(STUBS_FOLDER) not in variables["PYTHONPATH"]


def test_a_probe_without_a_seed_has_none(cache, echo):
    echo()
    seen = VenvEnvironment(cache).run_probe(RELEASE, JOB, timeout=30, seed=None)
    assert "PYTHONHASHSEED" not in seen["variables"]


def test_a_probe_writes_compiled_modules_into_the_cache_alone(echo, cache):
    assert echo()["variables"]["PYTHONPYCACHEPREFIX"] == str(cache / "pycache")


def test_a_probe_sees_none_of_our_own_python_and_lmcache_variables(echo, monkeypatch):
    monkeypatch.setenv("LMCACHE_CHUNK_SIZE", "7")
    monkeypatch.setenv("PYTHONSTARTUP", "/tmp/no")
    monkeypatch.setenv("SOMETHING_ELSE", "kept")
    variables = echo()["variables"]
    assert "LMCACHE_CHUNK_SIZE" not in variables
    assert "PYTHONSTARTUP" not in variables
    assert variables["SOMETHING_ELSE"] == "kept"


def test_a_probe_that_fails_is_a_capture_error_with_its_words(cache):
    put_wheel(cache)
    put_python(cache, "raise SystemExit('no such attribute')")
    with pytest.raises(CaptureError, match=r"the probe of lmcache 0\.5\.6 ended with status 1:\nno such attribute"):
        VenvEnvironment(cache).run_probe(RELEASE, JOB, timeout=30)


def test_a_probe_that_hangs_is_a_capture_error(cache):
    put_wheel(cache)
    put_python(cache, "import signal; signal.pause()")
    with pytest.raises(CaptureError, match=r"the probe of lmcache 0\.5\.6 did not end within 0 s"):
        VenvEnvironment(cache).run_probe(RELEASE, JOB, timeout=0.3)


def test_a_base_whose_interpreter_went_away_is_unavailable_and_says_what_to_remove(cache):
    put_wheel(cache)
    base = put_base(cache, "exit 0")
    (base / "bin" / "python").unlink()
    (base / "bin" / "python").symlink_to("/no/such/python3.11")
    with pytest.raises(EnvironmentUnavailable, match=rf"{base / 'bin' / 'python'} does not start.*remove"):
        VenvEnvironment(cache).run_probe(RELEASE, JOB, timeout=30)
    with (
        pytest.raises(EnvironmentUnavailable, match=rf"{base / 'bin' / 'python'} does not start"),
        VenvEnvironment(cache).server(RELEASE),
    ):
        pytest.fail("the block must not run")


SERVE = f"""
import signal, sys
sys.path.insert(0, {str(ROOT)!r})
from mockserver.lm import LmServer
assert sys.argv[1:3] == ["-m", "lmcache.v1.server"], sys.argv
with LmServer("0.5.6", host=sys.argv[3], port=int(sys.argv[4])):
    signal.pause()
"""


def test_the_server_module_of_the_release_is_run(cache):
    put_wheel(cache)
    put_python(cache, SERVE)
    with VenvEnvironment(cache).server(RELEASE) as address:
        assert address.host == "127.0.0.1"


def test_the_answer_of_a_probe_is_its_json():
    assert parse_probe_answer(RELEASE, '{"outcomes": {}}', "a warning", 0) == {"outcomes": {}}


def test_a_status_other_than_zero_is_an_error_with_the_end_of_what_was_said():
    with pytest.raises(CaptureError) as caught:
        parse_probe_answer(RELEASE, "{}", "x" * 9000 + "ModuleNotFoundError: torch", 1)
    assert str(caught.value).startswith("the probe of lmcache 0.5.6 ended with status 1:\n")
    assert str(caught.value).endswith("ModuleNotFoundError: torch")
    assert len(str(caught.value)) < 4200


@pytest.mark.parametrize("stdout", ["", "INFO: hello\n{}", "{", '{"a": 1} trailing'])
def test_an_answer_that_is_no_json_is_an_error_that_shows_both_streams(stdout):
    with pytest.raises(CaptureError, match=r"(?s)the probe of lmcache 0\.5\.6 printed no JSON .*a warning") as caught:
        parse_probe_answer(RELEASE, stdout, "a warning", 0)
    assert repr(stdout) in str(caught.value)


@pytest.mark.parametrize("stdout", ["[]", "null", "5", '"text"'])
def test_an_answer_that_is_no_object_is_an_error(stdout):
    with pytest.raises(CaptureError, match=r"the probe of lmcache 0\.5\.6 printed no JSON object"):
        parse_probe_answer(RELEASE, stdout, "", 0)


def test_an_unknown_runtime_is_refused_with_the_known_ones():
    with pytest.raises(EnvironmentUnavailable, match="unknown runtime 'podman'; known: venv, docker"):
        open_environment("podman")


def test_the_venv_runtime_needs_nothing_to_be_opened(monkeypatch, tmp_path):
    monkeypatch.setenv("LMCONFORM_CACHE", str(tmp_path / "new"))
    assert open_environment("venv").runtime == "venv"
    assert not (tmp_path / "new").exists()
