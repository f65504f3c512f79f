"""``lmconform bench`` with the real thing on both sides: lmcache's own client on the real server."""

import json

import pytest

from fixturegen.venv import VenvEnvironment
from harness.cli.main import main
from wire.release import Release

pytestmark = pytest.mark.live

RELEASES = ("0.3.1", "0.5.6")


@pytest.mark.parametrize("release", RELEASES)
def test_the_client_of_a_release_is_measured_by_its_own_time_on_a_running_server(pinned_release, release, tmp_path, capfd):
    with VenvEnvironment().server(Release.parse(release), host="127.0.0.1") as server:
        short = ("--sizes", "4KiB,1MiB", "--seconds", "0.1", "--rounds", "2", "--out", str(tmp_path))
        code = main(["bench", "--client", f"lmcache:{release}", "--live", f"{server.host}:{server.port}", *short])
    said = capfd.readouterr()
    assert code == 0, said.err
    document = json.loads((tmp_path / "bench.json").read_text())
    assert document["conditions"]["live"] is True
    found = {one["name"]: one for one in document["measures"]}
    for name in ("put-4KiB", "put-1MiB", "get-4KiB", "get-1MiB", "exist"):
        assert found[name]["state"] == "measured", found[name]["why"]
        assert found[name]["timed_by"] == "client"
    assert any(one["state"] == "measured" and one["timed_by"] == "client" for name, one in found.items() if "keys" in name)
