"""The interpreter that asks about deployments has the vLLM that was asked for, or fails; lmcache itself would not say."""

import pytest

from fixturegen import venv
from fixturegen.errors import CaptureError
from fixturegen.inputs.deployments import questions
from fixturegen.venv import VenvEnvironment
from fixturegen.vllm import import_paths


@pytest.fixture
def probe(monkeypatch, pinned_release):
    """Asks the first question about vLLM 0.28.0, all of it, with other folders on the import path."""
    name, op, args = next(
        question for question in questions(pinned_release) if question[2]["vllm"] == "0.28.0" and question[2]["kv_cache_utils"]
    )

    def ask(folders):
        monkeypatch.setattr(venv, "import_paths", lambda _version, trees, **_: folders(trees))
        job = {"vectors": [{"id": name, "op": op, "args": args}], "layouts": False}
        return VenvEnvironment().run_probe(pinned_release, job, timeout=120)["outcomes"][name]

    return ask


@pytest.mark.live
def test_the_vllm_that_was_asked_for_is_used(probe):
    outcome = probe(lambda trees: import_paths("0.28.0", trees, complete=True))
    assert outcome["ok"]["none_hash"] != {"int": "0"}


@pytest.mark.live
@pytest.mark.parametrize(
    ("folders", "says"),
    [
        (lambda trees: import_paths("0.11.0", trees, complete=True), "vLLM 0.28.0 was asked for, 0.11.0 came"),
        (lambda trees: import_paths("0.28.0", trees, complete=False), "vllm.v1.core.kv_cache_utils of 0.28.0 cannot be imported"),
        (lambda _trees: [], "No module named 'vllm'"),
    ],
    ids=["another version", "packages missing", "nothing"],
)
def test_another_one_fails_the_capture(probe, folders, says):
    with pytest.raises(CaptureError) as caught:
        probe(folders)
    assert says in str(caught.value)
