"""How a storage plugin is named."""

from pathlib import Path

import pytest

from harness.backend import parse_backend
from harness.client import ClientUnavailable
from harness.l2.spec import parse_plugin
from harness.placeholders import unknown_words
from harness.usage import UsageError

TINY = Path(__file__).with_name("tiny_plugin.py")


def test_a_class_of_a_module():
    spec = parse_plugin("my.package:Plugin", None, '{"host": "localhost", "port": 1}')
    assert (spec.kind, spec.module, spec.class_name) == ("native_plugin", "my.package", "Plugin")
    assert spec.params == {"host": "localhost", "port": 1}
    assert str(Path.cwd()) in spec.paths


def test_a_class_of_a_file():
    spec = parse_plugin(f"{TINY}:Tiny")
    assert (spec.module, spec.class_name) == (str(TINY), "Tiny")


def test_the_reference_stores_in_a_folder_of_the_harness():
    spec = parse_plugin("reference")
    assert spec.names_folder
    assert spec.params_for(Path("/some/where")) == {"folder": "/some/where"}


def test_an_adapter_of_lmcache_needs_the_real_one():
    spec = parse_plugin("lmcache:fs", None, '{"base_path": "{dir}/objects"}')
    assert (spec.kind, spec.class_name, spec.real) == ("plugin", "fs", True)
    assert spec.params_for(Path("/x")) == {"base_path": "/x/objects"}


def test_placeholders_are_filled_at_any_depth():
    spec = parse_plugin("m:C", None, '{"a": [{"url": "http://{backend}/{dir}"}], "b": 1, "c": null}')
    assert spec.names_backend
    assert spec.params_for(Path("/x"), "localhost:1") == {"a": [{"url": "http://localhost:1//x"}], "b": 1, "c": None}


def test_the_address_of_no_backend_stays_as_it_is():
    assert parse_plugin("m:C", None, '{"a": "{backend}"}').params_for(Path("/x")) == {"a": "{backend}"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("plugin",), "write one of: reference, mutant:NAME"),
        (("my.package.Plugin",), r"a class of a module: my\.package:Plugin"),
        (("nowhere.py:Plugin",), "there is no file nowhere.py"),
        ((str(TINY),), "with the name of the class"),
        (("my/package:Plugin",), "is no module"),
        (("lmcache:",), "names no adapter of lmcache"),
        (("lmcache:fs", "native_plugin"), "is of type plugin"),
        (("m:C", "nativ"), "unknown type of plugin 'nativ'"),
        (("m:C", None, "{"), "--params must be a JSON object"),
        (("m:C", None, "[1]"), "got a list"),
    ],
)
def test_what_makes_no_sense_is_told(words, said):
    with pytest.raises(UsageError, match=said):
        parse_plugin(*words)


def test_a_mutant_that_is_none_is_told():
    with pytest.raises(ClientUnavailable, match="no mutant is called 'reads-early'"):
        parse_plugin("mutant:reads-early")


def test_a_backend_is_a_class():
    assert parse_backend("my.package:Store").class_name == "Store"
    with pytest.raises(UsageError, match="names no class of a backend"):
        parse_backend("my-redis")


def test_the_reference_has_both_kinds():
    spec = parse_plugin("reference", "plugin")
    assert (spec.kind, spec.class_name, spec.real) == ("plugin", "ReferenceAdapter", True)


def test_what_lmcache_ships_needs_no_parameters():
    assert parse_plugin("lmcache:fs").params_for(Path("/x")) == {"base_path": "/x"}
    resp = parse_plugin("lmcache:resp")
    assert resp.names_backend
    assert resp.params_for(Path("/x"), "127.0.0.1:6379") == {"host": "127.0.0.1", "port": 6379}


def test_words_in_braces_that_nothing_replaces_are_noticed():
    assert unknown_words({"path": "{folder}/a", "more": ["{dir}/{folder}", {"a": "{backend_port}{X}"}], "n": 3}) == [
        "{folder}",
        "{X}",
    ]
