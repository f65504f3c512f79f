"""A storage plugin in a process of its own, whatever it does there."""

import ast
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from harness.client import ClientCrash, ClientHang, ClientUnavailable
from harness.l2.host_process import HOST, PluginLacks, PluginRaised
from tests.waiting import wait_until


def test_objects_come_back(open_plugin):
    plugin = open_plugin("Tiny")
    assert plugin.store([("a", b"first"), ("b", b"second")]).ok
    loaded = plugin.load(["b", "c", "a"], [6, 6, 5])
    assert loaded.found == (True, False, True)
    assert loaded.data == (b"second", None, b"first")
    assert loaded.touched == (True, False, True)
    assert plugin.lookup(["a", "c"]) == [True, False]


def test_64_mib_pass(open_plugin):
    plugin, data = open_plugin("Tiny", call=60.0), os.urandom(1 << 20) * 64
    assert plugin.store([("large", data)]).ok
    assert plugin.load(["large"], len(data)).data[0] == data


def test_what_a_plugin_prints_disturbs_nothing(open_plugin):
    plugin = open_plugin("Talks")
    assert plugin.lookup(["a"]) == [False]
    assert "a line on standard output" in plugin.stderr
    assert "bytes on descriptor 1" in plugin.stderr
    assert "a line on standard error" in plugin.stderr


def test_memory_is_as_in_the_server(open_plugin):
    plugin = open_plugin("AssignsSlices")
    plugin.store([("a", b"first")])
    with pytest.raises(PluginRaised, match=r"submit_batch_get raised .*format <B"):
        plugin.load(["a"], 5)


def test_a_hang_tells_where_the_plugin_stood(open_plugin):
    plugin = open_plugin("Hangs", call=0.2)
    plugin._process.grace = 0.2
    with pytest.raises(ClientHang, match="was killed") as caught:
        plugin.lookup(["a"])
    assert "asleep_for_ever" in caught.value.stderr
    assert "runpy" not in caught.value.stderr
    assert not plugin.alive


def test_an_operation_that_never_completes_is_a_hang_and_the_process_goes_on(open_plugin):
    plugin = open_plugin("NeverCompletes", call=0.2)
    with pytest.raises(ClientHang, match=r"lookup: no completion within 0\.2 s; the descriptor was ready 0 times"):
        plugin.lookup(["a"])
    assert plugin.store([("a", b"first")]).ok


def test_an_exit_is_told_with_status_and_last_words(open_plugin):
    with pytest.raises(ClientCrash, match="exit status 7") as caught:
        open_plugin("Exits").lookup(["a"])
    assert "last words" in caught.value.stderr


def test_a_signal_is_told_by_name(open_plugin):
    with pytest.raises(ClientCrash, match="SIGSEGV"):
        open_plugin("Dies").lookup(["a"])


def test_an_exception_is_the_plugins(open_plugin):
    plugin = open_plugin("Raises")
    with pytest.raises(PluginRaised, match="submit_batch_exists raised KeyError: 'no such table'") as caught:
        plugin.lookup(["a"])
    assert "in submit_batch_exists" in caught.value.stderr
    assert plugin.store([("a", b"first")]).ok


def test_a_plugin_that_wants_to_end_its_process_has_raised_something(open_plugin):
    plugin = open_plugin("GivesUp")
    with pytest.raises(PluginRaised, match="submit_batch_exists raised SystemExit: the storage is gone"):
        plugin.lookup(["a"])
    with pytest.raises(ClientUnavailable, match="SystemExit: the storage is gone"):
        open_plugin("GivesUpAtOnce")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("GivesText", "submit_batch_exists gave 'number one'; it must be a number"),
        ("ThreeParts", "not enough values to unpack"),
        ("TooMany", "exists of 1 keys gave 2 results"),
        ("NoLookup", "has no method submit_batch_exists"),
    ],
)
def test_what_breaks_the_contract_is_named(open_plugin, name, said):
    with pytest.raises(PluginRaised, match=said):
        open_plugin(name).lookup(["a"])


def test_a_completion_is_read_as_the_server_reads_it(open_plugin):
    plugin = open_plugin("Tiny")
    submitted = plugin.submit_lookup(["a"])
    assert plugin.poll(5).ready
    (completion,) = plugin.drain().completions
    assert (completion.id, completion.ok, completion.results) == (submitted.id, True, [False])
    assert completion.types == ["tuple", "int", "bool", "str", "list"]
    assert not plugin.poll(0).ready


def test_a_write_beside_the_memory_is_seen(open_plugin):
    plugin = open_plugin("WritesBeside")
    plugin.store([("a", b"first")])
    assert not plugin.load(["a"], 5).fenced


def test_a_write_after_the_completion_is_seen(open_plugin):
    plugin = open_plugin("WritesLate")
    plugin.store([("a", b"first")])
    plugin.load(["a"], 5)
    assert plugin.disturbed() == 0
    plugin.close()
    assert plugin.disturbed() == 1


def test_a_source_that_is_read_late_holds_something_else(open_plugin):
    plugin = open_plugin("ReadsLate")
    plugin.store([("a", b"first")])
    assert plugin.load(["a"], 5).data[0] not in {b"first", None}


def test_threads_of_the_process_work_at_once(open_plugin):
    plugin = open_plugin("Tiny")
    answers = plugin.together(
        {
            "submits": [plugin.step("submit_lookup", times=20, keys=["a"])],
            "drains": [plugin.step("collect", count=20, timeout=5.0)],
        }
    )
    assert {one["id"] for one in answers["submits"]} == {one["id"] for one in answers["drains"][0]["completions"]}


def test_a_step_that_fails_ends_its_thread(open_plugin):
    plugin = open_plugin("Raises")
    answers = plugin.together({"looks": [plugin.step("submit_lookup", times=3, keys=["a"])]})
    assert [one["failed"] for one in answers["looks"]] == ["raised"]


def test_two_instances_live_in_one_process(open_plugin, tmp_path):
    plugin = open_plugin("Tiny")
    other = plugin.sibling(tmp_path)
    plugin.store([("a", b"first")])
    assert (plugin.pid, plugin.lookup(["a"])) == (other.pid, [True])
    assert other.lookup(["a"]) == [False]


def test_a_killed_plugin_is_opened_again_elsewhere(open_plugin):
    plugin = open_plugin("Tiny")
    plugin.kill()
    with pytest.raises(ClientCrash, match="SIGKILL"):
        plugin.lookup(["a"])
    assert plugin.reopen().lookup(["a"]) == [False]


def test_children_of_a_plugin_end_with_it(open_plugin):
    plugin = open_plugin("HasAChild")
    child = plugin.statistics()["child"]
    assert plugin.resources().children == 1
    plugin.kill()

    def gone():
        with suppress(ProcessLookupError):
            os.kill(child, 0)
            return Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
        return True

    wait_until(gone, lambda: f"process {child} is still there")


def test_what_a_plugin_lacks_is_told(open_plugin):
    plugin = open_plugin("Tiny")
    assert plugin.statistics() is None
    assert not plugin.has_delete
    with pytest.raises(PluginLacks, match="submit_batch_delete"):
        plugin.delete(["a"])


def test_a_plugin_that_cannot_be_made_is_named_with_its_parameters(session_of):
    with pytest.raises(ClientUnavailable, match=r"cannot be made with \(size=3\): ConnectionError: nobody listens"):
        session_of("RaisesAtOnce", params='{"size": 3}')


def test_a_plugin_that_ends_its_process_as_it_is_made_is_named_with_its_last_words(session_of):
    with pytest.raises(ClientCrash, match=r"(?s)plugin .*tiny_plugin.*EndsAtOnce: .*exit status 3.*no database"):
        session_of("EndsAtOnce")


def test_a_plugin_that_exits_as_it_is_made_is_at_fault(session_of):
    with pytest.raises(ClientUnavailable, match=r"cannot be made with .*SystemExit: no licence"):
        session_of("LeavesAtOnce")


def test_a_class_that_is_not_there_is_named(session_of):
    with pytest.raises(ClientUnavailable, match="has no class 'Nobody'"):
        session_of("Nobody")


def test_modules_of_the_host_stand_in_no_plugins_way(tmp_path):
    (tmp_path / "frames.py").write_text("MINE = True\n")
    (tmp_path / "driver.py").write_text("MINE = True\n")
    program = (
        "import runpy, sys; sys.argv = ['host', '97', '98']; sys.path.insert(0, sys.argv[0])\n"
        f"sys.path.insert(0, {str(tmp_path)!r})\n"
        "try:\n"
        f"    runpy.run_path({str(HOST)!r}, run_name='__main__')\n"
        "except OSError:\n"
        "    import driver, frames; assert driver.MINE and frames.MINE; print('fine')\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60)
    assert ended.stdout == "fine\n", ended.stderr


@pytest.mark.parametrize("path", sorted(HOST.glob("*.py")), ids=lambda path: path.stem)
def test_the_host_is_written_in_python_3_10_without_packages(path):
    tree = ast.parse(path.read_text(), feature_version=(3, 10))
    imported = {name.name.partition(".")[0] for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
    imported |= {
        (node.module or "").partition(".")[0] for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and not node.level
    }
    assert imported <= sys.stdlib_module_names
