"""The worst collisions at a real server, step by step as at the mock."""

import os

import pytest

from fixturegen.venv import VenvEnvironment
from harness.compat.collide import collisions_of
from harness.compat.demonstrate import demonstrate
from wire.release import Release

CLIENT, SERVER = Release.parse("0.4.7"), Release.parse("0.5.1")


def played(target):
    return demonstrate(collisions_of([CLIENT], [SERVER]), target, "venv", lambda _: None)


@pytest.fixture
def prepared(request):
    """The server of the release; it is installed here where everything must run."""
    missing = VenvEnvironment().mp_ready(SERVER)
    if missing and not (request.config.getoption("--require-live") or os.environ.get("CI") == "true"):
        pytest.skip(missing)


@pytest.mark.live
@pytest.mark.usefixtures("prepared")
def test_a_real_server_loses_its_objects_and_its_message_thread_while_its_health_check_is_green():
    emptied, leaked, ended = played("live")
    mocked = played("mock")
    assert [one.problem for one in (emptied, leaked, ended)] == [None, None, None]
    assert [one.shown for one in (emptied, leaked, ended)] == [True, True, True]
    assert [act.came for act in emptied.acts] == ["stored", "3 hits", "an answer, which it reads as nil", "0 hits"]
    assert ended.acts[-1].came == '200, {"status":"healthy"}'
    assert emptied.acts == mocked[0].acts
    assert leaked.acts == mocked[1].acts
    assert ended.acts[:-1] == mocked[2].acts[:-1]
