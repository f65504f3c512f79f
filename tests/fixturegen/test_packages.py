"""Requirement sets beside the base environment: what they hold and what they may shadow."""

import pytest

from fixturegen import packages
from fixturegen.environment import BASE_REQUIREMENTS
from fixturegen.errors import EnvironmentUnavailable
from fixturegen.packages import REQUIREMENTS, installed_packages, packages_folder
from fixturegen.venv import MP_PACKAGES


def pins(path):
    lines = [line.split("#")[0].strip() for line in path.read_text(encoding="utf-8").splitlines()]
    return dict(line.split("==") for line in lines if line)


def test_of_the_base_set_the_multiprocess_server_replaces_only_what_it_wants_older():
    own, base = pins(REQUIREMENTS / f"{MP_PACKAGES}.txt"), pins(BASE_REQUIREMENTS)
    assert set(own) & set(base) == {"prometheus_client", "opentelemetry-api"}
    assert all(own[name] < base[name] for name in set(own) & set(base))


def test_a_set_is_installed_once(tmp_path, monkeypatch):
    calls = []

    def pip(_python, command, arguments, **_):
        calls.append(command)
        folder = arguments[arguments.index("--target") + 1]
        (packages.Path(folder) / "zmq").mkdir(parents=True)

    monkeypatch.setattr(packages, "pip", pip)
    folders = {installed_packages(tmp_path, MP_PACKAGES, "what is asked for") for _ in range(2)}
    assert folders == {packages_folder(tmp_path, MP_PACKAGES)}
    assert calls == ["install"]


def test_offline_the_message_names_the_set(tmp_path, monkeypatch):
    monkeypatch.setenv("LMCONFORM_OFFLINE", "1")
    with pytest.raises(EnvironmentUnavailable, match=r"what is asked for \(mp.txt\) is not cached and LMCONFORM_OFFLINE"):
        installed_packages(tmp_path, MP_PACKAGES, "what is asked for")
