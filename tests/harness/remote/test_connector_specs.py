"""How a connector is named on the command line, and what the host is told of it."""

from pathlib import Path

import pytest

from harness.client import Budget
from harness.judged import SubjectOptions
from harness.remote.contract import FORMS
from harness.remote.session import open_connector
from harness.remote.spec import parse_connector
from harness.usage import UsageError
from wire.release import Release

NEW, OLD = Release.parse("0.5.6"), Release.parse("0.4.3")


def test_a_class_is_a_plugin_where_the_release_has_that_form():
    spec = parse_connector("my.store:MyConnector")
    assert (spec.form(NEW), spec.form(OLD)) == ("plugin", "external")
    job = spec.job(NEW, Path("/data"), None)
    assert (job["module"], job["class"], job["name"]) == ("my.store", "MyConnector", "lmconform")


def test_settings_and_extra_config_are_told_apart_and_filled_in():
    spec = parse_connector(
        "my.store:C", '{"folder": "{dir}/x", "name": "mine", "extra_config": {"save_chunk_meta": false, "at": "{backend}"}}'
    )
    job = spec.job(NEW, Path("/data"), "127.0.0.1:7")
    assert job["params"] == {"folder": "/data/x"}
    assert job["extra_config"] == {"save_chunk_meta": False, "at": "127.0.0.1:7"}
    assert job["name"] == "mine"
    assert spec.names_folder
    assert spec.names_backend


def test_host_and_port_of_a_backend_are_had_one_by_one():
    spec = parse_connector("my.store:C", '{"host": "{backend_host}", "port": "{backend_port}"}')
    assert spec.names_backend
    assert spec.job(NEW, Path("/data"), "127.0.0.1:7")["params"] == {"host": "127.0.0.1", "port": 7}


def test_the_reference_stores_in_the_folder_of_the_case():
    assert parse_connector("reference").job(NEW, Path("/data"), None)["params"] == {"folder": "/data"}


def test_a_file_is_named_by_its_path(tmp_path):
    (tmp_path / "store.py").touch()
    spec = parse_connector(f"{tmp_path}/store.py:C")
    assert (spec.module, spec.class_name, spec.path) == ("store", "C", (str(tmp_path),))


def test_a_url_makes_the_class_an_adapter_which_old_releases_do_not_know():
    spec = parse_connector("my.store:Adapter", url="mine://host:1")
    assert spec.form(NEW) == "adapter"
    with pytest.raises(UsageError, match=r"0\.3\.9 cannot load my\.store:Adapter"):
        spec.form(Release.parse("0.3.9"))


def test_a_connector_of_lmcache_is_named_by_its_url_in_every_release():
    spec = parse_connector("lmcache:fs")
    assert {spec.form(release) for release in (NEW, OLD)} == {"url"}
    assert spec.job(NEW, Path("/data"), None)["url"] == "fs://lmconform:0/data"


@pytest.mark.parametrize(
    ("text", "params", "said"),
    [
        ("my.store", None, "names no connector"),
        ("my.store.MyConnector", None, "my.store:MyConnector"),
        ("./store.py:C", None, "there is no file store.py"),
        ("./store:C", None, "names no connector"),
        ("lmcache:nothing", None, "lmcache:fs"),
        ("m:C", "{", "JSON object"),
        ("m:C", "[1]", "JSON object"),
        ("m:C", '{"extra_config": 1}', "an object too"),
    ],
)
def test_what_names_no_connector_is_refused_with_what_to_write(text, params, said):
    with pytest.raises(UsageError, match=said.replace(".", r"\.")):
        parse_connector(text, params)


def test_the_newest_form_came_last():
    assert [len(FORMS[Release.parse(text)]) for text in ("0.3.1", "0.3.13", "0.3.14", "0.4.3", "0.4.4", "0.5.6")] == [
        2,
        2,
        3,
        3,
        5,
        5,
    ]


def test_the_reference_has_a_backend_for_the_cases_that_need_one():
    spec = parse_connector("reference")
    assert not spec.names_backend
    assert spec.behind_backend.job(NEW, Path("/data"), "127.0.0.1:7")["params"] == {"store": "127.0.0.1:7"}


def test_who_gives_parameters_says_where_a_backend_is():
    assert parse_connector("reference", '{"folder": "{dir}"}').behind_backend is None
    mine = parse_connector("my.store:C", '{"at": "{backend}"}')
    assert mine.behind_backend == mine


def test_a_backend_that_no_parameter_names_is_refused():
    options = SubjectOptions("my.store:C", "remote", [NEW], budget=Budget(), kind=None, params=None, backend="redis", url=None)
    with pytest.raises(UsageError, match=r"--backend redis is of no use: no parameter of my\.store:C holds \{backend\}"):
        open_connector(options)
