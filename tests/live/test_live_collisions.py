"""The worst collisions at a real server, step by step as at the mock."""

import pytest

from harness.compat.collide import collisions_of
from harness.compat.demonstrate import demonstrate
from wire.release import Release

CLIENT, SERVER = Release.parse("0.4.7"), Release.parse("0.5.1")


def played(target):
    return demonstrate(collisions_of([CLIENT], [SERVER]), target, "venv", lambda _: None)


@pytest.mark.live
def test_a_real_server_loses_its_objects_and_its_message_thread_while_its_health_check_is_green(pinned_release):
    emptied, ended = played("live")
    mocked = played("mock")
    assert [one.problem for one in (emptied, ended)] == [None, None]
    assert [one.shown for one in (emptied, ended)] == [True, True]
    assert [act.came for act in emptied.acts] == ["stored", "3 hits", "an answer, which it reads as nil", "0 hits"]
    assert ended.acts[-1].came == '200, {"status":"healthy"}'
    assert emptied.acts == mocked[0].acts
    assert ended.acts[:-1] == mocked[1].acts[:-1]
