"""The reference plugin as a subject brings its gateway along for the cases about backends."""

import os

import pytest

from harness.judged import SubjectOptions
from harness.l2.session import open_plugin
from harness.l2.spec import parse_plugin
from wire.release import Release

KEY = "model@00000000@0@beef"


def test_a_run_of_the_reference_has_a_backend_without_being_told_to():
    session = open_plugin(SubjectOptions("reference", releases=[Release.parse("0.5.6")]))
    try:
        assert "backend" in session.description.operations
        assert session.open_behind_backend().store([(KEY, b"bytes")]).ok
        assert session.open().load([KEY], 5).data == (None,)
        assert session.open_behind_backend().load([KEY], 5).data == (b"bytes",)
        process, folder = session.backend._running._process, session.backend._running.folder
        session.backend.stop()
    finally:
        session.stop()
    with pytest.raises(ProcessLookupError):
        os.kill(process.pid, 0)
    assert not folder.exists()


@pytest.mark.parametrize(
    ("params", "behind"),
    [
        (None, {"gateway": "{backend}", "wait": 1.0}),
        ('{"folder": "{dir}"}', None),
        ('{"gateway": "{backend}", "wait": 3}', {"gateway": "{backend}", "wait": 3}),
    ],
)
def test_what_the_user_says_of_parameters_holds_for_backends_too(params, behind):
    found = parse_plugin("reference", None, params).behind_backend
    assert (None if found is None else dict(found.params)) == behind
